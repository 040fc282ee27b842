/** The reader's preferences (zone, theme): kept by this browser. What the screen shows is in the URL instead. */

import { useEffect, useState } from "../vendor/htm-preact.js";

const heard = new Set();

/** @param {string} name @returns {string|null} */
export function kept(name) {
  try {
    return localStorage.getItem(`timeball.${name}`);
  } catch {
    return null; // a browser that keeps nothing
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(`timeball.${name}`, value);
  } catch {
    // It holds until the page is closed, if at all.
  }
  for (const one of heard) one();
}

/** A preference, rendered again when it changes. */
export function useKept(name) {
  const [value, set] = useState(() => kept(name));
  useEffect(() => {
    const one = () => set(kept(name));
    heard.add(one);
    addEventListener("storage", one);
    return () => {
      heard.delete(one);
      removeEventListener("storage", one);
    };
  }, [name]);
  return value;
}
