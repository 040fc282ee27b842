/**
 * Actions: a button, and a dialog that says what the action will touch and how to take it back. A button that the
 * reader's key may not use is there, and says why it is disabled. The server decides in any case.
 */

import { html, useLayoutEffect, useRef, useState } from "../vendor/htm-preact.js";
import { newOnce } from "../lib/api.js";
import { refresh } from "../lib/live.js";
import { allowChanges, call, permission, useSession } from "../lib/session.js";
import { CopyAs } from "./copy.js";
import { Refused } from "./empty.js";
import { toast } from "./toast.js";

let named = 0;

/** An id of the page's own, for one element to name another. */
const useName = (kind) => useState(() => `${kind}-${(named += 1)}`)[0];

/** A modal dialog. The browser keeps the focus in it, closes it by Escape, and puts the focus back. */
export function Dialog({ title, onClose, children }) {
  const ref = useRef(null);
  const id = useName("dialog");
  useLayoutEffect(() => {
    ref.current.showModal(); // before the next key arrives
  }, []);
  return html`<dialog ref=${ref} aria-labelledby=${id} onClose=${onClose}>
    <h2 id=${id}>${title}</h2>
    ${children}
  </dialog>`;
}

/** A button that may be disabled with its reason, and then stays in reach of the keyboard. */
export function Button({ why, onClick, kind = "", label, hint, children }) {
  const id = useName("why");
  if (!why) return html`<button type="button" class=${kind} aria-label=${label} title=${hint} onClick=${onClick}>${children}</button>`;
  return html`<span class="barred">
    <button type="button" class=${kind} aria-label=${label} aria-disabled="true" aria-describedby=${id} title=${why}>${children}</button>
    <span class="unseen" id=${id}>${why}</span>
  </span>`;
}

/**
 * @typedef {object} ActionProps
 * @property {string} name the verb on the button: "Pause"
 * @property {string} [title] the dialog's title: "Pause nightly-report?"; by default the name
 * @property {string} [label] the accessible name of the button, if the visible one is not enough in a list
 * @property {"viewer"|"submitter"|"operator"|"admin"} role the least role that may do it
 * @property {{method: string, path: string, body?: unknown, ifMatch?: string, isNew?: boolean, isOnce?: boolean}} request
 *   `isOnce`: send an idempotency key
 * @property {{method: string, path: string, body?: unknown}[]} [before] requests that are sent first
 * @property {any} touches what it will do, and to how much
 * @property {any} undo how to take it back
 *   Both are also the button's description, if they are texts
 * @property {() => void} [onOpen] before the dialog opens: set what it begins with
 * @property {string} [done] the sentence after it
 * @property {(answer: any) => void} [onDone]
 * @property {string} [whyNot] the dialog cannot be confirmed yet, for this reason; `touches` shows it
 * @property {boolean} [isLive] `touches` holds inputs: the dialog follows what changes. Any other shows, and does, what it
 *   said when it was opened, whatever the poll brings meanwhile
 * @property {string} [why] disabled for this reason, whoever asks
 * @property {string} [kind] classes of the button: "small", "danger", "primary"
 */

/** @param {ActionProps & {children?: any}} props */
export function Action({ label, role, why, isLive, onOpen, children, ...rest }) {
  const [opened, open] = useState(null); // the properties of then
  const session = useSession();
  const allowed = permission(role, session);
  const { name, kind = "small", touches, undo } = rest;
  const hint = [touches, undo].every((one) => typeof one === "string") ? `${touches} To take it back: ${undo}` : null;
  return html`<${Button} kind=${kind} label=${label} hint=${hint} why=${why || allowed.why} onClick=${() => (onOpen?.(), open(rest))}>${children ?? name}<//>
    ${opened && html`<${Confirm} asks=${allowed.asks} ...${isLive ? rest : opened} onClose=${() => open(null)} />`}`;
}

/** The dialog of an action. */
export function Confirm({ name, title, request, before = [], touches, undo, done, onDone, onClose, asks, whyNot = "", kind = "" }) {
  const [isBusy, busy] = useState(false);
  const [problem, fail] = useState(null);
  const [once] = useState(newOnce);
  const act = async () => {
    busy(true);
    fail(null);
    try {
      if (asks) await allowChanges();
      for (const { method, path, body } of before) await call(method, path, { body });
      const { method, path, isOnce, ...others } = request;
      const answer = await call(method, path, { ...others, once: isOnce ? once : undefined });
      onClose();
      toast(done ?? `${name}: done.`);
      onDone?.(answer.body);
      refresh();
    } catch (refused) {
      if (refused.status === undefined) throw refused;
      fail(refused);
      busy(false);
    }
  };
  return html`<${Dialog} title=${title ?? name} onClose=${onClose}>
    <dl class="terms">
      <dt>What it touches</dt><dd>${touches}</dd>
      <dt>How to take it back</dt><dd>${undo}</dd>
    </dl>
    ${asks && html`<p class="note">Your session may only read so far. Confirming allows changes for 30 minutes. This guards
      against slips, not against theft.</p>`}
    ${problem && html`<${Refused} problem=${problem} />`}
    <div class="dialog-end">
      <${CopyAs} request=${request} />
      <span class="buttons">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="button" class=${kind.includes("danger") ? "danger primary" : "primary"} disabled=${isBusy || Boolean(whyNot)} title=${whyNot || null} onClick=${act}>
          ${asks ? `Allow changes and ${name.charAt(0).toLowerCase()}${name.slice(1)}` : name}
        </button>
      </span>
    </div>
  <//>`;
}
