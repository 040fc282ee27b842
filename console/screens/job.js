/** Job: its ledger, what comes, its settings, its changes and its cost; and what can be done with it. */

import { html, useState } from "../vendor/htm-preact.js";
import { useLive } from "../lib/live.js";
import { duration, serverNow } from "../lib/time.js";
import { href, usePlace } from "../lib/url.js";
import { counted, hidesHeaders, look, plain, willNotText } from "../lib/words.js";
import { Action, Button } from "../parts/action.js";
import { Backfill } from "../parts/backfill.js";
import { Shape, State } from "../parts/badge.js";
import { Progress } from "../parts/bulk.js";
import { Copy, CopyAs } from "../parts/copy.js";
import { Empty, Loading, Refused } from "../parts/empty.js";
import { Chips } from "../parts/filters.js";
import { CycleLink, JobLink, RunLink } from "../parts/links.js";
import { Outcomes } from "../parts/outcomes.js";
import { Panel } from "../parts/panel.js";
import { ActOnRuns } from "../parts/runs.js";
import { Pages, Table } from "../parts/table.js";
import { Away, Time } from "../parts/time.js";

const TABS = [["", "Ledger"], ["upcoming", "Upcoming"], ["settings", "Settings"], ["changes", "Changes"], ["cost", "Cost"]];
const ENDED = ["completed", "failed", "skipped", "cancelled"];
const STATUSES = ["succeeded", "failed", "running", "queued", "retrying", "skipped", "cancelled"];
const UPCOMING_DAYS = 31;

export default function Job({ jobId, tab = "" }) {
  const path = `/v1/jobs/${encodeURIComponent(jobId)}`;
  const { body: job, problem } = useLive(path, { busy: ({ running }) => running?.length > 0 });
  const [isShown, show] = useState(false); // the first rows: what else the screen says is asked for after them
  if (!job) return problem ? html`<${Refused} problem=${problem} />` : html`<${Loading} />`;
  const Tab = { "": Ledger, upcoming: Upcoming, settings: Settings, changes: Changes, cost: Cost }[tab];
  return html`
    <div class="head">
      <div><h1 class="headline"><${State} of=${job.status} /> <span class="id">${job.jobId}</span></h1>
        ${job.name && job.name !== job.jobId && html`<p class="quiet break">${job.name}</p>`}</div>
      <${Actions} job=${job} path=${path} />
    </div>
    <${Progress} jobId=${jobId} />
    <${Summary} job=${job} path=${path} isOff=${!isShown && !tab} />
    <nav class="tabs" aria-label="Parts of the job">${TABS.map(([name, title]) => html`<a key=${title}
      href=${href(["jobs", jobId, name].filter(Boolean))} aria-current=${name === tab ? "page" : null}>${title}</a>`)}</nav>
    ${Tab ? html`<${Tab} job=${job} path=${path} isShown=${isShown} show=${show} />` : html`<${Empty} title="A job has no such part." />`}`;
}

/** What one asks first: when it fires, how it fares, and what stops it. */
function Summary({ job, path, isOff }) {
  const { blockedBy, pausedAt, pausedReason, timezone: zone } = job;
  return html`<dl class="strip" aria-label="Summary">
    <div><dt>Schedule</dt><dd>${job.scheduleText}</dd><dd class="quiet break">${raw(job)}</dd></div>
    <div><dt>Next fire</dt><dd>${job.nextRunAt ? html`<${Time} at=${job.nextRunAt} zone=${zone} />` : "None"}</dd>
      <dd class="quiet">${job.nextRunAt ? html`<${Away} at=${job.nextRunAt} />` : ENDED.includes(job.status) ? "the job has ended" : "by its schedule"}</dd></div>
    <div><dt>Newest outcomes</dt><dd><${Outcomes} recent=${job.recent} running=${job.running} /></dd><dd class="quiet">${job.recent ? "the newest is the last" : ""}</dd></div>
    <div><dt>Owner</dt><dd class="break">${job.owner ?? "–"}</dd>
      <dd class="quiet">${Object.entries(job.tags ?? {}).map(([name, value]) => `${name}:${value}`).join(", ") || "no tags"}</dd></div>
    <${Newest} job=${job} path=${isOff ? null : path} />
  </dl>
  ${pausedAt && html`<p class="note"><${Shape} name="pause" /> Paused since <${Time} at=${pausedAt} zone=${zone} />${pausedReason ? `, because of ${plain(pausedReason).toLowerCase()}` : ""}.</p>`}
  ${blockedBy && html`<p class="note"><${Shape} name="lock" /> Blocked by <${RunLink} id=${blockedBy.runId} /> of <${JobLink} id=${blockedBy.jobId} />: mend and retry it, or mark it as succeeded.</p>`}
  ${job.dependsOn.length > 0 && html`<p>Runs after ${job.dependsOn.map((one, index) => html`${index ? ", " : ""}<${JobLink} id=${one.jobId ?? one} />`)}${job.triggerRule ? `: ${plain(job.triggerRule).toLowerCase()}` : ""}.</p>`}`;
}

/** The newest change: what it was, and by whom. */
function Newest({ job, path }) {
  const [known, know] = useState(0);
  const { body } = useLive(path && `${path}/revisions?limit=1`, { isOff: known === job.version });
  const one = body?.items[0];
  if (one && one.revision !== known) know(one.revision);
  const fields = one?.before && one.after ? differing(one.before, one.after).join(", ") : "";
  return html`<div><dt>Newest change</dt><dd>${one ? html`${plain(one.action)} <${Away} at=${one.at} />` : "–"}</dd>
    <dd class="quiet break">${one && `${one.actor ? `by ${one.actor.keyId}, ${one.actor.role}` : "by Timeball"}${fields && `: ${fields}`}`}</dd></div>`;
}

/** The schedule as it was given. */
function raw({ cronExpression, timezone, everySeconds, scheduleAt, event }) {
  if (cronExpression) return `${cronExpression} · ${timezone}`;
  if (everySeconds) return `every ${everySeconds} s`;
  if (scheduleAt) return "once";
  return event ? JSON.stringify(event) : "";
}

function Actions({ job, path }) {
  const isOver = ENDED.includes(job.status);
  const over = isOver ? "The job has ended." : "";
  const post = (name, more) => ({ method: "POST", path: `${path}/${name}`, ...more });
  const unit = job.nextRunAt && !isOver ? html`Its fire of <${Time} at=${job.nextRunAt} zone=${job.timezone} />` : "Its next fire";
  return html`<div class="buttons">
    <${Action} name="Run now" title=${`Run ${job.jobId} now?`} role="submitter" kind="primary" request=${post("trigger", { isOnce: true })}
      touches="One run beside the schedule, which stays as it is." undo="Cancel the run." done="A run is on its way." />
    ${job.status === "paused"
      ? html`<${Action} name="Resume" title=${`Resume ${job.jobId}?`} role="submitter" request=${post("resume")} done="The job fires again."
          touches=${`The job fires again. Of the fires that it missed, its catch-up policy runs: ${job.catchUp?.policy ?? "none"}.`} undo="Pause it." />`
      : html`<${Action} name="Pause" title=${`Pause ${job.jobId}?`} role="submitter" why=${over} request=${post("pause")} done="The job is paused."
          touches="The job fires no more, and its runs that have not started wait. Runs under way go on." undo="Resume it." />`}
    <a class="button small" href=${href(["jobs", job.jobId, "edit"])}>Edit</a>
    <${Action} name="Skip next" title="Skip the next fire?" role="submitter" why=${over || (job.nextRunAt ? "" : "There is no next fire.")} request=${post("skip-next", { ifMatch: `"${job.version}"`, isOnce: true })} done="The next fire is skipped."
      touches=${html`${unit} gets a skipped row in the ledger.`} undo="Run the job now instead: the skipped row stays." />
    <${Backfill} jobId=${job.jobId} zone=${job.timezone} />
    <${Action} name="Cancel job" title=${`Cancel ${job.jobId} for good?`} role="submitter" kind="small danger" why=${over} request=${{ method: "DELETE", path }} done="The job is cancelled."
      touches="The job never fires again, and its runs that have not started are cancelled. Runs under way are asked to stop. The ledger stays. If other jobs depend on it, Timeball refuses."
      undo="Put the job again: it begins its next life." />
  </div>`;
}

/** The ledger: a row for every instant at which something was due. */
function Ledger({ job, path, isShown, show }) {
  const { query } = usePlace();
  const zone = job.timezone;
  const status = query.get("status");
  const columns = [
    { title: "Fire time", isHead: true, cell: (run) => html`<${RunLink} id=${run.runId}><${Time} at=${run.fireTime} zone=${zone} /><//>${run.count > 1 && html`<br /><span class="quiet">${counted(run.count, "fire")} until <${Time} at=${run.lastFireTime} zone=${zone} /></span>`}` },
    { title: "Status", cell: (run) => html`<${State} of=${run.status} />` },
    { title: "Reason", className: "grow", cell: ({ reasonText, blockedBy }) => html`${reasonText ?? ""}${blockedBy && html` <${RunLink} id=${blockedBy.runId}>the failed run<//>`}` },
    { title: "Origin", cell: ({ origin, cycleId, jobId }) => (cycleId ? html`<${CycleLink} jobId=${jobId} cycleId=${cycleId}>${plain(origin)}<//>` : plain(origin)) },
    { title: "Late", className: "num", cell: ({ lateness }) => (lateness === null ? "–" : duration(lateness)) },
    { title: "Took", className: "num", cell: took },
    { title: "Attempts", className: "num", cell: ({ attempt }) => attempt },
  ];
  return html`
    <div class="filters"><${Chips} name="status" label="Status" choices=${STATUSES.map((one) => [one, html`<${Shape} name=${look(one).shape} />${look(one).word}`])} />
      <${ActOnRuns} path=${`${path}/runs`} status=${status} /><${Durations} path=${isShown ? path : null} /></div>
    <${Pages} caption="Ledger" path=${`${path}/runs`} query=${{ status }} columns=${columns} keyOf=${({ runId }) => runId} noun="run" onCount=${(count, isWhole) => show(count > 0 || isWhole)}
      busy=${({ items }) => items.some((run) => run.status === "running")}
      empty=${html`<${Empty} title=${status ? "No run has this status." : "No fire has been due yet."}>${job.nextRunAt && html`<p>The first row comes with the next fire, <${Away} at=${job.nextRunAt} />.</p>`}<//>`} />`;
}

function took({ startedAt, finishedAt }) {
  return startedAt && finishedAt ? duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000) : "–";
}

/** The value of sorted numbers that a share of them does not exceed. */
const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];

/** How long attempts that succeeded took: the median and the 95th percentile of the newest. */
function Durations({ path }) {
  const [isKnown, know] = useState(false); // they move slowly: once is enough
  const { body } = useLive(path && `${path}/executions?limit=100`, { isOff: isKnown });
  if (body && !isKnown) know(true);
  const times = (body?.items ?? []).filter(({ outcome }) => outcome === "succeeded").map(({ durationMs }) => durationMs / 1000).sort((a, b) => a - b);
  if (!times.length) return null;
  return html`<p class="quiet">Of the newest ${counted(times.length, "call")} that succeeded, half took at most ${duration(percentile(times, 0.5))}, and 95 % at most ${duration(percentile(times, 0.95))}.</p>`;
}

/** The fires to come, with what changes them. */
function Upcoming({ job }) {
  const hour = Math.floor(serverNow() / 3_600_000) * 3_600_000;
  const query = { jobId: job.jobId, to: new Date(hour + UPCOMING_DAYS * 86_400_000).toISOString() };
  const zone = job.timezone;
  const columns = [
    { title: "Fire time", isHead: true, cell: ({ fireTime }) => html`<${Time} at=${fireTime} zone=${zone} />` },
    { title: "How soon", className: "num", isBare: true, cell: ({ fireTime }) => html`<${Away} at=${fireTime} />` },
    { title: "Runs", cell: (fire) => html`<${State} of=${fire.willRun ? "scheduled" : fire.reason} word=${fire.willRun ? "Will run" : null} />` },
    { title: "Why", className: "grow", cell: (fire) => becauseOf(fire, zone) },
  ];
  return html`<${Pages} caption="Fires to come" path="/v1/upcoming" query=${query} columns=${columns} noun="fire" keyOf=${({ fireTime }) => fireTime}
    empty=${html`<${Empty} title=${`It does not fire in the next ${UPCOMING_DAYS} days.`}>${job.event && html`<p>It runs on events.</p>`}<//>`} />`;
}

function becauseOf({ willRun, reason, startsAt, fireTime, needsEvent }, zone) {
  if (!willRun) return willNotText(reason);
  const parts = [startsAt && startsAt !== fireTime && html`It starts <${Time} at=${startsAt} zone=${zone} />. `, needsEvent && "Only if an event comes before."];
  return parts.filter(Boolean);
}

/** The settings as the request that would make them. */
function Settings({ job, path }) {
  const { body } = useLive(`${path}/revisions?limit=1`);
  const spec = body?.items[0]?.after;
  if (!body) return html`<${Loading} />`;
  if (!spec) return html`<${Empty} title="The newest revision is no longer kept." />`;
  const rows = Object.entries(spec).map(([field, value]) => ({ field, value }));
  const columns = [
    { title: "Field", isHead: true, cell: ({ field }) => html`<code>${field}</code>` },
    { title: "Value", className: "grow", cell: ({ value }) => html`<code class="break">${JSON.stringify(value)}</code>` },
  ];
  return html`<${Panel} title="Settings">
    <div class="buttons">${hidesHeaders(spec)
      ? html`<${Button} kind="small" why="Values of headers are not shown, so the request would remove them.">Copy as curl<//>`
      : html`<${CopyAs} request=${{ method: "PUT", path, body: spec }} />`}</div>
    <p class="quiet">Effective are also: priority ${job.effectivePriority}, timeout ${duration(job.timeoutSeconds)}, retries after at most ${job.retryTimetable.length ? job.retryTimetable.map(duration).join(", ") : "none"}. Values of headers are not shown.</p>
    <${Table} caption="Settings" columns=${columns} rows=${rows} keyOf=${({ field }) => field} />
  <//>`;
}

/** What changed, and who changed it. */
function Changes({ job, path }) {
  const columns = [
    { title: "When", isHead: true, cell: ({ at }) => html`<${Time} at=${at} zone=${job.timezone} /><br /><${Away} at=${at} />` },
    { title: "Who", className: "wide", cell: ({ actor }) => (actor ? html`<code class="break">${actor.keyId}</code><br /><span class="quiet">${actor.role}, ${actor.address}</span>` : "Timeball") },
    { title: "Action", cell: ({ action, operationId }) => html`${plain(action)}${operationId && html`<br /><span class="quiet break">${operationId}</span>`}` },
    { title: "What changed", className: "grow", cell: (one) => html`<${Differences} before=${one.before} after=${one.after} />` },
    { title: "Restore", isBare: true, cell: ({ revision, after }) => after && revision !== job.version && html`<${Action} name="Restore" label=${`Restore revision ${revision}`} title=${`Restore revision ${revision}?`} role="operator"
      request=${{ method: "POST", path: `${path}/revisions/${revision}:restore`, ifMatch: `"${job.version}"` }} done="The revision is in force again."
      touches=${`The job's schedule, target and policies become those of revision ${revision}. Runs under way go on as they are.`} undo="Restore the present revision." />` },
  ];
  return html`<${Pages} caption="Changes" path=${`${path}/revisions`} columns=${columns} noun="change" keyOf=${({ revision }) => revision} />`;
}

const differing = (before, after) => [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));

/** The fields that differ, each with both values. */
function Differences({ before, after }) {
  if (!after) return null;
  if (!before) return html`<span class="quiet">The first revision that is kept.</span>`;
  const names = differing(before, after);
  if (!names.length) return html`<span class="quiet">No field.</span>`;
  return html`<dl class="differences">${names.map((name) => html`<dt><code>${name}</code></dt>
    <dd><del class="break">${JSON.stringify(before[name]) ?? "–"}</del> <ins class="break">${JSON.stringify(after[name]) ?? "–"}</ins></dd>`)}</dl>`;
}

function Cost({ job, path }) {
  const { body, problem } = useLive(`${path}/cost`);
  if (!body) return problem ? html`<${Refused} problem=${problem} />` : html`<${Loading} />`;
  const usd = (value) => `$${value < 0.01 ? value.toPrecision(2) : value.toFixed(2)}`;
  const rows = Object.keys(body.day.items).map((name) => ({ name, day: body.day.items[name], month: body.month.items[name] }));
  const cell = ({ quantity, usd: price }) => html`${usd(price)} <span class="quiet">${Math.round(quantity).toLocaleString("en-GB")}</span>`;
  const columns = [
    { title: "What", isHead: true, cell: ({ name }) => plain(name) },
    { title: "Last day", className: "num", cell: ({ day }) => cell(day) },
    { title: "Last 30 days", className: "num", cell: ({ month }) => cell(month) },
  ];
  return html`<${Panel} title="Cost">
    <p>${usd(body.day.usd)} in the last day, ${usd(body.month.usd)} in the last 30 days${body.month.exact ? "" : ", computed from its newest runs"}.</p>
    <${Table} caption="Cost" columns=${columns} rows=${rows} keyOf=${({ name }) => name} />
    <p class="quiet">By ${body.prices}; idle costs of the deployment are not in it. As of <${Time} at=${body.at} zone=${job.timezone} />.</p>
  <//>`;
}
