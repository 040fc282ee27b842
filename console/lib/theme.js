/** Dark or light: the system's choice, unless the reader has made one. */

import { keep, kept, useKept } from "./kept.js";

export const THEMES = ["system", "light", "dark"];

export function applyTheme() {
  const theme = kept("theme");
  const root = document.documentElement;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  else delete root.dataset.theme;
}

/** @returns {["system"|"light"|"dark", (theme: string) => void]} */
export function useTheme() {
  const theme = useKept("theme");
  const choose = (value) => {
    keep("theme", value);
    applyTheme();
  };
  return [THEMES.includes(theme) ? theme : "system", choose];
}
