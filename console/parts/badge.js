/** A state: a shape, its word and a colour. The shape and the word say it alone. */

import { html } from "../vendor/htm-preact.js";
import { look } from "../lib/words.js";

const RING = "M8 2.8a5.2 5.2 0 1 0 0 10.4a5.2 5.2 0 1 0 0-10.4";
const SHAPES = {
  check: "M3 8.6l3.3 3.2L13 4.8",
  cross: "M4 4l8 8M12 4l-8 8",
  dash: "M3 8h10",
  ring: RING,
  running: `${RING}M8 5.6v4.8M5.6 8h4.8`,
  clock: `${RING}M8 5v3.2l2.1 1.3`,
  pause: "M5.5 3.8v8.4M10.5 3.8v8.4",
  loop: "M12.8 8a4.8 4.8 0 1 1-1.7-3.7M11.4 1.8v2.8H8.6",
  slash: `${RING}M4.4 11.6l7.2-7.2`,
  lock: "M4 7.5h8v5.2H4zM5.8 7.5V5.6a2.2 2.2 0 0 1 4.4 0v1.9",
  glass: "M4 2.8h8M4 13.2h8M4.8 2.8c0 3 3.2 3.4 3.2 5.2s-3.2 2.2-3.2 5.2M11.2 2.8c0 3-3.2 3.4-3.2 5.2s3.2 2.2 3.2 5.2",
  dots: "M3 8h1M7.5 8h1M12 8h1",
  frost: "M8 2.2v11.6M3 5.1l10 5.8M13 5.1L3 10.9",
  warning: "M8 2.6l6 10.8H2zM8 6.6v3M8 11.4v.2",
};

/** One of the shapes. It is for the eye only: a word beside it says the same. */
export function Shape({ name }) {
  return html`<svg class="shape shape-${name}" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
    <path d=${SHAPES[name] ?? SHAPES.ring} />
  </svg>`;
}

/** The badge of a state, such as `running`. `word` replaces the usual word. */
export function State({ of, word }) {
  const { shape, tone, ...usual } = look(of);
  return html`<span class="state tone-${tone}"><${Shape} name=${shape} />${word ?? usual.word}</span>`;
}
