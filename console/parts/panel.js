/** A section of a screen, with its heading. */

import { html } from "../vendor/htm-preact.js";

/** @param {{title: string, count?: any, children?: any}} props */
export function Panel({ title, count, children }) {
  const id = `section-${title.replace(/\W/g, "").toLowerCase()}`;
  return html`<section class="panel" aria-labelledby=${id}>
    <h2 id=${id}>${title}${count ? html` <span class="count">${count}</span>` : ""}</h2>
    ${children}
  </section>`;
}
