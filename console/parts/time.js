/** Instants, each with its zone; countdowns and ages by the server's clock. */

import { html } from "../vendor/htm-preact.js";
import { duration, fullText, roughly, serverNow, timeText, useSecond, useZone, zoneOf } from "../lib/time.js";

/** An instant, in the zone of the switch. @param {{at: string|number|null, zone?: string, none?: string}} props `zone`: the job's */
export function Time({ at, zone, none = "–" }) {
  const [choice] = useZone();
  if (!at) return html`<span class="quiet">${none}</span>`;
  const instant = new Date(at);
  const shown = zoneOf(zone, choice);
  const title = `${fullText(instant, shown)}${shown === "UTC" ? "" : ` = ${fullText(instant, "UTC")}`}`;
  return html`<time datetime=${instant.toISOString()} title=${title}>${timeText(instant, shown)}</time>`;
}

/** `in 4 min`, `3 s ago`: it moves by itself. */
export function Away({ at }) {
  const now = useSecond();
  if (!at) return null;
  const left = Date.parse(at) - now;
  const isNow = left > -1000 && left <= 0;
  return html`<span class="away">${isNow ? "now" : left > 0 ? `in ${roughly(left)}` : `${roughly(left)} ago`}</span>`;
}

/** How long something has been running. */
export function Since({ at }) {
  useSecond();
  return at ? html`<span class="num">${duration(Math.floor((serverNow() - Date.parse(at)) / 1000))}</span>` : "–";
}
