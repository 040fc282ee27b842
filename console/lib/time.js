/** Instants for people: each with its zone, and all differences by the server's clock. */

import { useEffect, useState } from "../vendor/htm-preact.js";
import { keep, kept, useKept } from "./kept.js";

let ahead = null; // how far the server's clock is ahead of this machine's, in ms; null: it has not been heard

/** Note what the server says about its clock: an exact instant of an answer, else the header's whole second. */
export function heard(exact, date) {
  const [at, precision] = exact ? [Date.parse(exact), 250] : [Date.parse(date ?? "") + 500, 1500];
  if (Number.isNaN(at)) return;
  const seen = at - Date.now();
  if (ahead === null || Math.abs(seen - ahead) > precision) ahead = seen;
}

/** Now by the server's clock, in ms; by this machine's until the server is heard. */
export const serverNow = () => Date.now() + (ahead ?? 0);

/** Whether an instant has passed by the server's clock. This machine's may be wrong, so it decides nothing. */
export const hasPassed = (instant) => ahead !== null && Date.parse(instant) <= serverNow();

/** The choices of the zone switch. */
export const ZONES = ["job", "mine", "utc"];
export const MY_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** @returns {["job"|"mine"|"utc", (choice: string) => void]} */
export function useZone() {
  const choice = useKept("zone");
  return [ZONES.includes(choice) ? choice : "job", (value) => keep("zone", value)];
}

/** The zone in which to show a time of a job: by the switch; without a job's zone, mine. */
export function zoneOf(jobZone, choice = kept("zone")) {
  if (choice === "utc") return "UTC";
  return choice === "mine" ? MY_ZONE : jobZone || MY_ZONE;
}

const formats = new Map();

function format(zone, options) {
  const name = `${zone} ${options.timeZoneName}`;
  if (!formats.has(name)) {
    try {
      formats.set(name, new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone, hourCycle: "h23" }));
    } catch {
      formats.set(name, format("UTC", options)); // a zone that this browser does not know
    }
  }
  return formats.get(name);
}

function parts(at, zone, timeZoneName) {
  const options = {
    weekday: "short", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit",
    second: "2-digit", timeZoneName,
  };
  return Object.fromEntries(format(zone, options).formatToParts(at).map(({ type, value }) => [type, value]));
}

/** `14:02:10 CET` on the same day in that zone, otherwise `Tue 24 Nov 02:00:00 CET`, with the year if it differs. */
export function timeText(at, zone, now = serverNow()) {
  const one = parts(at, zone, "short");
  const clock = `${one.hour}:${one.minute}:${one.second} ${one.timeZoneName}`;
  const today = parts(now, zone, "short");
  if (one.year === today.year && one.month === today.month && one.day === today.day) return clock;
  const month = MONTHS[Number(one.month) - 1];
  const year = one.year === today.year ? "" : ` ${one.year}`;
  return `${one.weekday} ${Number(one.day)} ${month}${year} ${clock}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `2026-11-24 02:00:00 Europe/Berlin (GMT+01:00)`. */
export function fullText(at, zone) {
  if (zone === "UTC") return `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`; // many times faster
  const one = parts(at, zone, "longOffset");
  const clock = `${one.hour}:${one.minute}:${one.second}`;
  return `${one.year}-${one.month}-${one.day} ${clock} ${zone} (${one.timeZoneName})`;
}

/** A duration in two units: `350 ms`, `42 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(seconds) {
  if (seconds < 0.9995) return `${Math.round(Math.max(0, seconds) * 1000)} ms`;
  if (seconds < 9.95) return `${Math.round(seconds * 10) / 10} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const pair = (size, unit, lesser, lesserUnit) => {
    const rest = Math.floor((whole % size) / lesser);
    return `${Math.floor(whole / size)} ${unit}${rest ? ` ${rest} ${lesserUnit}` : ""}`;
  };
  if (whole < 3600) return pair(60, "min", 1, "s");
  return whole < 86400 ? pair(3600, "h", 60, "min") : pair(86400, "d", 3600, "h");
}

/** The distance of an instant from now in one unit: `3 s`, `4 min`, `2 h`, `3 d`. */
export function roughly(ms) {
  const seconds = Math.max(0, Math.floor(Math.abs(ms) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}

const ticking = new Set();
let timer = null;

function tick() {
  if (!document.hidden) for (const one of ticking) one();
}

/** Render the caller again each second while the page is visible; return now by the server's clock. */
export function useSecond() {
  const [, again] = useState(0);
  useEffect(() => {
    const one = () => again((count) => count + 1);
    ticking.add(one);
    timer ??= setInterval(tick, 1000);
    return () => {
      ticking.delete(one);
      if (!ticking.size) timer = void clearInterval(timer) ?? null;
    };
  }, []);
  return serverNow();
}
