/** Short messages about what has just happened. Screen readers say them; they go by themselves, or by a click. */

import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { Shape } from "./badge.js";

const STAYS_MS = 8_000;
let messages = [];
let render = () => {};
let count = 0;

/** @param {string} text @param {"good"|"bad"} tone */
export function toast(text, tone = "good") {
  const one = { id: (count += 1), text, tone };
  messages = [...messages.slice(-3), one];
  render(messages);
  setTimeout(() => dismiss(one.id), STAYS_MS);
}

function dismiss(id) {
  messages = messages.filter((one) => one.id !== id);
  render(messages);
}

export function Toasts() {
  const [shown, set] = useState(messages);
  useEffect(() => {
    render = set;
  }, []);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.map(({ id, text, tone }) => html`<p key=${id} class="toast">
      <span class="tone-${tone}"><${Shape} name=${tone === "good" ? "check" : "warning"} /></span>
      <span>${text}</span>
      <button type="button" class="plain" aria-label="Dismiss" onClick=${() => dismiss(id)}><${Shape} name="cross" /></button>
    </p>`)}
  </div>`;
}
