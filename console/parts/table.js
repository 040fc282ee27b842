/** Tables: a caption that screen readers say, rows that turn into cards on a narrow screen, and pages that follow by
 * themselves. */

import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { searchOf } from "../lib/url.js";
import { useLive } from "../lib/live.js";
import { Empty, Refused } from "./empty.js";

/**
 * @typedef {object} Column
 * @property {string} title what stands above it; on a narrow screen beside each value
 * @property {(row: any) => any} cell
 * @property {string} [className] such as `num`, `wide`, `grow`
 * @property {boolean} [isHead] whether the cell names its row
 * @property {boolean} [isBare] whether the title is only for screen readers, as above buttons
 */

// A table that is displayed as blocks loses its roles in some browsers, so each part states its own.

function Rows({ columns, rows, keyOf }) {
  return rows.map((row) => html`<tr role="row" key=${keyOf(row)}>
    ${columns.map((column) => {
      const inside = column.cell(row);
      return column.isHead
        ? html`<th scope="row" role="rowheader" class=${column.className ?? ""} data-title=${column.title}><div>${inside}</div></th>`
        : html`<td role="cell" class=${column.className ?? ""} data-title=${column.isBare ? "" : column.title}><div>${inside}</div></td>`;
    })}
  </tr>`);
}

function Frame({ caption, columns, children }) {
  return html`<table role="table" class="table">
    <caption class="unseen">${caption}</caption>
    <thead role="rowgroup"><tr role="row">
      ${columns.map(({ title, className, isBare }) => html`<th scope="col" role="columnheader" class=${className ?? ""}>${isBare ? html`<span class="unseen">${title}</span>` : title}</th>`)}
    </tr></thead>
    ${children}
  </table>`;
}

/** @param {{caption: string, columns: Column[], rows: any[], keyOf: (row: any) => string}} props */
export function Table({ caption, columns, rows, keyOf }) {
  return html`<${Frame} caption=${caption} columns=${columns}>
    <tbody role="rowgroup"><${Rows} columns=${columns} rows=${rows} keyOf=${keyOf} /></tbody>
  <//>`;
}

/** So many rows are drawn at once, about a screenful; the others of a page follow in the next turn. */
const FIRST_ROWS = 15;

/** Call back when an element comes within sight, and when it leaves it. */
function useSight(margin) {
  const ref = useRef(null);
  const [isSeen, see] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => see(entry.isIntersecting), { rootMargin: margin });
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, isSeen];
}

function Page({ path, columns, keyOf, busy, isFirst, onAnswer }) {
  const [ref, isSeen] = useSight("200px");
  const last = useRef(null);
  const { body, problem } = useLive(path, { busy, isOff: !isSeen && last.current?.items.length > 0 });
  if (body) last.current = body;
  else if (isFirst && problem && !problem.passes) last.current = null;
  useEffect(() => onAnswer(last.current, problem), [body, problem]);
  const items = last.current?.items ?? [];
  const [most, show] = useState(FIRST_ROWS);
  useEffect(() => void (items.length > most && setTimeout(show, 0, Infinity)), [items.length]);
  return html`<tbody role="rowgroup" ref=${ref}>
    <${Rows} columns=${columns} rows=${items.slice(0, most)} keyOf=${keyOf} />
  </tbody>`;
}

/**
 * A list of the API as a table. The next page is asked for when the end of the list comes into sight; only pages in
 * sight, and an empty list, are kept current.
 * @param {{caption: string, columns: Column[], path: string, query: Record<string, any>, keyOf: (row: any) => string,
 *   busy?: (body: any) => boolean, noun?: string, empty?: any, onCount?: (count: number, isWhole: boolean) => void}} props
 */
export function Pages({ path, query, ...others }) {
  const search = searchOf({ limit: "50", ...query }).toString();
  return html`<${List} key=${`${path}?${search}`} path=${`${path}?${search}`} ...${others} />`;
}

function List({ caption, columns, path, keyOf, busy, noun = "item", empty, onCount }) {
  const [pages, set] = useState([{ cursor: null, next: undefined, count: 0 }]);
  const [problem, fail] = useState(null);
  const [end, isAtEnd] = useSight("400px");
  const last = pages[pages.length - 1];
  const isWhole = last.next === null;
  const count = pages.reduce((sum, page) => sum + page.count, 0);
  const answered = (index) => (body, failed) => {
    if (index === 0) fail(body ? null : failed);
    if (!body) return;
    set((before) => {
      const after = before.slice();
      after[index] = { ...after[index], next: body.nextCursor ?? null, count: body.items.length };
      if (index + 1 < after.length)
        if (body.nextCursor) after[index + 1] = { ...after[index + 1], cursor: body.nextCursor };
        else after.length = index + 1;
      return after;
    });
  };
  useEffect(() => {
    if (isAtEnd && last.next) set((before) => [...before, { cursor: last.next, next: undefined, count: 0 }]);
  }, [isAtEnd, last.next, pages.length]);
  useEffect(() => onCount?.(count, isWhole), [count, isWhole]);
  const isEmpty = isWhole && !count;
  // The pages stay mounted below a problem, and go on asking.
  return html`
    ${problem && html`<${Refused} problem=${problem} />`}
    ${isEmpty && !problem && (empty ?? html`<${Empty} title=${`No ${noun}s.`} />`)}
    <div aria-busy=${last.next === undefined} hidden=${isEmpty || Boolean(problem)}>
    <${Frame} caption=${caption} columns=${columns}>
      ${pages.map(({ cursor }, index) => html`<${Page} key=${index} columns=${columns} keyOf=${keyOf} busy=${busy} isFirst=${!index}
        path=${cursor ? `${path}&cursor=${encodeURIComponent(cursor)}` : path} onAnswer=${answered(index)} />`)}
    <//>
    <p class="end quiet" ref=${end} role="status">${isWhole ? `All ${count.toLocaleString("en-GB")} shown` : "Loading more…"}</p>
  </div>`;
}
