/** Run the fires of a past range again, of a job alone or of a whole graph: counted before, with progress after. */

import { html, useState } from "../vendor/htm-preact.js";
import { allowChanges, call, permission, useSession } from "../lib/session.js";
import { serverNow } from "../lib/time.js";
import { filter } from "../lib/url.js";
import { counted } from "../lib/words.js";
import { Action } from "./action.js";
import { Refused } from "./empty.js";
import { Field } from "./form.js";
import { Time } from "./time.js";

const DAY_MS = 86_400_000;
const minute = (at) => `${new Date(at).toISOString().slice(0, 16)}Z`;

/** @param {{jobId: string, isGraph?: boolean, zone?: string}} props `isGraph`: with all jobs that depend on it */
export function Backfill({ jobId, isGraph = false, zone }) {
  const [range, set] = useState({});
  const [plan, know] = useState(null); // the answer of a dry run, of the range as it stands
  const [problem, fail] = useState(null);
  const { asks } = permission("operator", useSession());
  const path = `/v1/jobs/${encodeURIComponent(jobId)}/backfills`;
  const body = { ...range, graph: isGraph };
  const change = (next) => (set(next), know(null), fail(null));
  const input = (name, label) => html`<${Field} label=${label}><input type="text" value=${range[name]} spellcheck=${false} onInput=${(event) => change({ ...range, [name]: event.target.value })} /><//>`;
  const count = async () => {
    try {
      if (asks) await allowChanges();
      const answer = await call("POST", path, { body: { ...body, dryRun: true } });
      set((now) => (now === range && know(answer.body), now));
    } catch (refused) {
      if (refused.status === undefined) throw refused;
      fail(refused);
    }
  };
  const what = isGraph ? "cycle" : "run";
  return html`<${Action} name="Backfill" isLive=${true} whyNot=${plan ? "" : "Count the fires first."} title=${`Run the past of ${jobId} again?`} role="operator" request=${{ method: "POST", path, body, isOnce: true }}
    onOpen=${() => change({ from: minute(serverNow() - DAY_MS), to: minute(serverNow()), paceSeconds: 1 })} done="The backfill has begun." onDone=${({ backfillId }) => filter({ backfill: backfillId })}
    touches=${html`${isGraph ? `${jobId}, and then all jobs that depend on it, run once for each fire of the range.` : "The job runs once for each fire of the range, beside its schedule."}
      <div class="fields">${input("from", "From, with its offset")}${input("to", "Until, not included")}
      <${Field} label="Seconds between starts"><input type="number" min="0" value=${range.paceSeconds} onInput=${(event) => change({ ...range, paceSeconds: Number(event.target.value) })} /><//></div>
      <button type="button" class="small" onClick=${count}>${asks ? "Allow changes and count" : "Count the fires"}</button>
      ${problem && html`<${Refused} problem=${problem} />`}
      ${plan && html`<p role="status"><strong>${counted(plan.total, what)}</strong>: from <${Time} at=${plan.from} zone=${zone} /> to <${Time} at=${plan.to} zone=${zone} /></p>`}`}
    undo="Stop the backfill: what waits is cancelled, and runs under way are asked to stop. A call that has left cannot be taken back." />`;
}
