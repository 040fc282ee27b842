/** Forms of resources: each is read with its version, shown as fields, and sent back whole. */

import { html, useState } from "../vendor/htm-preact.js";
import { call } from "../lib/session.js";
import { Action } from "./action.js";

export function Field({ label, hint, children }) {
  return html`<label class="field"><span>${label}</span>${children}${hint && html`<span class="quiet">${hint}</span>`}</label>`;
}

/**
 * An action whose dialog is a form. Each value is a text; `write` makes the body of them, and throws an Error whose message
 * says what is wrong.
 * @param {{fields: {name: string, label: string, hint?: string, kind?: string, rows?: number}[], read: (body: any) => object,
 *   write: (values: object) => object, path: string|((values: object) => string), isNew?: boolean, method?: string}} props
 *   `path`: of what is changed, or of the new one; the rest goes to `Action`
 */
export function FormAction({ fields, read, write, path, isNew, method = "PUT", touches, ...action }) {
  const [values, set] = useState(null);
  const [etag, version] = useState(null);
  const [why, wrong] = useState("");
  const open = () => {
    set(isNew ? read({}) : null);
    wrong("");
    if (!isNew) call("GET", path).then((answer) => (set(read(answer.body)), version(answer.etag)), (refused) => refused.status !== undefined && wrong(refused.message));
  };
  let body, whyNot = why || "It is being read.";
  if (values)
    try {
      body = write(values);
      whyNot = values.id === "" ? "Give a name first." : "";
    } catch (error) {
      whyNot = error instanceof SyntaxError ? "This is no JSON yet." : error.message;
    }
  const request = { method, path: typeof path === "function" ? path(values ?? {}) : path, body, ...(method === "POST" ? {} : isNew ? { isNew } : { ifMatch: etag }) };
  const input = ({ name, kind = "text", rows }) => {
    const onInput = (event) => set({ ...values, [name]: event.target.value });
    return rows ? html`<textarea rows=${rows} spellcheck=${false} value=${values[name]} onInput=${onInput}></textarea>` : html`<input type=${kind} value=${values[name]} spellcheck=${false} autocomplete="off" onInput=${onInput} />`;
  };
  return html`<${Action} ...${action} isLive=${true} onOpen=${open} whyNot=${whyNot} request=${request}
    touches=${html`${touches} ${values && fields.map((one) => html`<${Field} key=${one.name} label=${one.label} hint=${one.hint}>${input(one)}<//>`)}
      ${whyNot && html`<p class="tone-bad" role="status">${whyNot}</p>`}`} />`;
}
