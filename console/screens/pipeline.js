/** Pipeline: the jobs of a cycle and how far each is, beside the cycles before; run it again, or run it anew. */

import { html, useEffect, useMemo, useState } from "../vendor/htm-preact.js";
import { layered } from "../lib/layers.js";
import { useLive } from "../lib/live.js";
import { duration } from "../lib/time.js";
import { filter, go, href } from "../lib/url.js";
import { counted, look, plain } from "../lib/words.js";
import { Action } from "../parts/action.js";
import { Backfill } from "../parts/backfill.js";
import { Shape, State } from "../parts/badge.js";
import { Progress } from "../parts/bulk.js";
import { Loading, Refused } from "../parts/empty.js";
import { CycleLink, JobLink, RunLink } from "../parts/links.js";
import { Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/time.js";

const CYCLES = 8;
const DRAWN = 60; // jobs; more than that no eye can follow

const pathOf = (jobId, cycleId) => `/v1/cycles/${encodeURIComponent(jobId)}/${encodeURIComponent(cycleId)}`;

export default function Pipeline({ jobId, cycleId }) {
  const path = pathOf(jobId, cycleId);
  const { body, problem } = useLive(`${path}?limit=200`, { busy: ({ isOver }) => !isOver });
  const { body: job } = useLive(`/v1/jobs/${encodeURIComponent(jobId)}`);
  if (!body) return problem ? html`<${Refused} problem=${problem} />` : html`<${Loading} />`;
  const zone = job?.timezone;
  const count = (...states) => body.items.filter(({ status }) => states.includes(status)).length;
  const failed = count("failed", "blocked");
  const told = failed ? "failed" : body.isOver ? "succeeded" : "running";
  return html`
    <div class="head">
      <div><p class="quiet"><${JobLink} id=${jobId} /> · cycle</p>
        <h1 class="headline"><${State} of=${told} word=${failed ? `${failed} failed or blocked` : body.isOver ? "Over" : "Under way"} /> <${Time} at=${body.fireTime} zone=${zone} /></h1>
        <p class="quiet">${count("succeeded")} of ${counted(body.items.length, "job")} succeeded${body.isCut ? "; the graph has more jobs than are shown" : ""}.</p></div>
      <${Reruns} jobId=${jobId} path=${path} failed=${failed} zone=${zone} />
    </div>
    <${Progress} jobId=${jobId} />
    <${Drawing} items=${body.items} jobId=${jobId} />
    <${Jobs} items=${body.items} zone=${zone} />
    <${Grid} jobId=${jobId} cycleId=${cycleId} items=${body.items} zone=${zone} />`;
}

function Reruns({ jobId, path, failed, zone }) {
  const rerun = (mode) => ({ method: "POST", path: `${path}:rerun`, body: { mode } });
  const follow = ({ operationId }) => filter({ op: operationId });
  const undo = "A call that has left cannot be taken back. The former attempts stay in the history.";
  return html`<div class="buttons">
    <${Action} name="Rerun failed" role="operator" kind="primary" why=${failed ? "" : "No run of this cycle has failed."} title="Rerun what failed?" request=${rerun("failed")} undo=${undo}
      touches=${`The failed runs of this cycle. What they block goes on by itself: ${counted(failed, "job")} in all.`} done="The failed runs run again." onDone=${follow} />
    <${Action} name="Rerun failed and after" role="operator" why=${failed ? "" : "No run of this cycle has failed."} title="Rerun what failed, and all after it?" request=${rerun("failedAndDownstream")} undo=${undo}
      touches="The failed runs, and every run that depends on them, also those that have succeeded." done="They run again." onDone=${follow} />
    <${Action} name="Rerun all" role="operator" title="Rerun the whole cycle?" request=${rerun("all")} undo=${undo} touches="Every run of this cycle, in the order of the graph." done="The cycle runs again." onDone=${follow} />
    <${Action} name="Run a new cycle" role="submitter" title=${`Run ${jobId} and all after it now?`} request=${{ method: "POST", path: `/v1/jobs/${encodeURIComponent(jobId)}/trigger`, body: { downstream: true }, isOnce: true }}
      undo="Cancel its runs." touches=${`A cycle beside the schedule: ${jobId}, then all jobs that depend on it, by their rules.`} done="A new cycle is on its way." onDone=${({ cycleId }) => cycleId && go(href(["cycles", jobId, cycleId]))} />
    <${Backfill} jobId=${jobId} isGraph=${true} zone=${zone} />
  </div>`;
}

/** The graph, drawn in layers. The table below says the same. */
function Drawing({ items, jobId }) {
  const isDrawn = items.length > 1 && items.length <= DRAWN;
  const shape = items.map((one) => [one.jobId, ...one.dependsOn].join(" ")).join("\n");
  const drawn = useMemo(() => (isDrawn ? layered(items) : null), [shape]);
  if (!drawn) return null;
  const of = new Map(items.map((one) => [one.jobId, one]));
  return html`<${Panel} title="Graph"><div class="graph" tabindex="0" role="group" aria-label="Drawing of the graph">
    <svg width=${drawn.width} height=${drawn.height} viewBox=${`0 0 ${drawn.width} ${drawn.height}`}>
      ${drawn.edges.map(({ name, line }) => html`<path key=${name} class="edge" d=${line} />`)}
      ${drawn.nodes.map(({ id, x, y, width, height }) => {
        const { status, run } = of.get(id);
        const { word, tone } = look(status);
        const to = run ? href(["runs", run.runId]) : href(["jobs", id]);
        return html`<a key=${id} href=${to} aria-label=${`${id}: ${word}`} class=${`node tone-${tone} ${id === jobId ? "node-root" : ""}`} transform=${`translate(${x} ${y})`}>
          <title>${id}: ${word}</title><rect width=${width} height=${height} rx="6" />
          <text x="10" y="19" class="node-name">${short(id)}</text><text x="10" y="36" class="node-state">${word}</text>
        </a>`;
      })}
    </svg></div><//>`;
}

const short = (id) => (id.length > 22 ? `${id.slice(0, 21)}…` : id);

function Jobs({ items, zone }) {
  const columns = [
    { title: "Job", isHead: true, className: "name", cell: ({ jobId }) => html`<${JobLink} id=${jobId} />` },
    { title: "Status", cell: ({ status, run }) => (run ? html`<${RunLink} id=${run.runId}><${State} of=${status} /><//>` : html`<${State} of=${status} />`) },
    { title: "Why", className: "grow", cell: (one) => html`<${Because} ...${one} />` },
    { title: "Called", cell: ({ run }) => html`<${Time} at=${run?.startedAt} zone=${zone} />` },
    { title: "Took", className: "num", cell: ({ run }) => (run?.startedAt && run.finishedAt ? duration((Date.parse(run.finishedAt) - Date.parse(run.startedAt)) / 1000) : "–") },
  ];
  return html`<${Panel} title="Jobs of the cycle"><${Table} caption="Jobs of the cycle" columns=${columns} rows=${items} keyOf=${({ jobId }) => jobId} /><//>`;
}

function Because({ dependsOn, triggerRule, waitingFor, blockedBy, run }) {
  if (blockedBy) return html`Blocked by <${RunLink} id=${blockedBy.runId}>the failed run<//> of <${JobLink} id=${blockedBy.jobId} />.`;
  if (waitingFor.length) return html`Waits for ${waitingFor.map((id, index) => html`${index ? ", " : ""}<${JobLink} id=${id} />`)}.`;
  if (run?.reasonText) return run.reasonText;
  return dependsOn.length ? html`<span class="quiet">after ${dependsOn.join(", ")}${triggerRule === "allSucceeded" ? "" : `: ${plain(triggerRule).toLowerCase()}`}</span>` : "";
}

/** The newest cycles: jobs down, fire times across. */
function Grid({ jobId, cycleId, items, zone }) {
  const { body } = useLive(`/v1/jobs/${encodeURIComponent(jobId)}/runs?limit=${CYCLES}`);
  const newest = [...new Set((body?.items ?? []).map((run) => run.cycleId).filter(Boolean))].reverse();
  const [cycles, set] = useState({});
  if (newest.length < 2) return null;
  return html`<${Panel} title="Newest cycles">
    ${newest.map((id) => html`<${Cycle} key=${id} jobId=${jobId} cycleId=${id} onAnswer=${(answer) => set((before) => (before[id] === answer ? before : { ...before, [id]: answer }))} />`)}
    <div class="grid-scroll" tabindex="0" role="group" aria-label="Newest cycles"><table class="grid">
      <caption class="unseen">Newest cycles: jobs down, fire times across</caption>
      <thead><tr><td></td>${newest.map((id) => html`<th key=${id} scope="col" aria-current=${id === cycleId ? "true" : null}><${CycleLink} jobId=${jobId} cycleId=${id}>${cycles[id] ? html`<${Time} at=${cycles[id].fireTime} zone=${zone} />` : id}<//></th>`)}</tr></thead>
      <tbody>${items.map((one) => html`<tr key=${one.jobId}><th scope="row"><${JobLink} id=${one.jobId} /></th>
        ${newest.map((id) => html`<td key=${id}><${Cell} of=${cycles[id]?.items.find((other) => other.jobId === one.jobId)} /></td>`)}</tr>`)}</tbody>
    </table></div>
  <//>`;
}

function Cell({ of }) {
  if (!of) return html`<span class="quiet">–</span>`;
  const { word, shape, tone } = look(of.status);
  const inside = html`<span class=${`tone-${tone}`} title=${word}><${Shape} name=${shape} /><span class="unseen">${word}</span></span>`;
  return of.run ? html`<${RunLink} id=${of.run.runId}>${inside}<//>` : inside;
}

/** A column: asks for its cycle, and no more once it is over. */
function Cycle({ jobId, cycleId, onAnswer }) {
  const [isOver, end] = useState(false);
  const { body } = useLive(`${pathOf(jobId, cycleId)}?limit=200`, { isOff: isOver });
  useEffect(() => {
    if (!body) return;
    onAnswer(body);
    end(body.isOver);
  }, [body]);
  return null;
}
