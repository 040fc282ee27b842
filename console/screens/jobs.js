/** Jobs: find them, see how each fares, and act on one or on all that match. */

import { html } from "../vendor/htm-preact.js";
import { useZone, zoneOf } from "../lib/time.js";
import { usePlace } from "../lib/url.js";
import { look, plain } from "../lib/words.js";
import { Action } from "../parts/action.js";
import { Shape, State } from "../parts/badge.js";
import { Bulk, Progress } from "../parts/bulk.js";
import { Empty } from "../parts/empty.js";
import { Chips, Choice, Chosen, Search, Tag } from "../parts/filters.js";
import { JobLink } from "../parts/links.js";
import { Outcomes } from "../parts/outcomes.js";
import { Pages } from "../parts/table.js";
import { Away, Time } from "../parts/time.js";

const STATUSES = ["running", "pending", "paused", "blocked", "failed", "completed", "skipped", "cancelled"];
const KINDS = [["cron", "Cron"], ["interval", "Interval"], ["once", "Once"], ["event", "On events"], ["dependent", "After other jobs"]];
const SORTS = [["nextRunAt", "Next fire first"], ["-lastFinishedAt", "Last finished first"], ["name", "By name"], ["createdAt", "Oldest first"]];
const FILTERS = ["q", "status", "kind", "priority", "tag", "taskId", "owner", "name", "nextRunBefore"];
const ENDED = ["completed", "failed", "skipped", "cancelled"];
/** The filters that an operation can match; the list knows more. */
const OF_OPERATIONS = ["status", "tag", "taskId"];

export default function Jobs() {
  const { query } = usePlace();
  const filters = Object.fromEntries(FILTERS.filter((name) => query.has(name)).map((name) => [name, query.getAll(name)]));
  const isFiltered = Object.keys(filters).length > 0;
  const chips = STATUSES.map((status) => [status, html`<${Shape} name=${look(status).shape} />${look(status).word}`]);
  return html`
    <div class="head"><h1>Jobs</h1><span class="buttons"><${Bulk} query=${filters} ...${matched(filters)} /><a class="button" href="#/new">New job</a></span></div>
    <${Progress} />
    <div class="filters">
      <${Search} name="q" label="Search" hint="Id or name begins with…" />
      <${Chips} name="status" label="Status" choices=${chips} />
      <${Choice} name="kind" label="Kind" any="Any schedule" choices=${KINDS} />
      <${Choice} name="priority" label="Priority" any="Any priority" choices=${["high", "normal", "low"].map((one) => [one, `${plain(one)} priority`])} />
      <${Choice} name="sort" label="Order" any="Newest first" choices=${SORTS} />
      <${Chosen} of=${[{ name: "tag", label: "tag" }, { name: "taskId", label: "task" }, { name: "owner", label: "owner" }, { name: "name", label: "name" }, { name: "nextRunBefore", label: "next before" }]} />
    </div>
    <${Pages} caption="Jobs" path="/v1/jobs" query=${{ ...filters, sort: query.get("sort") }} columns=${COLUMNS} keyOf=${({ jobId }) => jobId}
      busy=${({ items }) => items.some(({ running }) => running.length > 0)} noun="job"
      empty=${html`<${Empty} title=${isFiltered ? "No job matches." : "There is no job yet."}>${isFiltered && html`<p><a href="#/jobs">Show all jobs</a></p>`}<//>`} />`;
}

/** The filters as an operation takes them, or why it cannot. */
function matched(filters) {
  const others = Object.keys(filters).filter((name) => !OF_OPERATIONS.includes(name));
  if (others.length) return { match: null, why: `An operation matches by status, tag and task. Remove the other filters first: ${others.join(", ")}.` };
  const statuses = (filters.status ?? []).join(",").split(",").filter(Boolean);
  if (statuses.length > 1) return { match: null, why: "An operation matches one status. Choose one." };
  const tags = (filters.tag ?? []).map((tag) => tag.split(/:(.*)/s).slice(0, 2));
  const names = new Set(tags.map(([name]) => name));
  if (names.size < tags.length || tags.some(([, value]) => value === undefined) || filters.taskId?.length > 1)
    return { match: null, why: "An operation matches one task, and one value of each tag." };
  const match = {
    ...(statuses.length && { status: statuses[0] }), ...(tags.length && { tags: Object.fromEntries(tags) }),
    ...(filters.taskId && { taskId: filters.taskId[0] }),
  };
  return { match: Object.keys(match).length ? match : { all: true } };
}

const COLUMNS = [
  { title: "Job", isHead: true, className: "name", cell: ({ jobId, name }) => html`<${JobLink} id=${jobId} />${name && name !== jobId && html`<span class="quiet break short" title=${name}>${name}</span>`}` },
  { title: "Status", cell: ({ status }) => html`<${State} of=${status} />` },
  { title: "Schedule", className: "wide", cell: (job) => html`<${Schedule} job=${job} />` },
  { title: "Next", cell: ({ nextRunAt, timezone }) => (nextRunAt ? html`<${Time} at=${nextRunAt} zone=${timezone} /><br /><${Away} at=${nextRunAt} />` : html`<span class="quiet">None</span>`) },
  { title: "Last 8", cell: ({ recent, running }) => html`<${Outcomes} recent=${recent} running=${running} />` },
  { title: "Tags", cell: ({ tags }) => html`<span class="tags">${Object.entries(tags).map(([name, value]) => html`<${Tag} key=${name} name=${name} value=${value} />`)}</span>` },
  { title: "Actions", isBare: true, className: "end-cell", cell: (job) => html`<${RowActions} job=${job} />` },
];

/** The schedule in the server's words; a cron also as it was written, with its zone. */
function Schedule({ job }) {
  const [choice] = useZone();
  const { scheduleText, cronExpression, timezone } = job;
  const isOther = choice !== "job" && timezone && zoneOf(timezone, choice) !== timezone;
  return html`<span class="break">${scheduleText}</span>${cronExpression && html`<br /><span class="raw"><code>${cronExpression}</code> <span class="quiet">${timezone ?? "UTC"}</span></span>`}
    ${isOther && cronExpression && html`<span class="quiet"> (its own zone)</span>`}`;
}

function RowActions({ job: { jobId, status, version } }) {
  const path = `/v1/jobs/${encodeURIComponent(jobId)}`;
  const isPaused = status === "paused";
  const ended = ENDED.includes(status) ? "The job has ended." : "";
  const turn = isPaused
    ? { name: "Resume", done: `${jobId} is resumed.`, touches: `${jobId} fires again by its schedule; what it missed follows its catch-up policy.`, undo: "Pause it again." }
    : { name: "Pause", done: `${jobId} is paused.`, touches: `${jobId} gets no new runs. A run under way goes on.`, undo: "Resume it; the fires in between follow its catch-up policy." };
  return html`<span class="buttons">
    <${Action} name="Run now" label=${`Run ${jobId} now`} title=${`Run ${jobId} now?`} role="submitter" why=${status === "cancelled" ? "The job is cancelled." : ""} done=${`${jobId} runs now.`}
      request=${{ method: "POST", path: `${path}/trigger`, isOnce: true }} touches=${`One run of ${jobId}, beside its schedule, with its payload.`} undo="Cancel the run while it has not ended. A call that has left cannot be taken back." />
    <${Action} ...${turn} label=${`${turn.name} ${jobId}`} title=${`${turn.name} ${jobId}?`} role="submitter" why=${ended}
      request=${{ method: "POST", path: `${path}/${isPaused ? "resume" : "pause"}`, ifMatch: `"${version}"` }} />
  </span>`;
}
