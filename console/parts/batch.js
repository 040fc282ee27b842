/** Act on many, by one request after the other: what it touches before; count, progress and a way to stop it after. */

import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { refresh } from "../lib/live.js";
import { allowChanges } from "../lib/session.js";
import { Dialog } from "./action.js";
import { CopyAs } from "./copy.js";
import { Refused } from "./empty.js";
import { toast } from "./toast.js";

/**
 * The dialog. A request that has left is counted, though it was stopped or the dialog is closed.
 * @param {{name: string, title: string, kind?: string, did: string, about: any, touches: any, undo: any, count: number,
 *   next: (cursor: any) => Promise<{done: number, refused: number, cursor: any}>, request: object, asks: boolean,
 *   whyNot?: string, onClose: () => void, children?: any}} props `did`: "replayed"; `count`: how many there are;
 *   `next`: send the request of a cursor, at first null; a cursor of null ends it; `children`: more terms
 */
export function Batch({ name, title, kind, did, about, touches, undo, count, next, request, asks, whyNot = "", onClose, children }) {
  const [progress, step] = useState(null); // {done, refused, isOver}
  const [isStopping, stopping] = useState(false);
  const [problem, fail] = useState(null);
  const isStopped = useRef(false);
  const isClosed = useRef(false);
  useEffect(() => () => (isStopped.current = isClosed.current = true), []);
  const act = async () => {
    fail(null);
    step({ done: 0, refused: 0, isOver: false });
    let [done, refused, cursor] = [0, 0, null];
    try {
      if (asks) await allowChanges();
      do {
        const answer = await next(cursor);
        done += answer.done;
        refused += answer.refused;
        cursor = answer.cursor;
        step({ done, refused, isOver: cursor === null || isStopped.current });
      } while (cursor !== null && !isStopped.current);
    } catch (one) {
      if (one.status === undefined) throw one;
      fail(one);
      step((before) => before && { ...before, isOver: true });
      if (isClosed.current) toast(one.message, "bad");
    }
    if (isClosed.current) toast(`${done.toLocaleString("en-GB")} ${did}${cursor === null ? "" : "; the rest stays"}.`);
    refresh();
  };
  const stop = () => {
    isStopped.current = true;
    stopping(true);
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <p class="quiet break">${about}</p>
    ${!progress && html`<dl class="terms"><dt>What it touches</dt><dd>${touches}</dd><dt>How to take it back</dt><dd>${undo}</dd>${children}</dl>`}
    ${asks && !progress && html`<p class="note">Your session may only read so far. Confirming allows changes for 30 minutes.</p>`}
    ${progress && html`<p role="status"><strong>${progress.done.toLocaleString("en-GB")}</strong> ${did}${progress.refused ? `, ${progress.refused} not possible` : ""}${progress.isOver ? "." : isStopping ? ". Stopping…" : "…"}</p>
      <progress max=${Math.max(count, progress.done, 1)} value=${progress.done + progress.refused} aria-label="Runs done"></progress>`}
    ${problem && html`<${Refused} problem=${problem} />`}
    <div class="dialog-end">
      <${CopyAs} request=${request} />
      <span class="buttons">
        ${!progress && html`<button type="button" onClick=${onClose}>Cancel</button><button type="button" class=${kind === "danger" ? "danger primary" : "primary"} disabled=${Boolean(whyNot)} title=${whyNot || null} onClick=${act}>${asks ? `Allow changes and ${name.toLowerCase()}` : name}</button>`}
        ${progress && !progress.isOver && html`<button type="button" disabled=${isStopping} onClick=${stop}>${isStopping ? "Stopping…" : "Stop"}</button>`}
        ${progress?.isOver && html`<button type="button" class="primary" onClick=${onClose}>Close</button>`}
      </span>
    </div>
  <//>`;
}
