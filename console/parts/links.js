/** Links to a job, a run, a cycle: ids are shown whole, and encoded in the URL. */

import { html } from "../vendor/htm-preact.js";
import { href } from "../lib/url.js";
import { hasScreen } from "../screens.js";

function Linked({ screen, to, className, children }) {
  return hasScreen(screen) ? html`<a class=${className} href=${to}>${children}</a>` : html`<span class=${className}>${children}</span>`;
}

/** @param {{id: string, children?: any}} props */
export function JobLink({ id, children }) {
  return html`<${Linked} screen="job" className=${children ? "" : "id"} to=${href(["jobs", id])}>${children ?? id}<//>`;
}

export function RunLink({ id, children }) {
  return html`<${Linked} screen="run" className=${children ? "" : "id"} to=${href(["runs", id])}>${children ?? id}<//>`;
}

export function CycleLink({ jobId, cycleId, children }) {
  return html`<${Linked} screen="cycle" className=${children ? "" : "id"} to=${href(["cycles", jobId, cycleId])}>${children ?? cycleId}<//>`;
}

export function FailuresLink({ query = {}, children }) {
  return html`<${Linked} screen="failures" to=${href(["failures"], query)}>${children}<//>`;
}
