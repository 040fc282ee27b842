/** Three examples for an empty tenant. Each calls Timeball's own health page, so it needs nothing else. */

import { BASE } from "./api.js";

const TAG = { example: "tour" };
const handler = { target: { type: "http", method: "GET", url: new URL("healthz", BASE).href }, tags: TAG };

/**
 * @typedef {object} Example
 * @property {string} title
 * @property {string} text
 * @property {{jobId: string, body: object}[]} jobs the parents first
 * @property {string} touches
 */

/** @type {Example[]} */
export const EXAMPLES = [
  {
    title: "Call a URL now",
    text: "A job without a schedule runs once, at once. Its run is a row of the ledger a few seconds later.",
    touches: "One job, which runs once.",
    jobs: [{ jobId: "example-now", body: { ...handler, name: "Example: call a URL now" } }],
  },
  {
    title: "Call it every minute",
    text: "A recurring job has a fire for each minute. Pause it, or skip a fire, and see what the next hour says.",
    touches: "One job, which runs every minute until you take it away.",
    jobs: [{ jobId: "example-minutely", body: { ...handler, name: "Example: every minute", cronExpression: "* * * * *" } }],
  },
  {
    title: "One after the other",
    text: "The second job runs when the first has succeeded, for each of its fires.",
    touches: "Two jobs. The first runs every five minutes, the second after it, until you take them away.",
    jobs: [
      { jobId: "example-first", body: { ...handler, name: "Example: the first", cronExpression: "*/5 * * * *" } },
      { jobId: "example-second", body: { ...handler, name: "Example: the second", dependsOn: ["example-first"] } },
    ],
  },
];

const IDS = new Set(EXAMPLES.flatMap(({ jobs }) => jobs.map(({ jobId }) => jobId)));

/** Whether all that an answer of `/v1/now` names are examples, so that the tenant may have no job of its own. */
export function hasOnlyExamples({ needsAttention, running, next, deadLetterGroups, digestAt }) {
  return Boolean(digestAt) && [needsAttention, running, next, deadLetterGroups].flat().every(({ jobId }) => IDS.has(jobId));
}

export const isExample = ({ jobId }) => IDS.has(jobId);
