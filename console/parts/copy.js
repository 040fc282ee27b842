/** Copy a request in another form: for the shell, for Python, or as JSON. */

import { html } from "../vendor/htm-preact.js";
import { asCli, asCurl, asPython } from "../lib/api.js";
import { toast } from "./toast.js";

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied as ${what}.`);
  } catch {
    toast("This browser does not let the page copy: select the text instead.", "bad");
  }
}

/** A button that copies a text. */
export function Copy({ text, what, children }) {
  return html`<button type="button" class="small" onClick=${() => copy(text, what)}>${children ?? `Copy ${what}`}</button>`;
}

/** @param {{request: {method: string, path: string, body?: unknown}}} props */
export function CopyAs({ request }) {
  const json = JSON.stringify(request.body ?? {}, null, 2);
  return html`<div class="copy-as" role="group" aria-label="Copy as">
    <span class="quiet">Copy as</span>
    <${Copy} text=${asCurl(request)} what="curl">curl<//>
    <${Copy} text=${asCli(request)} what="a command">CLI<//>
    <${Copy} text=${asPython(request)} what="Python">Python<//>
    <${Copy} text=${json} what="JSON">JSON<//>
  </div>`;
}
