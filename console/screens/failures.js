/** Failures: what failed for good, grouped by cause; replay or discard a whole group. */

import { html, useState } from "../vendor/htm-preact.js";
import { useLive } from "../lib/live.js";
import { call, permission, useSession } from "../lib/session.js";
import { duration } from "../lib/time.js";
import { filter, searchOf, usePlace } from "../lib/url.js";
import { counted } from "../lib/words.js";
import { Button } from "../parts/action.js";
import { Shape } from "../parts/badge.js";
import { Batch } from "../parts/batch.js";
import { Empty, Loading, Refused } from "../parts/empty.js";
import { Chosen, Search } from "../parts/filters.js";
import { JobLink, RunLink } from "../parts/links.js";
import { Pages } from "../parts/table.js";
import { Away, Time } from "../parts/time.js";

const FILTERS = ["error", "jobId", "taskId", "reason"];
const AT_ONCE = 100;

const VERBS = {
  replay: {
    name: "Replay", kind: "primary", did: "replayed",
    touches: "get one more series of attempts each, with the payload that they had. What they block goes on once they succeed.",
    undo: "A call that has left cannot be taken back. Stop it, and the rest stays as it is; each run can be cancelled.",
  },
  discard: {
    name: "Discard", kind: "danger", did: "discarded",
    touches: "leave this list. They stay in the ledger as failed, and nothing is called.",
    undo: "Retry a run from its page: it is in the ledger.",
  },
};

export default function Failures() {
  const { query } = usePlace();
  const asked = Object.fromEntries(FILTERS.map((name) => [name, query.get(name)]));
  const [dealing, deal] = useState(null); // {verb, group, asked, isPart, asks}; it outlives the group
  const { body, problem } = useLive(`/v1/dead-letters:groups?${searchOf({ ...asked, limit: "200" })}`);
  const isFiltered = Object.values(asked).some(Boolean);
  const groups = body?.items ?? [];
  let inside = problem ? html`<${Refused} problem=${problem} />` : html`<${Loading} />`;
  if (body && !groups.length)
    inside = html`<${Empty} title=${isFiltered ? "No failure matches." : "Nothing has failed for good."}>
      <p>${isFiltered ? html`<a href="#/failures">Show all failures</a>` : "Runs that use up their retries appear here, until they are replayed or discarded."}</p><//>`;
  if (groups.length) inside = html`<ul class="groups">${groups.map((one) => html`<${Group} key=${one.fingerprint} group=${one} isOpen=${query.get("fingerprint") === one.fingerprint} asked=${asked} isPart=${Boolean(body.nextCursor)} deal=${deal} />`)}</ul>`;
  return html`
    <div class="head"><h1>Failures ${body && html`<span class="count">${groups.reduce((sum, { count }) => sum + count, 0)}${body.nextCursor ? "+" : ""}</span>`}</h1></div>
    <div class="filters"><${Search} name="error" label="Search errors" hint="Error contains…" />
      <${Chosen} of=${[{ name: "jobId", label: "job" }, { name: "taskId", label: "task" }, { name: "reason", label: "reason" }]} /></div>
    ${inside}
    ${body?.nextCursor && html`<p class="quiet">Groups of the newest 1,000 failures. Replay or discard some of them to see older ones.</p>`}
    ${dealing && html`<${Dealing} ...${dealing} onClose=${() => deal(null)} />`}`;
}

function Group({ group, isOpen, asked, isPart, deal }) {
  const { fingerprint, jobId, error, count, firstAt, lastAt } = group;
  const toggle = () => filter({ fingerprint: isOpen ? null : fingerprint });
  const columns = [
    { title: "Fire time", isHead: true, cell: (run) => html`<${RunLink} id=${run.runId}><${Time} at=${run.fireTime} /><//>` },
    { title: "Failed", cell: ({ diedAt }) => html`<${Time} at=${diedAt} />` },
    { title: "Attempts", className: "num", cell: ({ attempt }) => attempt },
    { title: "Status", className: "num", cell: ({ httpStatus }) => httpStatus ?? "–" },
    { title: "Error", className: "grow", cell: (run) => html`<span class="break">${run.error ?? run.reasonText}</span>` },
  ];
  return html`<li class="panel">
    <div class="group">
      <span class="state tone-bad"><${Shape} name="cross" />${atLeast(isPart)}${counted(count, "time")}</span>
      <div><p class="item-title"><${JobLink} id=${jobId} /></p><p class="break">${error}</p>
        <p class="quiet">${count > 1 ? html`first <${Time} at=${firstAt} /> · newest ` : ""}<${Time} at=${lastAt} /> · <${Away} at=${lastAt} />${count > 1 && html` · over ${duration((Date.parse(lastAt) - Date.parse(firstAt)) / 1000)}`}</p></div>
      <span class="buttons">
        <button type="button" class="small" aria-expanded=${isOpen} onClick=${toggle} aria-label=${`${isOpen ? "Hide" : "Show"} the runs of ${jobId}`}>${isOpen ? "Hide runs" : "Show runs"}</button>
        ${["replay", "discard"].map((verb) => html`<${Deal} key=${verb} verb=${verb} group=${group} asked=${asked} isPart=${isPart} deal=${deal} />`)}
      </span>
    </div>
    ${isOpen && html`<${Pages} caption=${`Failed runs of ${jobId}`} path="/v1/dead-letters" query=${{ ...asked, fingerprint }} columns=${columns} noun="run" keyOf=${({ runId }) => runId} />`}
  </li>`;
}

const atLeast = (isPart) => (isPart ? "at least " : "");

/** The button of an action on a group. */
function Deal({ verb, group, asked, isPart, deal }) {
  const { why, asks } = permission("operator", useSession());
  const { name } = VERBS[verb];
  return html`<${Button} kind="small" why=${why} label=${`${name} the ${atLeast(isPart)}${counted(group.count, "failure")} of ${group.jobId}`} onClick=${() => deal({ verb, group, asked, isPart, asks })}>${name}…<//>`;
}

/** The dialog of an action on a group. A hundred runs are a request. It takes what the filter shows of the group. */
function Dealing({ verb, group, asked, isPart, asks, onClose }) {
  const { name, kind, did, touches, undo } = VERBS[verb];
  const [perSecond, pace] = useState(10);
  const chosen = Object.fromEntries(Object.entries(asked).filter(([, value]) => value));
  const body = { filter: { ...chosen, fingerprint: group.fingerprint }, ...(verb === "replay" && { perSecond }) };
  const path = `/v1/dead-letters:${verb}`;
  const next = async (cursor) => {
    const { body: answer } = await call("POST", path, { body: { ...body, limit: AT_ONCE, ...(cursor && { cursor }) } });
    return { done: answer.done, refused: answer.refused.length, cursor: answer.nextCursor };
  };
  return html`<${Batch} title=${`${name} this group?`} name=${name} kind=${kind} did=${did} about=${`${group.jobId}: ${group.error}`} undo=${undo} count=${group.count}
    touches=${html`<strong>${atLeast(isPart)}${counted(group.count, "run")}</strong>${Object.keys(chosen).length ? " that the filter shows" : ""}, and those that joined the group meanwhile: they ${touches}`}
    request=${{ method: "POST", path, body }} next=${next} asks=${asks} onClose=${onClose}>
    ${verb === "replay" && html`<dt><label for="pace">Pace</label></dt><dd><select id="pace" value=${perSecond} onChange=${(event) => pace(Number(event.target.value))}>
      ${[1, 5, 10, 50, 100].map((one) => html`<option key=${one} value=${one}>${one} a second</option>`)}</select></dd>`}
  <//>`;
}
