/**
 * Who is logged in. An API key, or a one-time code, is exchanged for a session key; the API key is not kept.
 *
 * A session may only read. `allowChanges` asks for a second key that may do for half an hour what the API key may: a
 * guard against slips, not against theft. Both live in sessionStorage, and end with the tab. Another tab of the same
 * browser may be given the first one; see `ask`.
 */

import { useEffect, useState } from "../vendor/htm-preact.js";
import { Problem, send } from "./api.js";
import { hasPassed } from "./time.js";

/** @typedef {{key: string, sessionId: string, tenant: string, tags: object, role: string, keyRole: string, expiresAt: string, sessionExpiresAt: string}} Session */

const STORED = "timeball.session";
const RANKS = ["viewer", "submitter", "operator", "admin"];
const ARTICLES = { viewer: "a viewer", submitter: "a submitter", operator: "an operator", admin: "an admin", worker: "a worker" };

/** @type {{first: Session|null, second: Session|null, why: string}} */
let state = stored();
const heard = new Set();
const tabs = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("timeball.session");

function stored() {
  try {
    const { first, second } = JSON.parse(sessionStorage.getItem(STORED)) ?? {};
    return { first: first ?? null, second: second ?? null, why: "" };
  } catch {
    return { first: null, second: null, why: "" };
  }
}

function change(next) {
  state = { ...state, ...next };
  try {
    sessionStorage.setItem(STORED, JSON.stringify({ first: state.first, second: state.second }));
  } catch {
    // The session then ends with the page.
  }
  for (const one of heard) one();
}

tabs?.addEventListener("message", ({ data }) => {
  if (data.asks && state.first) tabs.postMessage({ gives: state.first });
  if (data.gives && !state.first) change({ first: data.gives, why: "" });
  if (data.ended && data.ended === state.first?.sessionId) change({ first: null, second: null, why: "You logged out." });
});

/** Ask the other tabs for their session: a link that opens in a new tab is then logged in, too. */
export function ask() {
  tabs?.postMessage({ asks: true });
}

/** The second key, while it lasts. */
function changing() {
  const { second } = state;
  return second && !hasPassed(second.expiresAt) ? second : null;
}

/** The session key to send, or null. */
export const sessionKey = () => (changing() ?? state.first)?.key ?? null;
export const sessionId = () => state.first?.sessionId ?? null;

export async function login(apiKey) {
  change({ first: (await send("POST", "/v1/sessions", { key: apiKey })).body, second: null, why: "" });
}

export async function loginByCode(code) {
  change({ first: (await send("POST", "/v1/sessions", { body: { code } })).body, second: null, why: "" });
}

export async function logout() {
  const key = sessionKey();
  const ended = sessionId();
  change({ first: null, second: null, why: "You logged out." });
  tabs?.postMessage({ ended });
  await send("DELETE", "/v1/sessions/current", { key }).catch(() => {}); // it ends by itself an hour later at the latest
}

/** The server no longer knows the key. */
function refused(key) {
  if (key === state.second?.key) change({ second: null });
  else if (key === state.first?.key) change({ first: null, second: null, why: "Your session has ended. Log in again." });
}

export async function allowChanges() {
  const { body } = await send("POST", "/v1/sessions", { key: state.first.key, body: { allowChangesForSeconds: 1800 } });
  change({ second: body });
}

export const forbidChanges = () => change({ second: null });
setInterval(() => state.second && !changing() && forbidChanges(), 1_000);

/** Whether the key is not known, or no longer: API Gateway then says 403 by itself, without a problem of Timeball's. */
const isUnknown = ({ status, kind }) => status === 401 || (status === 403 && !kind);

/** Send a request as the session. A key that has ended is dropped; a read is then sent with the first key. */
export async function call(method, path, options = {}) {
  const key = sessionKey();
  try {
    return await send(method, path, { ...options, key });
  } catch (problem) {
    if (!(problem instanceof Problem) || !isUnknown(problem)) throw problem;
    refused(key);
    if (method === "GET" && sessionKey()) return call(method, path, options);
    throw problem;
  }
}

/**
 * Say whether a role's requests are possible: `why` is a sentence if not. `asks` means: once changes are allowed.
 * @param {"viewer"|"submitter"|"operator"|"admin"} role
 * @returns {{may: boolean, asks: boolean, why: string}}
 */
export function permission(role, session = view()) {
  const rank = RANKS.indexOf(role);
  if (rank > RANKS.indexOf(session.keyRole))
    return { may: false, asks: false, why: `This needs ${ARTICLES[role]}'s key; you use ${ARTICLES[session.keyRole]}'s.` };
  return { may: true, asks: rank > RANKS.indexOf(session.role), why: "" };
}

function view() {
  const second = changing();
  const { first, why } = state;
  return {
    isOpen: Boolean(first), id: first?.sessionId ?? null, why, tenant: first?.tenant ?? "", tags: first?.tags ?? {}, keyRole: first?.keyRole ?? "viewer",
    role: (second ?? first)?.role ?? "viewer", changesUntil: second?.expiresAt ?? null, endsAt: first?.sessionExpiresAt ?? null,
  };
}

/** The session for a screen, rendered again when it changes. @returns {ReturnType<typeof view>} */
export function useSession() {
  const [now, set] = useState(view);
  useEffect(() => {
    const one = () => set(view());
    heard.add(one);
    one();
    return () => heard.delete(one);
  }, []);
  return now;
}
