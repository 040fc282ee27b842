/** The page of somebody who is not logged in. */

import { html, useState } from "../vendor/htm-preact.js";
import { login } from "../lib/session.js";
import { Refused } from "./empty.js";
import { Mark } from "./mark.js";

export function Login({ why, problem }) {
  const [key, type] = useState("");
  const [isBusy, busy] = useState(false);
  const [refused, fail] = useState(null);
  const enter = async (event) => {
    event.preventDefault();
    if (!key.trim()) return;
    busy(true);
    fail(null);
    try {
      await login(key.trim());
    } catch (one) {
      if (one.status === undefined) throw one;
      fail(one);
      busy(false);
    }
  };
  const shown = refused ?? problem;
  return html`<main class="login">
    <h1><${Mark} /> Timeball</h1>
    ${why && !shown && html`<p class="note" role="status">${why}</p>`}
    ${shown && html`<${Refused} problem=${shown} />`}
    <form onSubmit=${enter}>
      <label for="key">API key</label>
      <input id="key" type="password" autocomplete="off" spellcheck=${false} placeholder="tb_…" value=${key}
        onInput=${(event) => type(event.target.value)} />
      <button type="submit" class="primary" disabled=${isBusy}>Log in</button>
    </form>
    <p class="quiet">The key is exchanged once for a session of eight hours, and is not kept. The session may only read until
      you allow changes.</p>
  </main>`;
}
