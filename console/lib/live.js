/**
 * What is on the screen stays current, by one adaptive poll.
 *
 * Screens name what they show (`useLive`). One loop asks for all of it: every 2 s while something shown is running,
 * every 5 s otherwise, every 30 s when nothing has changed for five minutes, never while the tab is hidden; ± 20 %, so
 * that tabs spread. Each request has the ETag of the last answer. After a 429, a 5xx or no answer the wait doubles. A
 * tab hands its answers to the other tabs of its session, and these then leave out their own request.
 *
 * Held still, the loop goes on, but the picture stays: what has changed meanwhile is counted.
 */

import { useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { call, sessionId } from "./session.js";
import { serverNow } from "./time.js";

const RUNNING_MS = 2_000;
const USUAL_MS = 5_000;
const QUIET_MS = 30_000;
const QUIET_AFTER_MS = 300_000;
const LONGEST_MS = 120_000;
const KEPT = 40; // answers that are kept for a way back

/**
 * @typedef {object} Watch
 * @property {string} path
 * @property {Set<{busy?: (body: any) => boolean, fullAfter?: number, isOff?: boolean, render: () => void}>} users
 * @property {string|null} etag
 * @property {any} newest the newest answer
 * @property {any} shown the answer on the screen; older than `newest` while held still
 * @property {number} at when the server last said so, by its clock (ms)
 * @property {number} shownAt the same for the answer on the screen
 * @property {number} askedAt by `performance.now` (ms)
 * @property {number} wholeAt when an answer last had a body
 * @property {import("./api.js").Problem|null} problem
 */

/** @type {Map<string, Watch>} */
const watches = new Map();
const heard = new Set();
const tabs = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("timeball.live");

let timer = 0;
let isAsking = false;
let failures = 0;
let failure = null; // {problem, againAt}
const clock = () => performance.now();
let changedAt = clock();
let eagerUntil = 0;
let held = null; // since when, by the server's clock

function watch(path) {
  let one = watches.get(path);
  if (!one) {
    one = {
      path, users: new Set(), etag: null, newest: null, shown: null, at: 0, shownAt: 0, askedAt: -Infinity, wholeAt: 0,
      problem: null,
    };
    const spare = [...watches.values()].find(({ users }) => !users.size);
    if (watches.size >= KEPT && spare) watches.delete(spare.path);
    watches.set(path, one);
  }
  return one;
}

const active = () => [...watches.values()].filter(({ users }) => [...users].some(({ isOff }) => !isOff));

function pace() {
  const now = clock();
  if (now < eagerUntil) return RUNNING_MS;
  if (now - changedAt > QUIET_AFTER_MS) return QUIET_MS;
  const isBusy = ({ users, shown }) => shown && [...users].some(({ busy }) => busy?.(shown));
  return active().some(isBusy) ? RUNNING_MS : USUAL_MS;
}

function plan() {
  clearTimeout(timer);
  if (document.hidden || !active().length) return;
  const usual = Math.min(LONGEST_MS, pace() * 2 ** failures);
  const wait = Math.max(usual * (0.8 + 0.4 * Math.random()), (failure?.problem.retryAfter ?? 0) * 1000);
  if (failure) failure.againAt = serverNow() + wait;
  timer = setTimeout(round, wait);
}

async function round() {
  clearTimeout(timer);
  if (isAsking || document.hidden) return;
  isAsking = true;
  const soon = clock() - 0.7 * pace();
  const due = active().filter(({ askedAt }) => askedAt <= soon);
  try {
    const problems = (await Promise.all(due.map(request))).filter((problem) => problem?.passes);
    if (problems.length) {
      failures = Math.min(6, failures + 1);
      failure = { problem: problems[0], againAt: 0 };
    } else if (due.length) {
      failures = 0;
      failure = null;
    }
  } finally {
    isAsking = false;
    plan();
    say();
  }
}

/** Ask for one; return its problem, if it has one. @param {Watch} one */
async function request(one) {
  one.askedAt = clock();
  const whose = sessionId();
  const full = Math.min(...[...one.users].map(({ fullAfter }) => fullAfter ?? Infinity));
  const etag = one.newest && clock() - one.wholeAt < full ? one.etag : null;
  try {
    const answer = await call("GET", one.path, { etag });
    if (sessionId() !== whose) return null;
    accept(one, answer.status === 304 ? null : answer.body, answer.etag ?? one.etag);
    tabs?.postMessage({ session: sessionId(), path: one.path, etag: one.etag, body: answer.body });
    return null;
  } catch (problem) {
    if (problem.status === undefined) throw problem;
    if (sessionId() !== whose) return null;
    one.problem = problem;
    if (!problem.passes) drop(one);
    render(one);
    return problem;
  }
}

/** Refused for good, as when it is gone: what was known of it is no longer true. */
function drop(one) {
  one.newest = one.etag = null;
  if (!held) one.shown = null;
}

function accept(one, body, etag) {
  one.at = serverNow();
  if (!held || !one.shown) one.shownAt = one.at;
  const isNew = etag !== one.etag || !one.newest;
  if (body) {
    if (isNew && one.newest) changedAt = clock();
    one.newest = body;
    one.wholeAt = clock();
    one.etag = etag;
    if (!held || !one.shown) one.shown = body;
  }
  if (body || one.problem) {
    one.problem = null;
    render(one);
  }
}

const render = ({ users }) => users.forEach((user) => user.render());
const say = () => heard.forEach((one) => one());

tabs?.addEventListener("message", ({ data }) => {
  const one = watches.get(data.path);
  if (document.hidden || !one?.users.size || data.session !== sessionId()) return;
  if (!data.body && data.etag !== one.etag) return;
  one.askedAt = clock();
  accept(one, data.body, data.etag);
  if (!isAsking) plan();
  say();
});

addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : round()));
addEventListener("online", () => {
  failures = 0;
  for (const one of active()) one.askedAt = -Infinity;
  round();
});
addEventListener("offline", say);

/** Ask for everything again now, and often for some seconds: after an action of the reader. */
export function refresh() {
  changedAt = clock();
  eagerUntil = clock() + 8_000;
  for (const one of active()) one.askedAt = -Infinity;
  return round();
}

/** Hold the picture still, or let it go on. */
export function hold(isHeld) {
  held = isHeld ? serverNow() : null;
  if (!isHeld)
    for (const one of watches.values()) {
      one.shown = one.newest;
      one.shownAt = one.at;
      render(one);
    }
  say();
}

/** Forget all answers: another session begins. What is on the screen is then made anew. */
export function forget() {
  watches.clear();
  held = failure = null;
  failures = 0;
}

/** How many entries of the lists of an answer differ from those that are shown. */
export function differences(shown, newest) {
  let count = 0;
  for (const [name, list] of Object.entries(newest ?? {})) {
    if (!Array.isArray(list)) continue;
    const before = new Set((shown?.[name] ?? []).map((entry) => JSON.stringify(entry)));
    const fresh = list.filter((entry) => !before.delete(JSON.stringify(entry))).length;
    count += Math.max(fresh, before.size);
  }
  return count || Number(JSON.stringify(shown) !== JSON.stringify(newest));
}

function status() {
  const shown = active().filter(({ newest }) => newest);
  const changes = held
    ? shown.reduce((sum, one) => sum + (one.shown === one.newest ? 0 : differences(one.shown, one.newest)), 0)
    : 0;
  const asOf = held ?? (shown.length ? Math.min(...shown.map(({ at }) => at)) : null);
  return { isHeld: Boolean(held), changes, asOf, failure: failure && { ...failure } };
}

/** How the poll is doing: for the line that says how old the picture is. @returns {ReturnType<typeof status>} */
export function useStatus() {
  const [now, set] = useState(status);
  useEffect(() => {
    const one = () => set(status());
    heard.add(one);
    return () => heard.delete(one);
  }, []);
  return now;
}

/**
 * The answer to a GET, kept current while the caller is on the screen.
 * @param {string|null} path null: nothing
 * @param {{busy?: (body: any) => boolean, fullAfter?: number, isOff?: boolean}} options `busy`: whether something in
 *   the answer is running; `fullAfter`: ask without the ETag if the last body is so many ms old, for an answer with
 *   fields that its ETag leaves out; `isOff`: keep the answer, and do not ask
 * @returns {{body: any, at: number, problem: import("./api.js").Problem|null}}
 */
export function useLive(path, { busy, fullAfter, isOff = false } = {}) {
  const [, again] = useState(0);
  const user = useRef({ render: () => again((count) => count + 1) }).current;
  Object.assign(user, { busy, fullAfter, isOff });
  useEffect(() => {
    if (!path) return undefined;
    const one = watch(path);
    one.users.add(user);
    user.render();
    return () => one.users.delete(user);
  }, [path]);
  useEffect(() => {
    const one = path && watches.get(path);
    if (!one || isOff || document.hidden) return;
    if (clock() - one.askedAt > 1_000)
      request(one).then((problem) => {
        if (problem?.passes && !failure) {
          failures = 1;
          failure = { problem, againAt: 0 };
        }
        if (!isAsking) plan();
        say();
      });
  }, [path, isOff]);
  const one = path ? watches.get(path) : null;
  return { body: one?.shown ?? null, at: one?.shownAt ?? 0, problem: one?.problem ?? null };
}
