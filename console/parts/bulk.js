/** Act on all jobs that match a filter: the count before, an operation of the server, its progress after. */

import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { refresh, useLive } from "../lib/live.js";
import { call, permission, useSession } from "../lib/session.js";
import { filter, searchOf, usePlace } from "../lib/url.js";
import { counted, plain } from "../lib/words.js";
import { Button, Confirm } from "./action.js";
import { State } from "./badge.js";
import { Refused } from "./empty.js";
import { toast } from "./toast.js";

const MOST_COUNTED = 10_000;

/**
 * Each action: what one job gets, how it is taken back, and the jobs that it takes if no status is chosen.
 * @type {Record<string, {name: string, touches: string, undo: string, open?: boolean, kind?: string}>}
 */
const ACTIONS = {
  pause: { name: "Pause", open: true, touches: "get no new runs. Runs under way go on.", undo: "Resume the same selection." },
  resume: { name: "Resume", open: true, touches: "fire again by their schedules; what they missed follows their catch-up policy.", undo: "Pause the same selection." },
  trigger: { name: "Run now", open: true, touches: "run once now, beside their schedules.", undo: "A call that has left cannot be taken back; runs can be cancelled one by one." },
  retry: { name: "Retry", touches: "try their newest run again, if it failed for good.", undo: "A call that has left cannot be taken back; runs can be cancelled one by one." },
  cancel: { name: "Cancel", open: true, kind: "danger", touches: "end for good. Their history stays.", undo: "It cannot be taken back, but the same definition can be put again under its id." },
};

const OPEN = "pending,paused,blocked";

/** Read a list page by page; `step` sees the items of each, and whether it is the last. */
export async function walk(path, isOver, step) {
  for (let cursor = ""; cursor !== null && !isOver(); ) {
    const { body } = await call("GET", cursor ? `${path}&${searchOf({ cursor })}` : path);
    cursor = body.nextCursor;
    step(body.items, cursor === null);
  }
}

/** Count the jobs of a query; `step` sees the count so far. */
async function count(query, isOver, step) {
  let sum = 0;
  await walk(`/v1/jobs?${searchOf({ ...query, fields: "summary", limit: "200" })}`, () => isOver() || sum >= MOST_COUNTED, (items, isWhole) => step((sum += items.length), isWhole));
}

/**
 * @param {{query: Record<string, any>, match: object|null, why?: string}} props `query`: the filter as a list of jobs takes
 *   it; `match`: the same as an operation takes it; `why`: why an operation cannot match it
 */
export function Bulk({ query, match, why }) {
  const [isOpen, open] = useState(false);
  const [{ sum, isWhole }, counting] = useState({ sum: 0, isWhole: false });
  const [problem, fail] = useState(null);
  const [chosen, choose] = useState(null);
  const session = useSession();
  const allowed = permission("operator", session);
  const search = JSON.stringify(query);
  useEffect(() => open(false), [search]);
  useEffect(() => {
    if (!isOpen) return undefined;
    let isOver = false;
    counting({ sum: 0, isWhole: false });
    fail(null);
    const step = (now, end) => isOver || counting({ sum: now, isWhole: end });
    count(query, () => isOver, step).catch((refused) => isOver || fail(refused));
    return () => (isOver = true);
  }, [isOpen, search]);
  if (!isOpen)
    return html`<${Button} kind="small" why=${why || allowed.why} onClick=${() => open(true)}>Select all that match<//>`;
  const shown = isWhole ? counted(sum, "job") : sum >= MOST_COUNTED ? `More than ${counted(MOST_COUNTED, "job")}` : `${counted(sum, "job")} so far`;
  return html`<div class="bulk" role="group" aria-label="Act on all that match">
    <strong role="status">${shown}</strong> <span class="quiet">match.</span>
    ${problem && html`<${Refused} problem=${problem} />`}
    <span class="buttons">
      ${Object.entries(ACTIONS).map(([verb, { name, kind = "" }]) => html`<${Button} key=${verb} kind=${`small ${kind}`}
        why=${allowed.why || (isWhole && !sum ? "No job matches." : "")} onClick=${() => choose(verb)}>${name} all…<//>`)}
      <button type="button" class="small" onClick=${() => open(false)}>Clear selection</button>
    </span>
    ${chosen && html`<${Before} verb=${chosen} query=${query} match=${match} asks=${allowed.asks} onClose=${() => choose(null)} />`}
  </div>`;
}

/** The dialog before: it counts again the jobs that this action takes, for an ended job is left alone by most. */
function Before({ verb, query, match, asks, onClose }) {
  const { name, touches, undo, open, kind } = ACTIONS[verb];
  const [{ sum, isWhole }, counting] = useState({ sum: 0, isWhole: false });
  const [why, fail] = useState("");
  const taken = open && !query.status ? { ...query, status: OPEN } : query;
  useEffect(() => {
    let isOver = false;
    count(taken, () => isOver, (now, end) => isOver || counting({ sum: now, isWhole: end })).catch((refused) => isOver || fail(refused.message));
    return () => (isOver = true);
  }, []);
  const jobs = isWhole ? counted(sum, "job") : sum >= MOST_COUNTED ? `More than ${counted(MOST_COUNTED, "job")}` : `${counted(sum, "job")} (still counting)`;
  return html`<${Confirm} name=${`${name} all`} title=${`${name} all that match?`} kind=${kind ?? ""} asks=${asks} onClose=${onClose}
    whyNot=${why || (isWhole || sum >= MOST_COUNTED ? "" : "The jobs are being counted.")}
    touches=${html`<strong>${jobs}</strong> ${touches}${open && !query.status ? " Jobs that have ended are left out." : ""}`}
    undo=${undo} done="The operation has begun."
    request=${{ method: "POST", path: "/v1/operations", body: { action: verb, match }, isOnce: true }}
    onDone=${({ operationId }) => filter({ op: operationId })} />`;
}

/** The progress of the operation, or of the backfill of a job, that the URL names. @param {{jobId?: string}} props */
export function Progress({ jobId }) {
  const { query } = usePlace();
  const [operation, backfill] = ["op", "backfill"].map((name) => query.get(name));
  const path = operation ? `/v1/operations/${encodeURIComponent(operation)}` : jobId && backfill ? `/v1/jobs/${encodeURIComponent(jobId)}/backfills/${encodeURIComponent(backfill)}` : null;
  return path && html`<${Operation} key=${path} path=${path} onClose=${() => filter({ op: null, backfill: null })} />`;
}

const isLive = ({ status }) => status === "running" || status === "waiting";

function Operation({ path, onClose }) {
  const [isEnded, end] = useState(false);
  const { body, problem } = useLive(path, { busy: isLive, isOff: isEnded });
  const allowed = permission("operator", useSession());
  const status = body?.status;
  useEffect(() => {
    if (!body || isLive(body)) return;
    end(true);
    refresh();
  }, [status]);
  if (problem && !body) return html`<${Refused} problem=${problem} />`;
  if (!body) return null;
  const { matched, done, failed } = body.progress ?? { matched: body.total, done: body.total - body.remaining, failed: 0 };
  const [name, unit] = body.progress ? [ACTIONS[body.action]?.name ?? plain(body.action), "job"] : ["Backfill", "fire"];
  const stop = () => call("DELETE", path).then(refresh, (refused) => toast(refused.message, "bad"));
  return html`<section class="operation" aria-label="Operation">
    <p><${State} of=${status} /> <strong>${name}</strong> ${counted(done, unit)} of ${matched.toLocaleString("en-GB")} ${body.progress ? "done" : "begun"}${failed ? `, ${failed} not possible` : ""}.</p>
    <progress max=${Math.max(1, matched)} value=${done + failed} aria-label="Progress"></progress>
    ${failed > 0 && html`<details><summary>Why not</summary><ul>${body.failures.map(({ jobId, problem: one }) => html`<li key=${jobId}><code>${jobId}</code> ${one.detail}</li>`)}</ul></details>`}
    <span class="buttons">
      ${isLive(body) && html`<${Button} kind="small" why=${allowed.why || (allowed.asks ? "Allow changes first." : "")} onClick=${stop}>Stop it<//>`}
      <button type="button" class="small" onClick=${onClose}>Close</button>
    </span>
  </section>`;
}
