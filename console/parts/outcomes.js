/** The last outcomes of a job: a cell each with its shape and letter, the newest last, and the run under way beside. */

import { html } from "../vendor/htm-preact.js";
import { OUTCOMES, counted, look } from "../lib/words.js";

const OUTLINES = {
  s: "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13",
  f: "M2 2h12v12H2z",
  k: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11",
  c: "M4.8 1.5h6.4l3.3 3.3v6.4l-3.3 3.3H4.8l-3.3-3.3V4.8z",
  b: "M8 1l7 7-7 7-7-7z",
};

/** @param {{recent: string, running?: string[]}} props as the API gives them with a job */
export function Outcomes({ recent, running = [] }) {
  const letters = [...(recent ?? "")].filter((letter) => letter in OUTCOMES);
  if (!letters.length && !running.length) return html`<span class="quiet">No run yet</span>`;
  return html`<span class="outcomes" role="img" aria-label=${spoken(letters, running)}>
    ${letters.map((letter, index) => html`<svg key=${index} class="outcome outcome-${letter}" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <title>${look(OUTCOMES[letter]).word}${index === letters.length - 1 ? ", the newest" : ""}</title>
      <path d=${OUTLINES[letter]} /><text x="8" y="11.2">${letter.toUpperCase()}</text>
    </svg>`)}
    ${running.length > 0 && html`<span class="outcome-running tone-live">${running.length > 1 && running.length}</span>`}
  </span>`;
}

function spoken(letters, running) {
  const words = letters.map((letter) => look(OUTCOMES[letter]).word.toLowerCase());
  const past = words.length ? `Last ${counted(words.length, "outcome")}, oldest first: ${words.join(", ")}.` : "No run has ended.";
  return running.length ? `${past} ${counted(running.length, "run")} under way.` : past;
}
