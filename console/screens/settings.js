/** Settings: who I am and what I may, API keys, limits, calendars, freezes, tenants, and what was changed by whom. */

import { html, useRef, useState } from "../vendor/htm-preact.js";
import { refresh, useLive } from "../lib/live.js";
import { allowChanges, call, permission, useSession } from "../lib/session.js";
import { MY_ZONE, serverNow } from "../lib/time.js";
import { filter, href, usePlace } from "../lib/url.js";
import { counted, hidesHeaders, matchText, plain } from "../lib/words.js";
import { Action, Button, Dialog } from "../parts/action.js";
import { State } from "../parts/badge.js";
import { Copy, CopyAs } from "../parts/copy.js";
import { Empty, Loading, Refused } from "../parts/empty.js";
import { Chosen, Search } from "../parts/filters.js";
import { FormAction } from "../parts/form.js";
import { JobLink, RunLink } from "../parts/links.js";
import { Panel } from "../parts/panel.js";
import { Pages, Table } from "../parts/table.js";
import { Away, Time } from "../parts/time.js";

const PARTS = [["", "Me"], ["keys", "API keys", "admin"], ["limits", "Limits"], ["calendars", "Calendars"], ["tasks", "Tasks"], ["freezes", "Freezes"], ["tenants", "Tenants", "admin"], ["changes", "Changes"]];
const ROLES = ["viewer", "submitter", "operator", "worker", "admin"];

export default function Settings({ part = "" }) {
  const Part = { "": Me, keys: Keys, limits: Limits, calendars: Calendars, tasks: Tasks, freezes: Freezes, tenants: Tenants, changes: Changes }[part];
  const needs = PARTS.find(([name]) => name === part)?.[2];
  const { role, keyRole } = useSession();
  const [problem, fail] = useState(null);
  const [isShowing, showing] = useState(false); // a key that no later answer shows
  let inside = Part ? html`<${Part} showing=${showing} />` : html`<${Empty} title="There is no such part." />`;
  if (needs && keyRole !== needs) inside = html`<${Empty} title=${`This needs an ${needs}'s key.`}><p>You use the key of the role ${keyRole}.</p><//>`;
  else if (needs && role !== needs && !isShowing)
    inside = html`<${Empty} title="Your session may only read jobs and runs so far.">
      <p><button type="button" onClick=${() => allowChanges().then(() => fail(null), fail)}>Allow changes for 30 minutes</button></p>${problem && html`<${Refused} problem=${problem} />`}<//>`;
  return html`
    <div class="head"><h1>Settings</h1></div>
    <nav class="tabs" aria-label="Parts of the settings">${PARTS.map(([name, title]) => html`<a key=${title} href=${href(["settings", name].filter(Boolean))} aria-current=${name === part ? "page" : null}>${title}</a>`)}</nav>
    ${inside}`;
}

function Me() {
  const { body, problem } = useLive("/v1/me");
  if (!body) return problem ? html`<${Refused} problem=${problem} />` : html`<${Loading} />`;
  const rows = [
    ["Tenant", body.tenant], ["API key", html`<code>${body.keyId}</code> ${body.name ?? ""}`], ["Role now", body.role],
    ["Tags", Object.entries(body.tags).map(([name, value]) => `${name}:${value}`).join(", ") || "all jobs"],
    ["Ends", html`<${Time} at=${body.expiresAt} none="never" />`],
  ];
  return html`<${Panel} title="Me"><dl class="terms">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl><//>
    <${Panel} title="Limits of the tenant"><pre tabindex="0" aria-label="Limits of the tenant">${JSON.stringify(body.limits, null, 2)}</pre><//>`;
}

function Keys({ showing }) {
  const [isNew, begin] = useState(false);
  const columns = [
    { title: "Key", isHead: true, cell: ({ keyId, name }) => html`<code>${keyId}</code>${name && html`<br /><span class="quiet break">${name}</span>`}` },
    { title: "Role", cell: ({ role }) => role },
    { title: "Tags", cell: ({ tags }) => Object.entries(tags).map(([name, value]) => `${name}:${value}`).join(", ") || "–" },
    { title: "Made", cell: ({ createdAt }) => html`<${Time} at=${createdAt} />` },
    { title: "Ends", cell: ({ expiresAt, revokedAt }) => (revokedAt ? html`revoked <${Time} at=${revokedAt} />` : html`<${Time} at=${expiresAt} none="never" />`) },
    { title: "Actions", isBare: true, cell: ({ keyId, revokedAt }) => !revokedAt && html`<${Action} name="Revoke" label=${`Revoke ${keyId}`} title=${`Revoke ${keyId}?`} role="admin" kind="small danger" done="The key is revoked."
      request=${{ method: "DELETE", path: `/v1/admin/keys/${encodeURIComponent(keyId)}` }} touches="Requests with this key are refused within seconds, and its sessions end." undo="It cannot be taken back: make another key." />` },
  ];
  return html`<div class="head"><p class="quiet">A key is shown once, when it is made.</p><${MakeKey} isOpen=${isNew} open=${begin} showing=${showing} /></div>
    <${Pages} caption="API keys" path="/v1/admin/keys" query=${{}} columns=${columns} noun="key" keyOf=${({ keyId }) => keyId} />`;
}

/** Make a key, and show it once: from the request until it is closed, nothing else may take its place. */
function MakeKey({ isOpen, open, showing }) {
  const [name, write] = useState("");
  const [role, choose] = useState("submitter");
  const [made, keep] = useState(null);
  const [problem, fail] = useState(null);
  const isBusy = useRef(false);
  const allowed = permission("admin", useSession());
  const request = { method: "POST", path: "/v1/admin/keys", body: { role, ...(name && { name }) } };
  const close = () => (open(false), keep(null), fail(null), showing(isBusy.current));
  const act = async () => {
    if (isBusy.current) return;
    isBusy.current = true;
    fail(null);
    showing(true);
    try {
      if (allowed.asks) await allowChanges();
      keep((await call("POST", request.path, { body: request.body })).body);
      open(true); // it may have been closed meanwhile
      refresh();
    } catch (refused) {
      showing(false);
      if (refused.status === undefined) throw refused;
      fail(refused);
    } finally {
      isBusy.current = false;
    }
  };
  return html`<${Button} kind="primary" why=${allowed.why} onClick=${() => open(true)}>New key<//>
    ${isOpen && html`<${Dialog} title=${made ? "Copy the key now" : "New API key"} onClose=${close}>
      ${made ? html`<p>No later answer shows it.</p><pre tabindex="0" aria-label="The key" class="break">${made.key}</pre>`
        : html`<label class="field"><span>Name</span><input type="text" value=${name} onInput=${(event) => write(event.target.value)} /></label>
          <label class="field"><span>Role</span><select value=${role} onChange=${(event) => choose(event.target.value)}>${ROLES.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select></label>`}
      ${problem && html`<${Refused} problem=${problem} />`}
      <div class="dialog-end">${made ? html`<${Copy} text=${made.key} what="the key" />` : html`<${CopyAs} request=${request} />`}
        <span class="buttons"><button type="button" onClick=${close}>${made ? "Close" : "Cancel"}</button>${!made && html`<button type="button" class="primary" onClick=${act}>${allowed.asks ? "Allow changes and make it" : "Make it"}</button>`}</span></div>
    <//>`}`;
}

/** A limit by its name: the API lists none, so that one is asked for by name. */
function Limits() {
  const { query } = usePlace();
  const name = query.get("name");
  const { body, problem } = useLive(name ? `/v1/limits/${encodeURIComponent(name)}` : null);
  const columns = [
    { title: "Run", isHead: true, cell: ({ runId }) => html`<${RunLink} id=${runId} />` },
    { title: "Job", cell: ({ jobId }) => html`<${JobLink} id=${jobId} />` },
  ];
  return html`<div class="filters"><${Search} name="name" label="Name of a limit" hint="Name of a limit" /></div>
    ${!name && html`<p class="quiet">Jobs name the limits that they share: see <code>concurrencyLimit</code> and <code>rateLimit</code> in their settings.</p>`}
    ${name && problem && html`<${Refused} problem=${problem} />`}
    ${body && html`<dl class="strip" aria-label="Limit"><div><dt>At once</dt><dd>${body.limit ?? "–"}</dd></div><div><dt>A second</dt><dd>${body.perSecond ?? "–"}</dd></div><div><dt>Burst</dt><dd>${body.burst ?? "–"}</dd></div></dl>
      <${Panel} title="Has a slot" count=${body.holders.length}>${body.holders.length > 0 && html`<${Table} caption="Has a slot" columns=${columns} rows=${body.holders} keyOf=${({ runId }) => runId} />`}<//>
      <${Panel} title="Waits" count=${body.waiters.length}>${body.waiters.length > 0 && html`<${Table} caption="Waits" columns=${columns} rows=${body.waiters} keyOf=${({ runId }) => runId} />`}<//>`}`;
}

const number = (text) => (text === "" ? null : Number(text));
const parsed = (text) => (text.trim() ? JSON.parse(text) : null);
const indented = (value) => (value === null || value === undefined ? "" : JSON.stringify(value, null, 2));
const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
const ID = { name: "id", label: "Name", hint: "Letters, digits, - and _" };

const CALENDAR = {
  role: "operator", done: "The calendar is stored.",
  fields: [{ name: "timezone", label: "Time zone" }, { name: "dates", label: "Dates", rows: 8, hint: "One in a line; a range as 2026-12-28/2026-12-31." }],
  read: ({ timezone = MY_ZONE, dates = [], ranges = [] }) => ({ timezone, dates: [...dates, ...ranges.map(({ from, to }) => `${from}/${to}`)].join("\n") }),
  write: ({ timezone, dates }) => {
    const lines = dates.split(/\s+/).filter(Boolean).map((line) => line.split("/"));
    return { timezone, dates: lines.filter(({ length }) => length === 1).flat(), ranges: lines.filter(({ length }) => length > 1).map(([from, to]) => ({ from, to })) };
  },
};

function Calendars() {
  const at = (name) => `/v1/calendars/${encodeURIComponent(name)}`;
  const columns = [
    { title: "Calendar", isHead: true, cell: ({ name }) => html`<code>${name}</code>` },
    { title: "Zone", cell: ({ timezone }) => timezone },
    { title: "Changed", cell: ({ updatedAt }) => html`<${Time} at=${updatedAt} />` },
    { title: "Actions", isBare: true, cell: ({ name, version }) => html`<span class="buttons">
      <${FormAction} ...${CALENDAR} name="Change" label=${`Change ${name}`} title=${`Change the calendar ${name}?`} path=${at(name)} touches="Fires of all jobs that name it, within seconds." undo="Change it back: its revisions are kept." />
      <${Action} name="Delete" label=${`Delete ${name}`} title=${`Delete the calendar ${name}?`} role="operator" kind="small danger" done="The calendar is deleted."
        request=${{ method: "DELETE", path: at(name), ifMatch: `"${version}"` }} touches="This calendar. If a job names it, Timeball refuses." undo="Make it again under its name." /></span>` },
  ];
  return html`<div class="head"><p class="quiet">Jobs that name a calendar do not fire on its dates.</p>
      <${FormAction} ...${CALENDAR} name="New calendar" kind="primary" isNew=${true} fields=${[ID, ...CALENDAR.fields]} read=${(one) => ({ id: "", ...CALENDAR.read(one) })} path=${({ id }) => at(id)} touches="No job until one names it." undo="Delete it." /></div>
    <${Pages} caption="Calendars" path="/v1/calendars" query=${{}} columns=${columns} noun="calendar" keyOf=${({ name }) => name} />`;
}

const MORE = ["priority", "retryPolicy", "completion", "heartbeatSeconds", "payloadSchema", "tags"];
const TASK = {
  role: "operator", done: "The task is stored.",
  fields: [
    { name: "name", label: "Title" }, { name: "target", label: "Target, as JSON", rows: 5 }, { name: "timeoutSeconds", label: "Timeout of a call (s)", kind: "number" },
    { name: "maxRetries", label: "Retries", kind: "number" }, { name: "more", label: "All else, as JSON", rows: 5, hint: MORE.join(", ") },
  ],
  read: ({ name, target = { type: "http", url: "https://" }, timeoutSeconds = "", maxRetries = "", ...others }) => ({
    name: name ?? "", target: indented(shown(target)), timeoutSeconds, maxRetries, more: indented(given(Object.fromEntries(MORE.map((one) => [one, others[one]])))),
  }),
  write: ({ name, target, timeoutSeconds, maxRetries, more }) => {
    const body = given({ ...parsed(more), name: name || null, target: parsed(target), timeoutSeconds: number(timeoutSeconds), maxRetries: number(maxRetries) });
    if (hidesHeaders(body)) throw new Error("Values of headers are not shown: give them in the target, or they would be lost.");
    return body;
  },
};

/** A target as it is given: its headers are a map, whose values no answer shows. */
const shown = (target) => given({ ...target, headers: target.headers?.length ? Object.fromEntries(target.headers.map((one) => [one.name ?? one, null])) : null });

function Tasks() {
  const at = (id) => `/v1/tasks/${encodeURIComponent(id)}`;
  const columns = [
    { title: "Task", isHead: true, cell: ({ taskId, name }) => html`<code class="break">${taskId}</code>${name && html`<br /><span class="quiet break">${name}</span>`}` },
    { title: "Target", className: "grow", cell: ({ target }) => html`<span class="break">${target.url ?? plain(target.type)}</span>` },
    { title: "Changed", cell: ({ updatedAt }) => html`<${Time} at=${updatedAt} />` },
    { title: "Actions", isBare: true, cell: ({ taskId, version }) => html`<span class="buttons">
      <${FormAction} ...${TASK} name="Change" label=${`Change ${taskId}`} title=${`Change the task ${taskId}?`} path=${at(taskId)} touches="All jobs that name it: their runs that begin later." undo="Change it back." />
      <${Action} name="Delete" label=${`Delete ${taskId}`} title=${`Delete the task ${taskId}?`} role="operator" kind="small danger" done="The task is deleted."
        request=${{ method: "DELETE", path: at(taskId), ifMatch: `"${version}"` }} touches="This task. If an open job names it, Timeball refuses." undo="Register it again under its id." /></span>` },
  ];
  return html`<div class="head"><p class="quiet">A task is a target with policies that many jobs share.</p>
      <${FormAction} ...${TASK} name="New task" kind="primary" isNew=${true} fields=${[ID, ...TASK.fields]} read=${(one) => ({ id: "", ...TASK.read(one) })} path=${({ id }) => at(id)} touches="No job until one names it." undo="Delete it." /></div>
    <${Pages} caption="Tasks" path="/v1/tasks" query=${{}} columns=${columns} noun="task" keyOf=${({ taskId }) => taskId} />`;
}

function Freezes() {
  const { query } = usePlace();
  const isOver = query.get("over") === "true";
  const columns = [
    { title: "Freeze", isHead: true, className: "wide", cell: ({ match }) => html`<span class="break">${matchText(match)}</span>` },
    { title: "Status", cell: ({ status }) => html`<${State} of=${status} />` },
    { title: "From", cell: ({ from }) => html`<${Time} at=${from} />` },
    { title: "Until", cell: ({ to }) => html`<${Time} at=${to} none="it is lifted" />` },
    { title: "Reason", className: "grow", cell: ({ reason }) => html`<span class="break">${reason ?? ""}</span>` },
    { title: "Actions", isBare: true, cell: ({ freezeId, status, match }) => (status === "active" || status === "scheduled") && html`<${Action} name="Lift" label=${`Lift the freeze ${freezeId}`} title=${`Lift the freeze of ${matchText(match)}?`} role="operator" done="The freeze is lifted."
      request=${{ method: "DELETE", path: `/v1/freezes/${encodeURIComponent(freezeId)}` }} touches="Its jobs fire again within seconds; fires that were held follow their catch-up policies." undo="Make the freeze again." />` },
  ];
  return html`<div class="head"><label class="choice"><input type="checkbox" checked=${isOver} onChange=${() => filter({ over: isOver ? null : "true" })} /> Also those that are over</label><${NewFreeze} /></div>
    <${Pages} caption="Freezes" path="/v1/freezes" query=${{ over: isOver ? "true" : null }} columns=${columns} noun="freeze" keyOf=${({ freezeId }) => freezeId} />`;
}

/** A freeze of all jobs or of those with a tag, with what it would hold before it is made. */
function NewFreeze() {
  const [tag, write] = useState("");
  const [reason, say] = useState("");
  const [hours, last] = useState(1);
  const [held, hold] = useState(null); // the preview of the selection as it stands
  const [problem, fail] = useState(null);
  const [isSure, sure] = useState(false);
  const newest = useRef(0); // the selection that a preview is of
  const [key, value] = tag.split(/:(.*)/s);
  const body = { match: tag ? { tags: { [key]: value ?? "" } } : { all: true }, to: new Date(serverNow() + hours * 3_600_000).toISOString(), ...(reason && { reason }) };
  const isNoTag = Boolean(tag) && !(key && value);
  const whyNot = isNoTag ? "A tag has a colon, such as team:web." : !tag && !isSure ? "Tick that all jobs are meant, or give a tag." : "";
  const change = (set) => (event) => {
    newest.current += 1;
    hold(null);
    fail(null);
    set(event.target.value);
  };
  const look = () => {
    const mine = (newest.current += 1);
    const see = (answer, refused) => mine === newest.current && (hold(answer), fail(refused));
    call("POST", "/v1/freezes:preview", { body }).then((answer) => see(answer.body, null), (refused) => see(null, refused));
  };
  return html`<${Action} name="New freeze" isLive=${true} whyNot=${whyNot} title="Freeze jobs?" role="operator" kind="primary" request=${{ method: "POST", path: "/v1/freezes", body }} done="The freeze holds."
    undo="Lift the freeze." touches=${html`<label class="field"><span>Jobs with the tag (empty: all jobs)</span><input type="text" placeholder="team:web" value=${tag} onInput=${change(write)} /></label>
      ${isNoTag && html`<p class="tone-bad" role="status">${whyNot}</p>`}
      ${!tag && html`<label class="choice"><input type="checkbox" checked=${isSure} onChange=${() => sure(!isSure)} /> <strong>All jobs</strong> are frozen</label>`}
      <label class="field"><span>Hours from now</span><input type="number" min="1" max="720" value=${hours} onInput=${change((given) => last(Number(given) || 1))} /></label>
      <label class="field"><span>Why</span><input type="text" value=${reason} onInput=${(event) => say(event.target.value)} /></label>
      <button type="button" class="small" disabled=${isNoTag} onClick=${look}>What would it hold?</button>
      ${problem && html`<${Refused} problem=${problem} />`}
      ${held && html`<p role="status">${counted(held.items?.length ?? 0, "fire")}${held.nextCursor ? " and more" : ""}, first: ${(held.items ?? []).slice(0, 5).map((fire) => html`<br /><${JobLink} id=${fire.jobId} /> <${Time} at=${fire.fireTime} />`)}</p>`}`} />`;
}

const TENANT = {
  role: "admin", done: "The tenant is stored.", method: "PATCH",
  fields: [
    { name: "weight", label: "Weight, 1 to 100", kind: "number" }, { name: "quotas", label: "Quotas, as JSON", rows: 4, hint: "Only those to change; null takes the value of the settings." },
    { name: "defaults", label: "Defaults of its jobs, as JSON", rows: 4, hint: "timezone, priorityCeiling, notify; null removes one." },
  ],
  read: ({ weight = 1, defaults }) => ({ weight, quotas: "", defaults: indented(defaults && given(defaults)).replace(/^{}$/, "") }),
  write: ({ weight, quotas, defaults }) => given({ weight: number(weight), quotas: parsed(quotas), defaults: parsed(defaults) }),
};

function Tenants() {
  const { tenant } = useSession();
  const at = (name) => `/v1/admin/tenants/${encodeURIComponent(name)}`;
  const turn = (name, disabled) => (disabled
    ? { name: "Enable", touches: "Its jobs fire again, by their catch-up policies.", undo: "Disable it.", done: "The tenant is enabled." }
    : { name: "Disable", kind: "small danger", why: name === tenant ? "It is your own tenant." : "", touches: "Nothing of the tenant starts, and its keys are refused, within a minute.", undo: "Enable it.", done: "The tenant is disabled." });
  const columns = [
    { title: "Tenant", isHead: true, cell: ({ name }) => html`<code>${name}</code>` },
    { title: "Weight", className: "num", cell: ({ weight }) => weight },
    { title: "Disabled", cell: ({ disabledAt }) => html`<${Time} at=${disabledAt} none="no" />` },
    { title: "Made", cell: ({ createdAt }) => html`<${Time} at=${createdAt} />` },
    { title: "Actions", isBare: true, cell: ({ name, disabled }) => html`<span class="buttons">
      <${FormAction} ...${TENANT} name="Change" label=${`Change ${name}`} title=${`Change the tenant ${name}?`} path=${at(name)} touches="Its requests within a minute, and its new runs within seconds." undo="Change it back." />
      <${Action} ...${turn(name, disabled)} label=${`${disabled ? "Enable" : "Disable"} ${name}`} title=${`${disabled ? "Enable" : "Disable"} the tenant ${name}?`} role="admin" request=${{ method: "PATCH", path: at(name), body: { disabled: !disabled } }} /></span>` },
  ];
  return html`<div class="head"><p class="quiet">The admins of the operating tenant manage all tenants.</p>
      <${FormAction} ...${TENANT} name="New tenant" kind="primary" isNew=${true} method="POST" path="/v1/admin/tenants" fields=${[{ ...ID, hint: "Letters, digits and hyphens; it never changes." }, ...TENANT.fields]}
        read=${(one) => ({ id: "", ...TENANT.read(one) })} write=${({ id, ...values }) => ({ name: id, ...TENANT.write(values) })} touches="A tenant without a key: make its first one by the API." undo="Disable it, and delete it by the API." /></div>
    <${Pages} caption="Tenants" path="/v1/admin/tenants" query=${{}} columns=${columns} noun="tenant" keyOf=${({ name }) => name} />`;
}

/** What was changed, by whom, over all jobs. */
function Changes() {
  const { query } = usePlace();
  const columns = [
    { title: "When", isHead: true, cell: ({ at }) => html`<${Time} at=${at} /><br /><${Away} at=${at} />` },
    { title: "Who", className: "wide", cell: ({ actor }) => (actor ? html`<button type="button" class="tag" onClick=${() => filter({ actor: actor.keyId })}>${actor.keyId}</button><br /><span class="quiet">${actor.role}, ${actor.address}</span>` : "Timeball") },
    { title: "Action", cell: ({ action }) => plain(action) },
    { title: "What", className: "grow", cell: ({ resource, jobId }) => (resource.type === "job" ? html`<${JobLink} id=${jobId} />` : html`${plain(resource.type)} <code class="break">${resource.id}</code>${jobId && html` of <${JobLink} id=${jobId} />`}`) },
  ];
  return html`<div class="filters"><${Search} name="jobId" label="Job" hint="Id of a job" /><${Chosen} of=${[{ name: "actor", label: "by" }]} /></div>
    <${Pages} caption="Changes" path="/v1/changes" query=${{ jobId: query.get("jobId"), actor: query.get("actor") }} columns=${columns} noun="change" keyOf=${({ at, resource, action }) => `${at} ${resource.id} ${action}`} />`;
}
