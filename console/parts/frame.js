/** What is around every screen: the navigation, who is logged in, the zone of all times, and how old the picture is. */

import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { hold, useStatus } from "../lib/live.js";
import { allowChanges, forbidChanges, logout, permission, useSession } from "../lib/session.js";
import { THEMES, useTheme } from "../lib/theme.js";
import { MY_ZONE, roughly, serverNow, timeText, useSecond, useZone, zoneOf } from "../lib/time.js";
import { usePlace } from "../lib/url.js";
import { counted, plain } from "../lib/words.js";
import { Shape } from "./badge.js";
import { Mark } from "./mark.js";
import { Away } from "./time.js";
import { toast } from "./toast.js";

/** @param {{screens: {name: string, path: string, title: string, nav?: boolean}[], children: any}} props */
export function Frame({ screens, children }) {
  const { path } = usePlace();
  const first = path.split("/")[1] ?? "";
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="bar">
      <a class="brand" href="#/"><${Mark} /> Timeball</a>
      <nav aria-label="Screens">
        ${screens.filter(({ nav }) => nav).map(({ name, path: to, title }) => html`<a key=${name} href=${`#/${to}`}
          aria-current=${first === to.split("/")[0] ? "page" : undefined}>${title}</a>`)}
      </nav>
      <${Live} />
      <${Menu} />
    </header>
    <${Lost} />
    ${children}`;
}

function skip(event) {
  event.preventDefault(); // the fragment is the router's
  document.getElementById("main")?.focus();
}

/** How old the picture is, and the button that holds it still. */
function Live() {
  const { isHeld, changes, asOf, failure } = useStatus();
  const [choice] = useZone();
  const zone = zoneOf(null, choice);
  const word = isHeld ? "Held still" : failure ? "Not current" : "Live";
  return html`<div class="live">
    <span class=${`live-sign ${isHeld ? "tone-warn" : failure ? "tone-bad" : "tone-good"}`}>
      <${Shape} name=${isHeld ? "pause" : failure ? "warning" : "running"} /> ${word}</span>
    <span class="live-at quiet">${asOf && (isHeld || failure) ? `as of ${timeText(asOf, zone)}` : ""}</span>
    <button type="button" class="small" aria-pressed=${isHeld} onClick=${() => hold(!isHeld)}
      title="Keep the picture as it is; what changes meanwhile is counted">
      ${isHeld ? (changes ? `Go on: ${counted(changes, "change")}` : "Go on") : "Hold still"}
    </button>
  </div>`;
}

/** The banner of a lost connection. */
function Lost() {
  const { asOf, failure } = useStatus();
  const [choice] = useZone();
  const now = useSecond();
  if (!failure) return null;
  const seconds = Math.max(0, Math.ceil((failure.againAt - now) / 1000));
  return html`<div class="lost" role="status"><${Shape} name="warning" />
    <span>${failure.problem.message} ${asOf ? `You see the state as of ${timeText(asOf, zoneOf(null, choice), serverNow())}.` : ""}</span>
    <span class="quiet" aria-hidden="true">${failure.againAt ? (seconds ? `Next try in ${roughly(seconds * 1000)}.` : "Trying…") : ""}</span>
  </div>`;
}

const ZONE_WORDS = { job: "Job's zone", mine: `My zone (${MY_ZONE})`, utc: "UTC" };

function Menu() {
  const ref = useRef(null);
  const session = useSession();
  const [zone, chooseZone] = useZone();
  const [theme, chooseTheme] = useTheme();
  useEffect(() => {
    const away = (event) => {
      const isEscape = event.type === "keydown" && event.key === "Escape";
      if (isEscape && ref.current.open && ref.current.contains(document.activeElement)) ref.current.firstElementChild.focus();
      if (isEscape || (event.type === "click" && !ref.current.contains(event.target))) ref.current.open = false;
    };
    addEventListener("click", away);
    addEventListener("keydown", away);
    return () => ["click", "keydown"].forEach((name) => removeEventListener(name, away));
  }, []);
  const mayChange = Boolean(session.changesUntil);
  return html`
    <label class="choice zone"><span class="unseen">Zone of all times</span>
      <select value=${zone} onChange=${(event) => chooseZone(event.target.value)}>
        ${Object.entries(ZONE_WORDS).map(([value, word]) => html`<option key=${value} value=${value}>${word}</option>`)}
      </select>
    </label>
    <details class="menu" ref=${ref}>
      <summary><span class="clip">${session.tenant}</span><span class=${`role ${mayChange ? "tone-warn" : "quiet"}`}>${session.role}</span></summary>
      <div class="menu-inside">
        <p><strong class="break">${session.tenant}</strong><br /><span class="quiet">${plain(session.keyRole)}'s key${bounds(session.tags)}</span></p>
        <${Changes} session=${session} />
        <fieldset><legend>Appearance</legend>
          <div class="segments">${THEMES.map((one) => html`<label key=${one}><input type="radio" name="theme" value=${one} checked=${theme === one}
            onChange=${() => chooseTheme(one)} /><span>${plain(one)}</span></label>`)}</div>
        </fieldset>
        <p class="menu-end"><button type="button" onClick=${logout}>Log out</button>
          <span class="quiet">Ends <${Away} at=${session.endsAt} /></span></p>
      </div>
    </details>`;
}

function bounds(tags) {
  const all = Object.entries(tags ?? {});
  return all.length ? `, only jobs with ${all.map(([name, value]) => `${name}:${value}`).join(", ")}` : "";
}

/** The right to make changes: off at first, on for half an hour. */
function Changes({ session }) {
  const [isBusy, busy] = useState(false);
  if (session.changesUntil)
    return html`<div class="changes"><p>Changes are allowed; this ends <${Away} at=${session.changesUntil} />.</p>
      <button type="button" onClick=${forbidChanges}>Only read again</button></div>`;
  const { may } = permission("submitter", session);
  if (!may) return html`<p class="quiet">A viewer's key may only read.</p>`;
  const allow = () => {
    busy(true);
    allowChanges().catch((problem) => toast(problem.message, "bad")).finally(() => busy(false));
  };
  return html`<div class="changes"><p class="quiet">The session may only read. This guards against slips, not against theft.</p>
    <button type="button" disabled=${isBusy} onClick=${allow}>Allow changes for 30 minutes</button></div>`;
}
