/** What the answer of `/v1/now` means for a glance: pure functions. */

/** The ticker notes a tick every five seconds; an answer that is 304 may be as old as `FULL_AFTER_MS`. */
const TICK_MISSING_MS = 20_000;
export const FULL_AFTER_MS = 9_000;
const LATE_DUE_MS = 15_000;
const SLOW_P99_SECONDS = 5;

/**
 * The four signs of the health strip.
 * @param {any} body of `/v1/now`
 * @param {number} asOf the instant of that answer by the server's clock (ms)
 * @returns {{alive: boolean, punctual: boolean, overdue: boolean}}
 */
export function signs(body, asOf) {
  const { lastTickAt, oldestDueAt, lateness } = body.health;
  return {
    alive: Boolean(lastTickAt) && asOf - Date.parse(lastTickAt) <= TICK_MISSING_MS,
    punctual: !(lateness?.p99 > SLOW_P99_SECONDS),
    overdue: Boolean(oldestDueAt) && asOf - Date.parse(oldestDueAt) > LATE_DUE_MS,
  };
}

/** The headline: one sentence for the whole picture. @returns {{text: string, tone: string}} */
export function headline(body, { alive, punctual, overdue }) {
  const jobs = needs(body.needsAttention).length;
  const dead = body.deadLetterGroups.length;
  if (!alive) return { text: "Timeball is not ticking: nothing that falls due is started", tone: "bad" };
  if (overdue) return { text: "Timeball is alive, but behind", tone: "bad" };
  if (!punctual) return { text: "Timeball is alive, but late", tone: "warn" };
  if (jobs) return { text: `Alive and on time; ${jobs === 1 ? "one job needs" : `${jobs} jobs need`} you`, tone: "warn" };
  if (dead) return { text: "Alive and on time; some runs have failed for good", tone: "warn" };
  return { text: "Alive and on time; nothing needs you", tone: "good" };
}

/**
 * The fires of the next hour, one entry for each job and each reason why it will not run.
 * @param {{jobId: string, fireTime: string, startsAt: string|null, willRun: boolean, needsEvent: boolean, reason: string|null}[]} next
 * @param {number} now fires before it have begun, and are left out (ms)
 */
export function fires(next, now) {
  const found = new Map();
  for (const fire of next) {
    const at = fire.startsAt ?? fire.fireTime;
    if (Date.parse(at) < now - 1000) continue;
    const name = `${fire.reason} ${fire.jobId}`;
    const one = found.get(name);
    if (one) Object.assign(one, { count: one.count + 1, last: at });
    else found.set(name, { ...fire, name, at, last: at, count: 1 });
  }
  const all = [...found.values()].sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
  return { will: all.filter(({ willRun }) => willRun), willNot: all.filter(({ willRun }) => !willRun) };
}

/**
 * The bar of a run against the p95 of its job: the whole bar is one and a half times the p95, or the run if that is longer.
 * @returns {{part: number, mark: number|null, isLong: boolean}} both in percent
 */
export function bar(seconds, p95) {
  if (!p95) return { part: 0, mark: null, isLong: false };
  const whole = Math.max(1.5 * p95, seconds);
  return { part: (100 * seconds) / whole, mark: (100 * p95) / whole, isLong: seconds > p95 };
}

const GRAVEST = ["stuck", "failing", "late", "blocked", "silent"];
const rank = ({ kind }) => (GRAVEST.includes(kind) ? GRAVEST.indexOf(kind) : GRAVEST.length);

/**
 * What needs attention, an entry for each job, the gravest first; several runs in the same trouble are one concern, that of
 * the longest, with their count.
 * @param {{kind: string, since: string, jobId: string, runId: string|null, waitsFor: object|null}[]} all longest first
 */
export function needs(all) {
  const jobs = new Map();
  for (const one of all) {
    if (!jobs.has(one.jobId)) jobs.set(one.jobId, { jobId: one.jobId, concerns: [] });
    const { concerns } = jobs.get(one.jobId);
    const same = concerns.find(({ kind }) => kind === one.kind);
    if (same) same.count += 1;
    else concerns.push({ ...one, count: 1 });
  }
  const found = [...jobs.values()];
  for (const { concerns } of found) concerns.sort((one, other) => rank(one) - rank(other));
  return found.sort((one, other) => rank(one.concerns[0]) - rank(other.concerns[0]));
}
