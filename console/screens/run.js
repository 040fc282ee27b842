/** Run: why it exists, when each step happened, what each attempt was answered, and what to do next. */

import { html, useState } from "../vendor/htm-preact.js";
import { useLive } from "../lib/live.js";
import { duration } from "../lib/time.js";
import { counted, plain, whyText } from "../lib/words.js";
import { Action } from "../parts/action.js";
import { Shape, State } from "../parts/badge.js";
import { Copy } from "../parts/copy.js";
import { Loading, Refused } from "../parts/empty.js";
import { CycleLink, JobLink, RunLink } from "../parts/links.js";
import { Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Away, Since, Time } from "../parts/time.js";

const LIVE = ["queued", "running", "retrying"];

export default function Run({ runId }) {
  const path = `/v1/runs/${encodeURIComponent(runId)}`;
  const { body: run, problem } = useLive(path, { busy: ({ status }) => LIVE.includes(status) });
  const { body: job } = useLive(run && `/v1/jobs/${encodeURIComponent(run.jobId)}`);
  if (!run) return problem ? html`<${Refused} problem=${problem} />` : html`<${Loading} />`;
  const zone = job?.timezone;
  return html`
    <div class="head">
      <div>
        <p class="quiet"><${JobLink} id=${run.jobId} /> · run</p>
        <h1 class="headline"><${State} of=${run.status} /> <${Time} at=${run.fireTime} zone=${zone} /></h1>
      </div>
      <${Copy} text=${run.runId} what="the run's id" />
    </div>
    <div class="columns">
      <div class="column">
        <${Why} run=${run} job=${job} />
        <${Next} run=${run} job=${job} path=${path} />
      </div>
      <div class="column"><${Rail} run=${run} zone=${zone} /></div>
    </div>
    <${Attempts} run=${run} zone=${zone} />
    ${run.result && html`<${Panel} title="Result">
      ${run.result.httpStatus && html`<p>The target answered with status ${run.result.httpStatus}.</p>`}
      <${Text} of=${run.result.body} none="The answer had no text." />
    <//>`}`;
}

/** Why the run exists, and why it is as it is. */
function Why({ run, job }) {
  const { blockedBy } = run;
  return html`<${Panel} title="Why">
    <p>${whyText(run.origin)}${run.backfillId ? html` <code>${run.backfillId}</code>.` : ""}
      ${run.cycleId && html` It belongs to the cycle <${CycleLink} jobId=${run.jobId} cycleId=${run.cycleId} />.`}</p>
    ${run.count > 1 && html`<p>This row stands for ${counted(run.count, "fire")}, until <${Time} at=${run.lastFireTime} zone=${job?.timezone} />.</p>`}
    ${run.reasonText && html`<p class="note">${run.reasonText}</p>`}
    ${blockedBy && html`<p>The failed run is <${RunLink} id=${blockedBy.runId} />, of <${JobLink} id=${blockedBy.jobId} />.</p>`}
    ${run.waitingFor?.length > 0 && html`<p>It still waits for the runs of ${run.waitingFor.map((id, index) => html`${index ? ", " : ""}<${JobLink} id=${id} />`)}.</p>`}
    ${run.waitingForLimit && html`<p>It waits for the limit <code>${run.waitingForLimit}</code>.</p>`}
    ${run.items && html`<p>It stands for the runs of items that <${RunLink} id=${run.items.of} /> named: ${run.items.released}${run.items.count === null ? "" : ` of ${run.items.count}`} sent.</p>`}
    ${run.succeededBecause && html`<p>A person marked it as succeeded: ${run.succeededBecause}</p>`}
    ${run.payloadEditedAt && html`<p>A person changed its payload: <${Time} at=${run.payloadEditedAt} />.</p>`}
  <//>`;
}

/** The instants of the run, in order, with what passed between them. */
function Rail({ run, zone }) {
  const first = run.attempts[0];
  const last = run.attempts[run.attempts.length - 1];
  const waited = Object.entries(run.waits ?? {}).filter(([, seconds]) => seconds > 0);
  const steps = [
    ["Planned", run.createdAt, "its row was written"],
    ["Due", run.fireTime, run.movedTo ? "moved by its calendar, or by its events" : ""],
    run.movedTo && ["Moved to", run.movedTo, ""],
    ["Claimed", first?.claimedAt, first ? `by ${first.workerId}` : ""],
    ["Called", run.startedAt, run.lateness === null ? "" : run.lateness < 0.001 ? "on time" : `${duration(run.lateness)} late`],
    last && last !== first && [`Attempt ${last.number}`, last.startedAt, ""],
    ["Ended", run.finishedAt, ended(run)],
  ].filter(Boolean);
  steps.sort(([, one], [, other]) => (one ? Date.parse(one) : Infinity) - (other ? Date.parse(other) : Infinity) || 0);
  return html`<${Panel} title="Times">
    <ol class="rail">${steps.map(([name, at, note]) => html`<li key=${name} class=${at ? "" : "rail-open"}>
      <span class="rail-name">${name}</span><${Time} at=${at} zone=${zone} none="not yet" /><span class="quiet">${note}</span>
    </li>`)}</ol>
    ${waited.length > 0 && html`<p class="quiet">It was held before its first attempt: ${waited.map(([gate, seconds]) => `${duration(seconds)} by ${plain(gate).toLowerCase()}`).join(", ")}.</p>`}
    ${run.nextAttemptAt && LIVE.includes(run.status) && html`<p>No call leaves before <${Time} at=${run.nextAttemptAt} zone=${zone} /> · <${Away} at=${run.nextAttemptAt} /></p>`}
    ${run.callback && html`<p>The target answered 202 and has yet to report, at the latest <${Time} at=${run.callback.leaseUntil} zone=${zone} />.</p>`}
  <//>`;
}

function ended({ startedAt, finishedAt }) {
  return startedAt && finishedAt ? `after ${duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000)}` : "";
}

function Attempts({ run, zone }) {
  if (!run.attempts.length) return null;
  const columns = [
    { title: "Attempt", isHead: true, cell: ({ number }) => `Attempt ${number}` },
    { title: "Outcome", cell: ({ outcome }) => html`<${State} of=${outcome ?? "running"} />` },
    { title: "Called", cell: ({ startedAt }) => html`<${Time} at=${startedAt} zone=${zone} none="not called" />` },
    { title: "Took", className: "num", cell: ({ durationMs, startedAt, outcome }) => (durationMs !== null ? duration(durationMs / 1000) : outcome === null && html`<${Since} at=${startedAt} />`) },
    { title: "Status", className: "num", cell: ({ httpStatus }) => httpStatus ?? "–" },
    { title: "Answer", className: "grow", cell: (one) => html`${one.error && html`<p class="break">${one.error}</p>`}${one.body && html`<details><summary>Text of the answer</summary><${Text} of=${one.body} /></details>`}` },
  ];
  return html`<${Panel} title="Attempts" count=${`${run.attempts.length} of at most ${run.maxRetries + 1}`}>
    <${Table} caption="Attempts" columns=${columns} rows=${[...run.attempts].reverse()} keyOf=${({ number }) => number} />
  <//>`;
}

/** A text of the target, indented if it is JSON. */
function Text({ of, none = "" }) {
  if (!of) return html`<p class="quiet">${none}</p>`;
  let text = of;
  try {
    text = JSON.stringify(JSON.parse(of), null, 2);
  } catch {
    // It is no JSON, and shown as it is.
  }
  return html`<pre tabindex="0" aria-label="Text of the answer">${text}</pre>`;
}

/** What a person can do about the run now. */
function Next({ run, job, path }) {
  const isOver = !LIVE.includes(run.status) && run.status !== "withdrawn";
  const isStopped = run.status === "failed" || run.status === "cancelled" || run.reason === "blocked";
  const again = { method: "POST", path: `/v1/jobs/${encodeURIComponent(run.jobId)}/trigger`, isOnce: true };
  return html`<${Panel} title="What to do next">
    <p>${advice(run, job)}</p>
    ${run.blockedBy && html`<p><${Shape} name="lock" /> <${RunLink} id=${run.blockedBy.runId}>Open the failed run<//></p>`}
    <div class="buttons">
      ${run.status === "failed" && html`
        <${Action} name="Retry" title="Retry this run?" role="operator" kind="primary" request=${{ method: "POST", path: `${path}/retry` }}
          touches="This run gets one more series of attempts, now, with the payload that it had. Runs that it blocks go on once it succeeds."
          undo="Cancel the run before its call leaves." done="The run is retried." />
        <${EditAndRetry} path=${path} run=${run} job=${job} />`}
      ${isStopped && html`<${MarkSucceeded} path=${path} />`}
      ${!isOver && html`<${Action} name="Cancel" title="Cancel this run?" role="operator" kind="small danger" request=${{ method: "POST", path: `${path}/cancel` }}
        touches="This run alone. A call that has left is asked to stop, and not called back." undo="Retry the run." done="The run is cancelled, or asked to stop." />`}
      ${isOver && html`<${Action} name="Run the job now" title=${`Run ${run.jobId} now?`} role="submitter" request=${again}
        touches="One more run of the job, beside its schedule." undo="Cancel the new run." done="A new run is on its way." />`}
    </div>
  <//>`;
}

/** The API does not show the payload of a run. A run of the schedule had the job's, unless the job has changed. */
function EditAndRetry({ path, run, job }) {
  const [text, write] = useState("");
  const isOfJob = run.origin === "schedule" && !run.payloadEditedAt;
  const payload = parsed(text);
  const whyNot = payload !== undefined ? "" : text.trim() ? "This is no JSON." : "Give the payload first.";
  return html`<${Action} name="Edit and retry" isLive=${true} onOpen=${() => write(isOfJob ? JSON.stringify(job?.payload ?? null, null, 2) : "")} whyNot=${whyNot} title="Retry with another payload?" role="operator" request=${{ method: "POST", path: `${path}/retry`, body: { payload: payload ?? null } }}
    touches=${html`<label>Payload, as JSON
      <textarea rows="8" spellcheck=${false} value=${text} onInput=${(event) => write(event.target.value)}></textarea></label>
      <p class="quiet">${isOfJob ? "This is the job's payload; this run may have had its own." : "This run may have had a payload of its own, which is not shown."}</p>
      <p class=${whyNot ? "tone-bad" : "quiet"} role="status">${whyNot || "This run is called with it; the job keeps its own."}</p>`}
    undo="Cancel the run before its call leaves, and retry with the former payload." done="The run is retried with the new payload." />`;
}

function MarkSucceeded({ path }) {
  const [reason, write] = useState("");
  return html`<${Action} name="Mark as succeeded" isLive=${true} onOpen=${() => write("")} title="Mark this run as succeeded?" role="operator" request=${{ method: "POST", path: `${path}/succeed`, body: reason ? { reason } : {} }}
    touches=${html`The run counts as succeeded without a call, and the runs that it blocks go on.
      <label>Why <input type="text" maxlength="500" value=${reason} onInput=${(event) => write(event.target.value)} /></label>`}
    undo="It cannot be taken back: rerun the cycle instead." done="The run counts as succeeded." />`;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function advice({ status, reason, cancelRequested, callback }, job) {
  if (reason === "blocked") return "Mend and retry the failed run, or mark it as succeeded; this one then goes on by itself.";
  if (reason === "circuit_open") return "The resource keeps failing. Timeball tries it from time to time; mend the resource, and the run goes on by itself.";
  if (cancelRequested && status === "running") return "The target has been asked to stop. Wait until the attempt ends.";
  const texts = {
    running: callback ? "The target works, and has yet to report." : "The call is under way. Wait, or cancel it.",
    queued: "Nothing is needed: it starts by itself.",
    retrying: "Nothing is needed: the next attempt starts by itself.",
    withdrawn: "The job is paused. Resume it, and the run goes on.",
    succeeded: "Nothing is needed.",
    failed: "Read the last answer below. Mend the cause and retry, or retry with another payload.",
    skipped: "No call was made for this fire. If its work is missing, run the job now.",
    cancelled: "No further call is made. If its work is missing, run the job now.",
  };
  return texts[status] ?? (job ? "Open the job." : "");
}
