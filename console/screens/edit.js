/** New and edit: what to call, when, and by which policies; the form and the JSON beside it are one request. */

import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { newOnce } from "../lib/api.js";
import { refresh, useLive } from "../lib/live.js";
import { allowChanges, call, permission, useSession } from "../lib/session.js";
import { MY_ZONE, timeText } from "../lib/time.js";
import { go, href } from "../lib/url.js";
import { hidesHeaders } from "../lib/words.js";
import { Button } from "../parts/action.js";
import { State } from "../parts/badge.js";
import { CopyAs } from "../parts/copy.js";
import { Loading, Refused } from "../parts/empty.js";
import { Field } from "../parts/form.js";
import { Panel } from "../parts/panel.js";
import { Time } from "../parts/time.js";
import { toast } from "../parts/toast.js";

const WHENS = [["cronExpression", "On a cron"], ["everySeconds", "At an interval"], ["delaySeconds", "After a delay"], ["scheduleAt", "At an instant"]];
const FIRST = { cronExpression: "0 9 * * 1-5", everySeconds: 3600, delaySeconds: 60, scheduleAt: "" };
const SCHEDULE = ["scheduleAt", "cronExpression", "timezone", "dstPolicy", "everySeconds", "anchorAt", "startAt", "endAt", "calendar"];
const POLICIES = [
  { name: "maxRetries", label: "Retries", kind: "number", none: "3" },
  { name: "timeoutSeconds", label: "Timeout of a call (s)", kind: "number", none: "300" },
  { name: "priority", label: "Priority", choices: ["normal", "high", "low"] },
  { name: "overlapPolicy", label: "While a run is live", choices: ["allow", "skip", "queueOne", "cancelOther"] },
  { name: "delivery", label: "Delivery", choices: ["at_least_once", "at_most_once"] },
  { name: "pauseAfterFailures", label: "Pause after failures", kind: "number", none: "never" },
  { name: "maxRuns", label: "End after runs", kind: "number", none: "never" },
];
const PREVIEW_WAIT_MS = 400;

/** A new job, or with an id the one to change. */
export default function Edit({ jobId }) {
  const path = jobId && `/v1/jobs/${encodeURIComponent(jobId)}`;
  const { body: job, problem } = useLive(path);
  const { body: revisions } = useLive(path && `${path}/revisions?limit=1`);
  const [before, keep] = useState(null); // what is changed: the settings and their version as they were first shown
  const [stale, expect] = useState(0); // the newest version that is known to be an old one
  useEffect(() => {
    const newest = revisions?.items[0];
    if (!before && newest?.after && newest.revision > stale) keep({ spec: newest.after, version: newest.revision });
  }, [revisions, before, stale]);
  if (!jobId) return html`<${Form} first=${{ cronExpression: FIRST.cronExpression, timezone: MY_ZONE, handler: "" }} />`;
  if (!before) return problem ? html`<${Refused} problem=${problem} />` : html`<${Loading} />`;
  return html`<${Form} jobId=${jobId} first=${before.spec} version=${before.version} newest=${job?.version} onReload=${() => (expect(before.version), keep(null), refresh())} />`;
}

function Form({ jobId, first, version, newest, onReload }) {
  const [spec, set] = useState(first);
  const [id, name] = useState("");
  const [problem, fail] = useState(null);
  const [isBusy, busy] = useState(false);
  const [once] = useState(newOnce);
  const allowed = permission("submitter", useSession());
  const change = (fields) => set((now) => Object.fromEntries(Object.entries({ ...now, ...fields }).filter(([, value]) => value !== undefined)));
  const request = jobId
    ? { method: "PATCH", path: `/v1/jobs/${encodeURIComponent(jobId)}`, body: patchOf(first, spec), ifMatch: `"${version}"` }
    : id ? { method: "PUT", path: `/v1/jobs/${encodeURIComponent(id)}`, body: spec, isNew: true } : { method: "POST", path: "/v1/jobs", body: spec, once };
  const save = async () => {
    busy(true);
    fail(null);
    try {
      if (allowed.asks) await allowChanges();
      const { body } = await call(request.method, request.path, request);
      toast(jobId ? "The job is changed." : "The job is made.");
      refresh();
      go(href(["jobs", body.jobId]));
    } catch (refused) {
      if (refused.status === undefined) throw refused;
      fail(refused);
      busy(false);
    }
  };
  const isUnchanged = jobId && !Object.keys(request.body).length;
  const isLost = jobId && (problem?.status === 412 || newest > version);
  const isTaken = !jobId && problem?.status === 412;
  const loses = jobId && losesNull(first.payload, spec.payload) ? "A change cannot store null inside the payload: leave that field out." : "";
  return html`
    <div class="head"><h1>${jobId ? html`Edit <span class="id">${jobId}</span>` : "New job"}</h1></div>
    ${isLost && html`<p class="note">The job was changed meanwhile, and your change would undo that. <button type="button" class="small" onClick=${onReload}>Begin again from its newest settings</button></p>`}
    <form class="columns" onSubmit=${(event) => event.preventDefault()}>
      <div class="column">
        <${What} spec=${spec} change=${change} isNew=${!jobId} id=${id} name=${name} />
        <${When} spec=${spec} change=${change} />
        <details class="panel"><summary>Policies</summary><div class="fields">${POLICIES.map((one) => html`<${Policy} key=${one.name} ...${one} spec=${spec} change=${change} />`)}</div></details>
      </div>
      <div class="column">
        <${Preview} spec=${spec} />
        <${Trial} spec=${spec} />
        <${Json} spec=${spec} set=${set} />
      </div>
    </form>
    ${loses && html`<p class="note" role="status">${loses}</p>`}
    ${isTaken ? html`<p class="note" role="alert">There is a job of this id: <a href=${href(["jobs", id, "edit"])}>edit it</a> instead.</p>` : problem && html`<${Refused} problem=${problem} />`}
    ${allowed.asks && html`<p class="note">Your session may only read so far. Saving allows changes for 30 minutes.</p>`}
    <div class="dialog-end"><${CopyAs} request=${request} />
      <span class="buttons"><a class="button" href=${jobId ? href(["jobs", jobId]) : "#/jobs"}>Cancel</a>
        <${Button} kind="primary" why=${allowed.why || loses || (isUnchanged ? "Nothing is changed." : "")} onClick=${() => isBusy || save()}>${jobId ? "Change the job" : "Make the job"}<//></span></div>`;
}

const isMap = (value) => value && typeof value === "object" && !Array.isArray(value);

/** Whether a map, at any depth, gets a null: a merge patch would remove the field instead. */
export function losesNull(before, after) {
  const former = isMap(before) ? before : {};
  return isMap(after) && Object.entries(after).some(([name, value]) => (value === null ? former[name] !== null : losesNull(former[name], value)));
}

/** The fields that differ, as a merge patch: null removes a field. The server merges maps at any depth. */
export function patchOf(before, after) {
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  const patch = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (same(before[name], after[name])) continue;
    const inside = isMap(before[name]) && isMap(after[name]) ? patchOf(before[name], after[name]) : null;
    if (!inside) patch[name] = after[name] ?? null;
    else if (Object.keys(inside).length) patch[name] = inside;
  }
  return patch;
}

function What({ spec, change, isNew, id, name }) {
  const url = spec.handler ?? (spec.target?.type === "http" ? spec.target.url : null);
  const write = (value) => change(spec.handler === undefined && spec.target ? { target: { ...spec.target, url: value } } : { handler: value });
  return html`<${Panel} title="What to call">
    ${isNew && html`<${Field} label="Id" hint="Optional; without it Timeball makes one."><input type="text" value=${id} spellcheck=${false} autocomplete="off" onInput=${(event) => name(event.target.value)} /><//>`}
    <${Field} label="Name"><input type="text" maxlength="200" value=${spec.name ?? ""} onInput=${(event) => change({ name: event.target.value || undefined })} /><//>
    ${url === null
      ? html`<p class="quiet">It calls ${spec.taskId ? `the task ${spec.taskId}` : `a target of the type ${spec.target?.type}`}: change that in the JSON.</p>`
      : html`<${Field} label="URL, or the id of a task" hint="Other targets, headers and secrets: in the JSON."><input type="text" inputmode="url" value=${url} placeholder="https://example.com/report" spellcheck=${false} onInput=${(event) => write(event.target.value)} /><//>`}
    <${Payload} spec=${spec} change=${change} />
  <//>`;
}

function Payload({ spec, change }) {
  const [text, write] = useState(spec.payload === undefined ? "" : JSON.stringify(spec.payload, null, 2));
  const [isWrong, wrong] = useState(false);
  const typed = (value) => {
    write(value);
    const payload = value.trim() ? parsed(value) : undefined;
    wrong(Boolean(value.trim()) && payload === undefined);
    if (!value.trim() || payload !== undefined) change({ payload });
  };
  return html`<${Field} label="Payload, as JSON" hint=${isWrong ? "This is no JSON; the last one that was is kept." : ""}>
    <textarea rows="3" spellcheck=${false} aria-invalid=${isWrong} value=${text} onInput=${(event) => typed(event.target.value)}></textarea><//>`;
}

function When({ spec, change }) {
  const kind = WHENS.find(([name]) => spec[name] !== undefined)?.[0];
  const choose = (name) => change({ ...Object.fromEntries(WHENS.map(([other]) => [other, undefined])), timezone: name === "cronExpression" ? spec.timezone ?? MY_ZONE : undefined, [name]: FIRST[name] });
  const whole = (name) => (event) => change({ [name]: event.target.value === "" ? "" : Number(event.target.value) });
  return html`<${Panel} title="When">
    <fieldset><legend class="unseen">When</legend><div class="chips">${WHENS.map(([name, label]) => html`<label key=${name} class="choice"><input type="radio" name="when" checked=${kind === name} onChange=${() => choose(name)} /> ${label}</label>`)}</div></fieldset>
    ${!kind && html`<p class="quiet">It runs ${spec.dependsOn ? "after other jobs" : "on events"}: see the JSON.</p>`}
    ${kind === "cronExpression" && html`<div class="fields">
      <${Field} label="Cron expression" hint="Minute, hour, day of the month, month, day of the week."><input type="text" value=${spec.cronExpression} spellcheck=${false} onInput=${(event) => change({ cronExpression: event.target.value })} /><//>
      <${Field} label="Time zone"><input type="text" list="zones" value=${spec.timezone ?? ""} spellcheck=${false} onInput=${(event) => change({ timezone: event.target.value || undefined })} /><//>
      <datalist id="zones">${Intl.supportedValuesOf("timeZone").map((zone) => html`<option key=${zone} value=${zone}></option>`)}</datalist></div>`}
    ${kind === "everySeconds" && html`<${Field} label="Seconds between fires"><input type="number" min="1" value=${spec.everySeconds} onInput=${whole("everySeconds")} /><//>`}
    ${kind === "delaySeconds" && html`<${Field} label="Seconds from now"><input type="number" min="0" value=${spec.delaySeconds} onInput=${whole("delaySeconds")} /><//>`}
    ${kind === "scheduleAt" && html`<${Field} label="Instant, with its offset" hint=${`Such as ${new Date(Date.now() + 3_600_000).toISOString().slice(0, 19)}Z`}><input type="text" value=${spec.scheduleAt} spellcheck=${false} onInput=${(event) => change({ scheduleAt: event.target.value })} /><//>`}
  <//>`;
}

function Policy({ name, label, kind, none, choices, spec, change }) {
  const value = spec[name] ?? "";
  if (choices) return html`<${Field} label=${label}><select value=${value || choices[0]} onChange=${(event) => change({ [name]: event.target.value })}>${choices.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select><//>`;
  return html`<${Field} label=${label}><input type=${kind} min="0" placeholder=${none} value=${value} onInput=${(event) => change({ [name]: event.target.value === "" ? undefined : Number(event.target.value) })} /><//>`;
}

/** The next five fires of the schedule, in its zone and in mine, after a pause in typing. */
function Preview({ spec }) {
  const asked = Object.fromEntries(SCHEDULE.filter((name) => spec[name] !== undefined && spec[name] !== "").map((name) => [name, spec[name]]));
  const [answer, hear] = useState(null);
  const [problem, fail] = useState(null);
  const text = JSON.stringify(asked);
  useEffect(() => {
    let isOver = false;
    const hasOne = asked.cronExpression || asked.everySeconds || asked.scheduleAt;
    if (!hasOne) return void (hear(null), fail(null));
    const timer = setTimeout(() => call("POST", "/v1/schedules:preview", { body: asked }).then(
      ({ body }) => isOver || (hear(body), fail(null)), (refused) => isOver || (hear(null), fail(refused))), PREVIEW_WAIT_MS);
    return () => ((isOver = true), clearTimeout(timer));
  }, [text]);
  if (!answer && !problem) return null;
  const other = spec.timezone && spec.timezone !== MY_ZONE ? MY_ZONE : "UTC";
  return html`<${Panel} title="Next fires">
    ${problem ? html`<${Refused} problem=${problem} />` : html`<p>${answer.scheduleText}</p><ol class="fires">${answer.items.map((fire) => html`<li key=${fire.fireTime}>
      <code>${fire.localTime.replace("T", " ")} ${fire.utcOffset}</code> <span class="quiet">= ${timeText(new Date(fire.fireTime), other)}</span>
      ${fire.note && html` · ${fire.note}`}${fire.reason && html` · it does not run: ${fire.reason}`}${fire.movedTo && html` · moved to <${Time} at=${fire.movedTo} zone=${spec.timezone} />`}</li>`)}</ol>`}
  <//>`;
}

/** One call of the target, shown whole. */
function Trial({ spec }) {
  const [answer, hear] = useState(null);
  const [problem, fail] = useState(null);
  const [isBusy, busy] = useState(false);
  const allowed = permission("operator", useSession());
  const body = Object.fromEntries(["handler", "target", "taskId", "payload"].filter((name) => spec[name] !== undefined).map((name) => [name, spec[name]]));
  const act = async () => {
    hear(null);
    fail(null);
    busy(true);
    try {
      if (allowed.asks) await allowChanges();
      hear((await call("POST", "/v1/targets:test", { body })).body);
    } catch (refused) {
      if (refused.status === undefined) throw refused;
      fail(refused);
    } finally {
      busy(false);
    }
  };
  const why = spec.handler === "" ? "Give a URL first." : hidesHeaders(spec) ? "Values of headers are not shown, so they would be left out: give them in the JSON first." : "";
  return html`<${Panel} title="Test call">
    <p class="quiet">Calls the target once, now, with the payload. Nothing is stored.</p>
    <div class="buttons"><${Button} kind="small" why=${allowed.why || why || (isBusy ? "It is being called." : "")} onClick=${act}>${allowed.asks ? "Allow changes and call" : "Call it"}<//></div>
    ${problem && html`<${Refused} problem=${problem} />`}
    ${answer && html`<p role="status"><${State} of=${answer.verdict === "failed" ? "failed" : "succeeded"} /> ${answer.error ?? ""}</p><pre tabindex="0" aria-label="The call and its answer">${JSON.stringify({ request: answer.request, response: answer.response, timings: answer.timings }, null, 2)}</pre>`}
  <//>`;
}

/** The request's body: another view of the form. */
function Json({ spec, set }) {
  const [text, write] = useState(null); // while it is no JSON
  const shown = text ?? JSON.stringify(spec, null, 2);
  const typed = (value) => {
    const next = parsed(value);
    const isMap = next && typeof next === "object" && !Array.isArray(next);
    write(isMap ? null : value);
    if (isMap) set(next);
  };
  return html`<details class="panel"><summary>JSON</summary>
    <${Field} label="The job, as JSON" hint=${text === null ? "" : "This is no JSON of a job yet."}><textarea rows="14" spellcheck=${false} value=${shown} onInput=${(event) => typed(event.target.value)}></textarea><//>
  </details>`;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
