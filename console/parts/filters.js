/** Filters of a list. Each is a part of the URL, so that a bookmark is a saved view. */

import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { filter, usePlace } from "../lib/url.js";
import { Shape } from "./badge.js";

const PAUSE_MS = 250;

/** A search field. The URL follows what is typed after a short pause. @param {{name: string, label: string, hint?: string}} props */
export function Search({ name, label, hint }) {
  const { query } = usePlace();
  const [text, type] = useState(query.get(name) ?? "");
  const timer = useRef(0);
  useEffect(() => type(query.get(name) ?? ""), [query.get(name)]);
  const typed = (value, wait) => {
    type(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => filter({ [name]: value.trim() }, { quietly: true }), wait);
  };
  return html`<form class="search" role="search" onSubmit=${(event) => (event.preventDefault(), typed(text, 0))}>
    <input type="search" aria-label=${label} placeholder=${hint ?? label} value=${text} spellcheck=${false} autocomplete="off"
      onInput=${(event) => typed(event.target.value, PAUSE_MS)} />
  </form>`;
}

/**
 * A set of choices of which several may hold. @param {{name: string, label: string, choices: [string, any][]}} props
 * `choices`: value and what is shown
 */
export function Chips({ name, label, choices }) {
  const { query } = usePlace();
  const chosen = (query.get(name) ?? "").split(",").filter(Boolean);
  const toggle = (value) => {
    const next = chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value];
    filter({ [name]: next.join(",") });
  };
  return html`<div class="chips" role="group" aria-label=${label}>
    ${choices.map(([value, shown]) => html`<button type="button" class="chip" key=${value} aria-pressed=${chosen.includes(value)}
      onClick=${() => toggle(value)}>${shown}</button>`)}
  </div>`;
}

/** One of several choices, or any. @param {{name: string, label: string, any: string, choices: [string, string][]}} props */
export function Choice({ name, label, any, choices }) {
  const { query } = usePlace();
  return html`<label class="choice"><span class="unseen">${label}</span>
    <select value=${query.get(name) ?? ""} onChange=${(event) => filter({ [name]: event.target.value })}>
      <option value="">${any}</option>
      ${choices.map(([value, shown]) => html`<option key=${value} value=${value}>${shown}</option>`)}
    </select>
  </label>`;
}

/** What is filtered by besides, each with a button that removes it. @param {{name: string, label: string}[]} props.of */
export function Chosen({ of }) {
  const { query } = usePlace();
  const all = of.flatMap(({ name, label }) => query.getAll(name).map((value) => ({ name, label, value })));
  if (!all.length) return null;
  return html`<ul class="chosen" aria-label="Filters">
    ${all.map(({ name, label, value }) => html`<li key=${`${name}=${value}`} class="chip-held">
      <span class="quiet">${label}</span> <span class="break">${value}</span>
      <button type="button" class="plain" aria-label=${`Remove the filter ${label} ${value}`}
        onClick=${() => filter({ [name]: query.getAll(name).filter((one) => one !== value) })}><${Shape} name="cross" /></button>
    </li>`)}
  </ul>`;
}

/** A tag that filters the list by itself on a click. */
export function Tag({ name, value }) {
  const { query } = usePlace();
  const tag = `${name}:${value}`;
  const held = query.getAll("tag");
  return html`<button type="button" class="tag" title=${`Only jobs with ${tag}`}
    onClick=${() => held.includes(tag) || filter({ tag: [...held, tag] })}>${name}:<span class="tag-value">${value}</span></button>`;
}
