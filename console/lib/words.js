/** What the API's words are called on a screen: a shape, a word and a tone each. Never a colour alone. */

/** @typedef {{word: string, shape: string, tone: "good"|"bad"|"warn"|"live"|"quiet"}} Look */

/** @type {Record<string, Look>} */
const LOOKS = {
  succeeded: { word: "Succeeded", shape: "check", tone: "good" },
  completed: { word: "Completed", shape: "check", tone: "quiet" },
  failed: { word: "Failed", shape: "cross", tone: "bad" },
  running: { word: "Running", shape: "running", tone: "live" },
  queued: { word: "Queued", shape: "ring", tone: "quiet" },
  timed_out: { word: "Timed out", shape: "glass", tone: "bad" },
  lost: { word: "Lost", shape: "dots", tone: "warn" },
  retrying: { word: "Retrying", shape: "loop", tone: "warn" },
  withdrawn: { word: "Withdrawn", shape: "pause", tone: "quiet" },
  skipped: { word: "Skipped", shape: "dash", tone: "quiet" },
  cancelled: { word: "Cancelled", shape: "slash", tone: "quiet" },
  pending: { word: "Pending", shape: "clock", tone: "quiet" },
  paused: { word: "Paused", shape: "pause", tone: "warn" },
  blocked: { word: "Blocked", shape: "lock", tone: "warn" },
  late: { word: "Late", shape: "clock", tone: "bad" },
  stuck: { word: "Stuck", shape: "glass", tone: "bad" },
  failing: { word: "Failing", shape: "cross", tone: "bad" },
  silent: { word: "Silent", shape: "dots", tone: "warn" },
  job_paused: { word: "Paused", shape: "pause", tone: "warn" },
  calendar: { word: "Calendar", shape: "dash", tone: "quiet" },
  frozen: { word: "Frozen", shape: "frost", tone: "warn" },
  skipped_manually: { word: "Skipped", shape: "dash", tone: "quiet" },
  active: { word: "In force", shape: "frost", tone: "warn" },
  scheduled: { word: "Scheduled", shape: "clock", tone: "quiet" },
  lifted: { word: "Lifted", shape: "check", tone: "quiet" },
  over: { word: "Over", shape: "check", tone: "quiet" },
  waiting: { word: "Waiting", shape: "ring", tone: "quiet" },
};

/** How a state looks; a state that this page does not know yet is shown by its own word. @returns {Look} */
export function look(state) {
  return Object.hasOwn(LOOKS, state) ? LOOKS[state] : { word: plain(state), shape: "ring", tone: "quiet" };
}

/** `waiting_for_parents` → `Waiting for parents`. */
export function plain(word) {
  const text = String(word ?? "").replace(/_/g, " ").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The letters of `recent`. */
export const OUTCOMES = { s: "succeeded", f: "failed", k: "skipped", c: "cancelled", b: "blocked" };

/** Why a fire to come will not run. Runs bring their own sentence (`reasonText`). */
const WILL_NOT = {
  job_paused: "The job is paused.",
  calendar: "Its calendar excludes this date.",
  frozen: "A freeze holds it, and its catch-up policy skips it.",
  skipped_manually: "A user skipped this fire.",
  blocked: "A run that it waits for has failed for good.",
};

export const willNotText = (reason) => WILL_NOT[reason] ?? `${plain(reason)}.`;

/** Why a run exists, by its origin. */
const ORIGINS = {
  schedule: "The schedule of its job was due.",
  manual: "A person, or a program, ran the job by hand.",
  backfill: "A backfill runs the job for instants of the past:",
  dependency: "The jobs that it depends on had their cycle.",
  event: "An event matched the pattern of its job.",
};

export const whyText = (origin) => ORIGINS[origin] ?? `${plain(origin)}.`;

/** What a late or blocked run waits for. @param {{kind: string, ref: string|null}|null} waitsFor */
export function waitsText(waitsFor) {
  if (!waitsFor) return "The cause is not known yet.";
  const { kind, ref } = waitsFor;
  const texts = {
    limit: `Waits for a slot or a token of the limit ${ref}.`,
    quota: "Waits for a quota of the tenant.",
    parent: ref ? "Waits for" : "Waits for the runs of the jobs that it depends on.",
    overlap: "Waits for the earlier run",
    resource: "Waits, because the resource that it calls keeps failing.",
    freeze: "Waits for the end of a freeze.",
  };
  return texts[kind] ?? `Waits for: ${plain(kind).toLowerCase()}.`;
}

/** Whether `ref` is a run's id. */
export const waitsForRun = (waitsFor) => Boolean(waitsFor?.ref) && ["parent", "overlap"].includes(waitsFor.kind);

/** What each kind of `needsAttention` means, in a few words. */
export const CONCERNS = {
  late: "due and not started",
  stuck: "running far longer than usual",
  blocked: "a run that it waits for has failed for good",
  failing: "its newest runs have failed",
  silent: "three fires or more have passed since a run succeeded",
};

/** `1 job`, `2 jobs`, `1,284 jobs`. */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en-GB")} ${count === 1 ? one : many}`;
}

/** Whether the settings of a job have headers whose values are not shown. */
export const hidesHeaders = ({ target }) => Object.values(target?.headers ?? {}).includes(null);

/** Which jobs a match of the API names, in words. */
export function matchText({ all, jobIds, taskId, tags }) {
  if (all) return "All jobs";
  const tagged = Object.entries(tags ?? {}).map(([name, value]) => `${name}:${value}`);
  const parts = [
    jobIds?.length && `jobs ${jobIds.slice(0, 3).join(", ")}${jobIds.length > 3 ? ` and ${jobIds.length - 3} more` : ""}`,
    taskId && `jobs of the task ${taskId}`, tagged.length && `jobs with ${tagged.join(", ")}`,
  ].filter(Boolean);
  const text = parts.join("; ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
