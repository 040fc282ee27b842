/** Act on all runs of a ledger that match its filter: they are counted before, and each gets a request of its own. */

import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { call, permission, useSession } from "../lib/session.js";
import { searchOf } from "../lib/url.js";
import { counted, look } from "../lib/words.js";
import { Button } from "./action.js";
import { Batch } from "./batch.js";
import { walk } from "./bulk.js";

const VERBS = {
  retry: {
    name: "Retry", of: ["failed"], did: "retried",
    touches: "get one more series of attempts each, now. Runs that they block go on once they succeed.", undo: "Cancel a run before its call leaves.",
  },
  cancel: {
    name: "Cancel", kind: "danger", of: ["queued", "running", "retrying"], did: "cancelled, or asked to stop",
    touches: "are cancelled. A call that has left is asked to stop, and not called back.", undo: "Retry a run from its page, or run the job now.",
  },
};

/**
 * What can be done with all runs of the chosen statuses: a filter for failed ones retries, one for live ones cancels.
 * @param {{path: string, status: string|null}} props the path of a job's runs, and the statuses of the filter
 */
export function ActOnRuns({ path, status }) {
  const [chosen, choose] = useState(null); // {verb, path, status, asks}: what the filter was then
  const { why, asks } = permission("operator", useSession());
  const statuses = (status ?? "").split(",").filter(Boolean);
  const fitting = Object.entries(VERBS).filter(([, { of }]) => statuses.length && statuses.every((one) => of.includes(one)));
  return html`<span class="buttons">${fitting.map(([verb, one]) => html`<${Button} key=${verb} kind=${`small ${one.kind ?? ""}`} why=${why} onClick=${() => choose({ verb, path, status, asks })}>${one.name} all that match…<//>`)}</span>
    ${chosen && html`<${All} ...${chosen} onClose=${() => choose(null)} />`}`;
}

function All({ verb, path, status, asks, onClose }) {
  const { name, did, undo, touches, kind } = VERBS[verb];
  const [{ ids, isWhole, problem }, find] = useState({ ids: [], isWhole: false });
  useEffect(() => {
    let isOver = false;
    const found = [];
    const step = (items, isLast) => found.push(...items.map(({ runId }) => runId)) && !isOver && find({ ids: [...found], isWhole: isLast });
    walk(`${path}?${searchOf({ status, limit: "200" })}`, () => isOver, step).then(() => isOver || find({ ids: found, isWhole: true }), (refused) => isOver || find({ ids: [], isWhole: true, problem: refused }));
    return () => (isOver = true);
  }, []);
  const request = (id) => ({ method: "POST", path: `/v1/runs/${encodeURIComponent(id)}/${verb}` });
  const next = async (at) => {
    const index = at ?? 0;
    const cursor = index + 1 < ids.length ? index + 1 : null;
    try {
      await call("POST", request(ids[index]).path);
    } catch (refused) {
      if (![404, 409, 412].includes(refused.status)) throw refused;
      return { done: 0, refused: 1, cursor };
    }
    return { done: 1, refused: 0, cursor };
  };
  return html`<${Batch} name=${`${name} all`} title=${`${name} all that match?`} kind=${kind} did=${did} undo=${undo} count=${ids.length} next=${next} asks=${asks} onClose=${onClose}
    about=${`Runs that are ${status.split(",").map((one) => look(one).word.toLowerCase()).join(" or ")}. Keep this page open until it has ended.`}
    whyNot=${problem?.message ?? (!isWhole ? "They are being counted." : ids.length ? "" : "No run matches.")} request=${request(ids[0] ?? "…")}
    touches=${html`<strong>${counted(ids.length, "run")}${isWhole ? "" : " so far"}</strong> ${problem ? problem.message : touches}`} />`;
}
