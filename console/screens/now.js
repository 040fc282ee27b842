/** Now: is Timeball alive and on time, what needs somebody, what failed, what runs, and what comes in the next hour. */

import { html } from "../vendor/htm-preact.js";
import { useLive } from "../lib/live.js";
import { later } from "../lib/later.js";
import { FULL_AFTER_MS, bar, fires, headline, needs, signs } from "../lib/now.js";
import { duration, serverNow, useSecond } from "../lib/time.js";
import { hasOnlyExamples } from "../lib/tour.js";
import { CONCERNS, counted, matchText, waitsForRun, waitsText, willNotText } from "../lib/words.js";
import { Action } from "../parts/action.js";
import { Shape, State } from "../parts/badge.js";
import { Loading, Refused } from "../parts/empty.js";
import { FailuresLink, JobLink, RunLink } from "../parts/links.js";
import { Panel } from "../parts/panel.js";
import { Away, Since, Time } from "../parts/time.js";

const MOST_FIRES = 25;
const Tour = later(() => import("../parts/tour.js"));

export default function Now() {
  const { body, at, problem } = useLive("/v1/now", { busy: ({ running }) => running.length > 0, fullAfter: FULL_AFTER_MS });
  if (!body) return problem ? html`<${Refused} problem=${problem} />` : html`<${Loading} />`;
  const seen = signs(body, Math.max(at, Date.parse(body.asOf)) - FULL_AFTER_MS);
  const { text, tone } = headline(body, seen);
  return html`
    <h1 class="headline"><span class=${`tone-${tone}`}><${Shape} name=${tone === "good" ? "check" : "warning"} /></span> ${text}</h1>
    <${Health} body=${body} seen=${seen} />
    ${hasOnlyExamples(body) && html`<${Tour} />`}
    <div class="columns">
      <div class="column">
        <${Needs} all=${body.needsAttention} />
        <${Failed} groups=${body.deadLetterGroups} />
      </div>
      <div class="column">
        <${Running} runs=${body.running} />
        <${Next} body=${body} />
        <${Freezes} all=${body.freezes} />
      </div>
    </div>`;
}

/** The health strip. */
function Health({ body, seen }) {
  const { lastTickAt, oldestDueAt, lateness } = body.health;
  const sign = (isGood, shape) => html`<span class=${isGood ? "tone-good" : "tone-bad"}><${Shape} name=${isGood ? "check" : shape} /></span>`;
  const p99 = lateness?.p99 ?? null;
  return html`<dl class="strip" aria-label="Health">
    <div><dt>Scheduler</dt><dd>${sign(seen.alive, "cross")} ${seen.alive ? "Ticking" : "Not ticking"}</dd>
      <dd class="quiet">${lastTickAt ? html`last tick <${Time} at=${lastTickAt} />` : "it has never ticked"}</dd></div>
    <div><dt>Lateness of the last hour</dt><dd>${p99 === null ? "–" : html`${sign(seen.punctual, "clock")} p99 ${duration(p99)}`}</dd>
      <dd class="quiet">${p99 === null ? "no run has started" : `half of the runs within ${duration(lateness.p50 ?? 0)}`}</dd></div>
    <div><dt>Oldest due</dt><dd>${sign(!seen.overdue, "clock")} ${oldestDueAt ? html`<${Time} at=${oldestDueAt} />` : "Nothing is overdue"}</dd>
      <dd class="quiet">${oldestDueAt ? html`<${Away} at=${oldestDueAt} />` : "all that was due is processed"}</dd></div>
    <div><dt>Next hour</dt><dd>${body.nextCount === null ? "…" : `${body.nextCountExact ? "" : "more than "}${counted(body.nextCount, "fire")}`}</dd>
      <dd class="quiet">${body.digestAt ? html`counted at <${Time} at=${body.digestAt} />` : "the jobs are being read"}</dd></div>
  </dl>`;
}

/** What is late, stuck, blocked, failing or silent: an entry for each job. */
function Needs({ all }) {
  const jobs = needs(all);
  return html`<${Panel} title="Needs you" count=${jobs.length && counted(jobs.length, "job")}>
    ${all.length === 0 && html`<p class="fine"><span class="tone-good"><${Shape} name="check" /></span> Nothing is late, stuck, blocked, failing or silent.</p>`}
    <ul class="list">${jobs.map(({ jobId, concerns }) => html`<li key=${jobId} class="item item-of-job">
      <p class="item-title"><${JobLink} id=${jobId} /></p>
      <ul>${concerns.map((one) => html`<li key=${one.kind} class="concern"><${State} of=${one.kind} /><${Concern} ...${one} /></li>`)}</ul>
    </li>`)}</ul>
  <//>`;
}

function Concern({ kind, since, runId, waitsFor, count }) {
  const isWaiting = kind === "late" || kind === "blocked";
  return html`<div class="item-main">
    <p>${count > 1 && `${counted(count, "run")}: `}${CONCERNS[kind] ?? ""}${isWaiting && `. ${waitsText(waitsFor)}`}
      ${isWaiting && waitsForRun(waitsFor) && html` <${RunLink} id=${waitsFor.ref} />`}</p>
    <p class="quiet">since <${Time} at=${since} /> · <${Away} at=${since} />${runId && html` · <${RunLink} id=${runId}>the run<//>`}</p>
  </div>`;
}

/** The newest dead letters, grouped by their cause. */
function Failed({ groups }) {
  if (!groups.length) return null;
  return html`<${Panel} title="Failed for good" count=${groups.reduce((sum, { count }) => sum + count, 0)}>
    <ul class="list">${groups.map((one) => html`<li key=${one.fingerprint} class="item">
      <span class="item-state"><span class="state tone-bad"><${Shape} name="cross" />${counted(one.count, "time")}</span></span>
      <div class="item-main">
        <p class="item-title"><${JobLink} id=${one.jobId} /></p>
        <p class="break">${one.error}</p>
        <p class="quiet">${one.count > 1 ? html`first <${Time} at=${one.firstAt} /> · newest ` : ""}<${Time} at=${one.lastAt} /> · <${Away} at=${one.lastAt} /> · <${FailuresLink} query=${{ fingerprint: one.fingerprint }}>the group<//></p>
      </div>
    </li>`)}</ul>
    <p class="quiet">Groups of the newest 30. <${FailuresLink}>All failures<//></p>
  <//>`;
}

/** What runs, each against what its job usually takes. */
function Running({ runs }) {
  return html`<${Panel} title="Running" count=${runs.length}>
    ${runs.length === 0 && html`<p class="quiet">No run has been under way for more than some seconds.</p>`}
    <ul class="list">${runs.map((one) => html`<${Run} key=${one.runId} ...${one} />`)}</ul>
  <//>`;
}

function Run({ runId, jobId, status, attempt, startedAt, claimedAt, p95Seconds }) {
  const now = useSecond();
  const begunAt = startedAt ?? claimedAt;
  const seconds = begunAt ? Math.max(0, (now - Date.parse(begunAt)) / 1000) : 0;
  const { part, mark, isLong } = bar(seconds, p95Seconds);
  return html`<li class="item">
    <span class="item-state"><${State} of=${status} /></span>
    <div class="item-main">
      <p class="item-title"><${JobLink} id=${jobId} /> <span class="quiet">attempt ${attempt} · <${RunLink} id=${runId}>the run<//></span></p>
      ${mark !== null && html`<svg class=${`run-bar ${isLong ? "tone-warn" : "tone-live"}`} width="100%" height="6" aria-hidden="true">
        <rect class="run-bar-back" width="100%" height="6" rx="3" /><rect class="run-bar-part" width=${`${part}%`} height="6" rx="3" />
        <rect class="run-bar-mark" x=${`${mark}%`} width="2" height="6" />
      </svg>`}
      <p class="quiet">for <${Since} at=${begunAt} /> ${p95Seconds
        ? html`<span class=${isLong ? "tone-warn" : ""}>${isLong ? "· longer than usual: " : "· usually "}95 % take at most ${duration(p95Seconds)}</span>`
        : "· how long it usually takes is not known yet"}</p>
    </div>
    <${Action} name="Cancel" label=${`Cancel the run of ${jobId}`} title=${`Cancel this run of ${jobId}?`} role="operator" kind="small danger" done="The run is asked to stop."
      request=${{ method: "POST", path: `/v1/runs/${encodeURIComponent(runId)}/cancel` }}
      touches="This run alone. It is asked to stop; a call that has left is not called back." undo="Retry the run, or run the job now." />
  </li>`;
}

/** The next hour: first what will not run, then what will. */
function Next({ body }) {
  useSecond();
  if (!body.digestAt) return html`<${Panel} title="Next hour"><p class="quiet">The jobs are being read, 1,000 with each request.</p><//>`;
  const { will, willNot } = fires(body.next, serverNow());
  const shown = will.slice(0, MOST_FIRES);
  return html`
    ${willNot.length > 0 && html`<${Panel} title="Will not run in the next hour" count=${willNot.length}>
      <ul class="list">${willNot.map((one) => html`<li key=${one.name} class="item">
        <span class="item-state"><${State} of=${one.reason} /></span>
        <div class="item-main"><p class="item-title"><${JobLink} id=${one.jobId} /></p><p>${willNotText(one.reason)}</p>
          <p class="quiet"><${Time} at=${one.fireTime} />${one.count > 1 ? `, and ${counted(one.count - 1, "more fire")}` : ""}</p></div>
      </li>`)}</ul>
    <//>`}
    <${Panel} title="Next hour" count=${will.length ? counted(will.length, "job") : ""}>
      ${will.length === 0 && html`<p class="quiet">Nothing fires in the next hour.</p>`}
      <ul class="list">${shown.map((one) => html`<li key=${one.name} class="fire">
        <${JobLink} id=${one.jobId} />
        <span class="fire-more quiet">${one.needsEvent && "only if an event comes before; "}${one.count > 1 && html`${one.count - 1} more until <${Time} at=${one.last} />`}</span>
        <${Time} at=${one.at} /><${Away} at=${one.at} />
      </li>`)}</ul>
      ${will.length > shown.length && html`<p class="quiet">And ${counted(will.length - shown.length, "more job")} later.</p>`}
    <//>`;
}

/** The freezes that are not over. */
function Freezes({ all }) {
  if (!all.length) return null;
  return html`<${Panel} title="Freezes" count=${all.length}>
    <ul class="list">${all.map((one) => html`<li key=${one.freezeId} class="item">
      <span class="item-state"><${State} of=${one.status} /></span>
      <div class="item-main">
        <p class="item-title">${matchText(one.match)}</p>
        ${one.reason && html`<p class="break">${one.reason}</p>`}
        <p class="quiet"><${Time} at=${one.from} /> until ${one.to ? html`<${Time} at=${one.to} /> · <${Away} at=${one.to} />` : "it is lifted"}</p>
      </div>
      <${Action} name="Lift" label=${`Lift the freeze of ${matchText(one.match)}`} title=${`Lift the freeze of ${matchText(one.match)}?`} role="operator" done="The freeze is lifted."
        request=${{ method: "DELETE", path: `/v1/freezes/${encodeURIComponent(one.freezeId)}` }}
        touches=${`${matchText(one.match)}: fires start again within seconds; those that were held follow their catch-up policies.`}
        undo="Make the freeze again." />
    </li>`)}</ul>
  <//>`;
}
