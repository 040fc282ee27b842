/** The URL is the only state of a screen: its path says which, its query how it is filtered. Both are in the fragment. */

import { useEffect, useState } from "../vendor/htm-preact.js";

/** @typedef {{path: string, query: URLSearchParams}} Place */

/** @returns {Place} */
export function place() {
  const [path, query] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
  return { path: path || "/", query: new URLSearchParams(query ?? "") };
}

/** A link: each part of the path is encoded, and empty values of the query are left out. */
export function href(parts, query = {}) {
  const path = parts.map(encodeURIComponent).join("/");
  const search = searchOf(query).toString();
  return `#/${path}${search ? `?${search}` : ""}`;
}

/** @param {Record<string, string|string[]|null|undefined>} values @returns {URLSearchParams} */
export function searchOf(values) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    for (const one of [value].flat()) if (one !== null && one !== undefined && one !== "") search.append(name, one);
  return search;
}

/** Change the query: a value of null or "" removes it. `quietly`: without an entry in the history. */
export function filter(changes, { quietly = false } = {}) {
  const { path, query } = place();
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const one of [value].flat()) if (one !== null && one !== undefined && one !== "") query.append(name, one);
  }
  go(`#${path}${query.size ? `?${query}` : ""}`, { quietly });
}

export function go(hash, { quietly = false } = {}) {
  history[quietly ? "replaceState" : "pushState"](null, "", hash);
  dispatchEvent(new Event("timeball:place"));
}

/** The present place, rendered again when it changes. @returns {Place} */
export function usePlace() {
  const [now, set] = useState(place);
  useEffect(() => {
    const moved = () => set(place());
    const events = ["hashchange", "popstate", "timeball:place"];
    for (const event of events) addEventListener(event, moved);
    return () => events.forEach((event) => removeEventListener(event, moved));
  }, []);
  return now;
}
