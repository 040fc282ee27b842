/** The tour of an empty tenant: examples that make real jobs by one click, and take them away again. */

import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { useLive } from "../lib/live.js";
import { EXAMPLES, isExample } from "../lib/tour.js";
import { go, href } from "../lib/url.js";
import { hasScreen } from "../screens.js";
import { Action } from "./action.js";
import { State } from "./badge.js";
import { JobLink } from "./links.js";
import { Outcomes } from "./outcomes.js";

const isBusy = ({ items }) => items.some(({ running }) => running.length > 0);
const OPEN = ["pending", "running", "paused", "blocked"];

export default function Tour() {
  const [hasOthers, found] = useState(false);
  const { body } = useLive("/v1/jobs?limit=10&fields=summary", { busy: isBusy, isOff: hasOthers });
  useEffect(() => found(Boolean(body) && (Boolean(body.nextCursor) || !body.items.every(isExample))), [body]);
  if (!body || hasOthers) return null;
  const jobs = new Map(body.items.map((job) => [job.jobId, job]));
  return html`<section class="tour" aria-labelledby="tour">
    <h2 id="tour">${jobs.size ? "Your examples" : "There is no job yet. Begin with an example"}</h2>
    <ol class="examples">${EXAMPLES.map((one) => html`<${Example} key=${one.title} example=${one} found=${one.jobs.map(({ jobId }) => jobs.get(jobId)).filter(Boolean)} />`)}</ol>
  </section>`;
}

function Example({ example: { title, text, touches, jobs }, found }) {
  const isOpen = found.some(({ status }) => OPEN.includes(status));
  const hasEnded = found.length > 0 && !isOpen && found.some(({ status }) => status !== "cancelled");
  const last = jobs[jobs.length - 1];
  const jobPath = ({ jobId }) => `/v1/jobs/${encodeURIComponent(jobId)}`;
  const shown = () => hasScreen("job") && go(href(["jobs", jobs[0].jobId]));
  return html`<li class="panel">
    <h3>${title}</h3>
    <p class="quiet">${text}</p>
    ${found.map((job) => html`<p class="example-job" key=${job.jobId}><${JobLink} id=${job.jobId} /> <${State} of=${job.status} /> <${Outcomes} recent=${job.recent} running=${job.running} /></p>`)}
    <div class="buttons">
      ${!isOpen && !hasEnded && html`<${Action} name="Create it" label=${`Create the example: ${title}`} title=${`${title}?`} role="submitter" kind="primary"
        touches=${touches} undo="“Take it away” stands here afterwards." done="The example is there." onDone=${shown}
        request=${{ method: "PUT", path: jobPath(last), body: last.body }} before=${jobs.slice(0, -1).map((job) => ({ method: "PUT", path: jobPath(job), body: job.body }))} />`}
      ${hasEnded && html`<${Action} name="Run it again" label=${`Run again: ${title}`} role="submitter" touches="One more run of it." undo="It runs once; nothing is left to take back."
        done="It runs again." onDone=${shown} request=${{ method: "POST", path: `${jobPath(last)}/trigger`, isOnce: true }} />`}
      ${isOpen && html`<${Action} name="Take it away" label=${`Take away: ${title}`} role="submitter" touches=${jobs.length > 1 ? "Both jobs end for good. Their history stays." : "The job ends for good. Its history stays."}
        undo="Create the example again." done="The example is gone." request=${{ method: "DELETE", path: `${jobPath(jobs[0])}${jobs.length > 1 ? "?children=cancel" : ""}` }} />`}
    </div>
  </li>`;
}
