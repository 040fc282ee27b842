/** What stands where there is nothing to show, and where an answer was refused. */

import { html } from "../vendor/htm-preact.js";
import { Shape } from "./badge.js";

export function Empty({ title, children }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children}</div>`;
}

/** A problem of the API in its own sentence, with every bad field. @param {{problem: import("../lib/api.js").Problem}} props */
export function Refused({ problem }) {
  return html`<div class="refused" role="alert">
    <p><span class="tone-bad"><${Shape} name="warning" /></span> ${problem.message}</p>
    ${problem.fields.length > 0 && html`<ul>${problem.fields.map(({ field, message }) => html`<li><code>${field}</code> ${message}</li>`)}</ul>`}
  </div>`;
}

/** While the first answer is on its way. */
export function Loading() {
  return html`<p class="quiet loading" role="status">Loading…</p>`;
}
