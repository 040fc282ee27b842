/** Requests to the API: one function, and one kind of error that has a sentence for people. */

import { heard } from "./time.js";

/** The URL of the API, with a slash at its end, whether the page's has one or not. */
export const BASE = new URL(location.pathname.replace(/console\/?$/, ""), location.href);

/** How long an answer may take. The gateway waits 30 s for one, and a change that was sent has then taken effect or not. */
const READ_MS = 15_000;
const OTHER_MS = 35_000;

/** An answer that is no success: `message` is a sentence that a person can act on. Status 0: there was no answer. */
export class Problem extends Error {
  /** @param {number} status @param {{type?: string, detail?: string, title?: string, errors?: {field: string, message: string}[]}} body @param {number} retryAfter seconds */
  constructor(status, body = {}, retryAfter = 0) {
    super(sentence(status, body));
    this.status = status;
    this.kind = (body.type ?? "").replace("urn:timeball:problem:", "");
    this.fields = body.errors ?? [];
    this.body = body;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may succeed a little later. */
  get passes() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

function sentence(status, body) {
  if (status === 0) return navigator.onLine === false ? "You are offline." : "Timeball cannot be reached.";
  if (body.detail) return body.detail;
  if (status === 429) return "Too many requests: Timeball asks to wait.";
  if (status >= 500) return "Timeball cannot answer at present.";
  return body.title ?? `The request was refused (status ${status}).`;
}

/** An idempotency key: sent with each repetition of one request, so that it takes effect once. */
export function newOnce() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Send one request; throw a Problem for any answer but 2xx and 304.
 * @param {string} method
 * @param {string} path such as `/v1/jobs?limit=50`
 * @param {{body?: unknown, key?: string|null, etag?: string, ifMatch?: string, isNew?: boolean, once?: string}} options
 *   `etag`: answer 304 if it still is the same; `ifMatch`: refuse with 412 if it is not; `isNew`: refuse with 412 if there
 *   is one; `once`: the idempotency key
 * @returns {Promise<{status: number, body: any, etag: string|null}>}
 */
export async function send(method, path, { body, key, etag, ifMatch, isNew, once } = {}) {
  const headers = { Accept: "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  if (etag) headers["If-None-Match"] = etag;
  Object.assign(headers, conditions({ ifMatch, isNew }));
  if (once) headers["Idempotency-Key"] = once;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response, text;
  try {
    response = await fetch(new URL(path.replace(/^\//, ""), BASE), {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store",
      signal: AbortSignal.timeout(method === "GET" ? READ_MS : OTHER_MS),
    });
    text = await response.text();
  } catch {
    throw new Problem(0);
  }
  const answer = parsed(text);
  heard(answer?.asOf ?? answer?.at, response.headers.get("Date"));
  if (!response.ok && response.status !== 304)
    throw new Problem(response.status, answer ?? {}, Number(response.headers.get("Retry-After")) || 0);
  return { status: response.status, body: answer, etag: response.headers.get("ETag") };
}

function parsed(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

const conditions = ({ ifMatch, isNew }) => ({ ...(ifMatch && { "If-Match": ifMatch }), ...(isNew && { "If-None-Match": "*" }) });

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The same request as a command line; the key comes from the environment. */
export function asCurl({ method, path, body, ...others }) {
  const lines = [`curl -X ${method} ${quoted(new URL(path.replace(/^\//, ""), BASE).href)}`];
  lines.push(`-H "Authorization: Bearer $TIMEBALL_KEY"`);
  for (const [name, value] of Object.entries(conditions(others))) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
}

/** The same request by Timeball's command line. */
export function asCli({ method, path, body, ...others }) {
  const headers = Object.entries(conditions(others)).map(([name, value]) => ` --header ${quoted(`${name}: ${value}`)}`);
  const call = `timeball api ${method} ${quoted(path)}`;
  return body === undefined ? call + headers.join("") : `printf '%s' ${quoted(JSON.stringify(body))} |\n  ${call} -${headers.join("")}`;
}

/** The same request in Python; address and key come from the environment, or from the profile of a login. */
export function asPython({ method, path, body, ...others }) {
  const headers = conditions(others);
  const given = [method, path, ...(body === undefined ? [] : [body])].map(literal).join(", ");
  return `from timeball.client import Timeball\n\nTimeball().request(${given}${Object.keys(headers).length ? `, headers=${literal(headers)}` : ""})\n`;
}

/** A value of JSON as Python writes it; a string of JSON is one of Python. */
function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (value && typeof value === "object") return `{${Object.entries(value).filter(([, one]) => one !== undefined).map(([name, one]) => `${literal(name)}: ${literal(one)}`).join(", ")}}`;
  if (value === null) return "None";
  return typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
}
