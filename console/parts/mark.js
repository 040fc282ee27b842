/** The sign of Timeball: a ball on its mast. */

import { html } from "../vendor/htm-preact.js";

export function Mark() {
  return html`<svg class="mark" viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
    <path d="M16 4v24M10 28h12" /><circle cx="16" cy="11" r="6" />
  </svg>`;
}
