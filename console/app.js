/** The console: who is logged in, which screen the URL names, and the frame around it. */

import { html, render, useEffect, useErrorBoundary, useRef, useState } from "./vendor/htm-preact.js";
import { forget } from "./lib/live.js";
import { ask, loginByCode, useSession } from "./lib/session.js";
import { applyTheme } from "./lib/theme.js";
import { go, usePlace } from "./lib/url.js";
import { Empty, Loading, Refused } from "./parts/empty.js";
import { Frame } from "./parts/frame.js";
import { Login } from "./parts/login.js";
import { Toasts, toast } from "./parts/toast.js";
import { SCREENS, screenAt } from "./screens.js";

const loaded = new Map();

/** The component of a screen's file; null while it is on its way. */
function useScreen(screen) {
  const [, again] = useState(0);
  const [failed, fail] = useState(null);
  useEffect(() => {
    fail(null);
    if (!screen || loaded.has(screen.name)) return;
    screen.load().then((file) => {
      loaded.set(screen.name, file.default);
      again((count) => count + 1);
    }, fail);
  }, [screen]);
  return { Screen: screen && loaded.get(screen.name), failed };
}

function Shown() {
  const { path } = usePlace();
  const found = screenAt(path);
  const { Screen, failed } = useScreen(found?.screen);
  const [error, retry] = useErrorBoundary((one) => console.error(one));
  const main = useRef(null);
  const isFirst = useRef(true);
  useEffect(() => {
    const named = Object.values(found?.names ?? {}).join(" ");
    document.title = [named, found?.screen.title ?? "Not found", "Timeball"].filter(Boolean).join(" · ");
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
    if (error) retry();
  }, [path]);
  let inside = html`<${Loading} />`;
  if (!found) inside = html`<${Empty} title="There is no such page."><p><a href="#/">Go to Now</a></p><//>`;
  else if (error) inside = html`<${Empty} title="This page has failed."><p class="quiet">${String(error.message ?? error)}</p><button type="button" onClick=${retry}>Show it again</button><//>`;
  else if (failed) inside = html`<${Refused} problem=${{ message: "This page could not be loaded. Reload to try again.", fields: [] }} />`;
  else if (Screen) inside = html`<${Screen} key=${path} ...${found.names} />`;
  return html`<main id="main" tabindex="-1" ref=${main}>${inside}</main>`;
}

function App() {
  const session = useSession();
  const { path } = usePlace();
  const [problem, fail] = useState(null);
  const [isEntering, entering] = useState(false);
  const [offered, offer] = useState(null); // the code of a link that was opened beside a session
  const code = codeIn(path);
  const enter = (one) => {
    offer(null);
    entering(true);
    fail(null);
    loginByCode(one).catch((refused) => (session.isOpen ? toast(refused.message, "bad") : fail(refused))).finally(() => entering(false));
  };
  useEffect(() => {
    if (code === null) return void (session.isOpen || ask());
    go("#/", { quietly: true });
    if (session.isOpen) offer(code);
    else enter(code);
  }, [code]);
  const whose = useRef(null);
  if (whose.current !== session.id) {
    whose.current = session.id;
    forget(); // before anything of the new session is rendered
  }
  let inside = html`<${Login} why=${session.why} problem=${problem} />`;
  if (isEntering || code !== null) inside = html`<${Loading} />`;
  else if (session.isOpen && offered !== null)
    inside = html`<main class="login"><h1>Log in by the link?</h1>
      <p>You are logged in to the tenant <strong class="break">${session.tenant}</strong>. The link begins another session in this tab.</p>
      <p class="buttons"><button type="button" onClick=${() => offer(null)}>Stay</button><button type="button" class="primary" onClick=${() => enter(offered)}>Use the link</button></p></main>`;
  else if (session.isOpen) inside = html`<${Frame} key=${session.id} screens=${SCREENS}><${Shown} /><//>`;
  return html`${inside}<${Toasts} />`;
}

/** The one-time code of a login link, `#s=…`. */
function codeIn(path) {
  if (!path.startsWith("s=")) return null;
  try {
    return decodeURIComponent(path.slice(2));
  } catch {
    return path.slice(2); // no code of Timeball's: the exchange says so
  }
}

applyTheme();
render(html`<${App} />`, document.getElementById("app"));
