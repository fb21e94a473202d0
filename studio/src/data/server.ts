// SPDX-License-Identifier: Apache-2.0
// Questions to the server, or to the report that the page is. A failure is an Error whose message is for people.
import { Report } from "./report.ts";
import { readTiles } from "./tiles.ts";
import type {
  Changes, Column, CounterAnswer, ItemInfo, Json, KernelAnswer, MemoryAnswer, Names, Note, OverlayAnswer, SearchResult, StackAnswer, StackLanesAnswer, Table, TraceInfo, Value, WhatIfAnswer,
} from "./types.ts";

/** Of the trace that the page shows; the server refuses questions about an earlier one. */
let generation: number | null = null;

function withGeneration(path: string): string {
  return generation === null ? path : `${path}${path.includes("?") ? "&" : "?"}g=${generation}`;
}

/** The message of what the user has stopped. */
export const STOPPED = "Stopped.";

/** The file was read again: the page has to ask for the trace. */
export class Replaced extends Error {}

/** `signal` ends the work, too: the server looks whether the client is still there. */
export async function ask(path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`api/${withGeneration(path)}`, body === undefined ? {} : {
      method: "POST",
      ...(signal && { signal }),
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    if (signal?.aborted) throw new Error(STOPPED);
    throw new Error("The server does not answer. Has `tracesmith studio` been ended? Start it again and open the address that it prints.");
  }
  if (response.ok) return response;
  if (response.status === 409) throw new Replaced("The trace has changed.");
  const text = await response.text();
  let message = text;
  try {
    message = (JSON.parse(text) as { error: string }).error;
  } catch {
    // A plain text.
  }
  throw new Error(message);
}

export async function json<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  if (report) return report.json<T>(path);
  return (await ask(path, body, signal)).json() as Promise<T>;
}

export interface TileKey {
  lane: number;
  level: number;
  index: number;
}

const report = await Report.ofPage();

const kernelPath = (name: string) => `kernel?name=${encodeURIComponent(name)}`;
const stacksPath = (by: string, reversed: boolean, callersOf: string) =>
  `stacks?by=${by}&reversed=${reversed ? 1 : 0}&callers_of=${encodeURIComponent(callersOf)}`;

export const server = {
  /** False: a report, which has no details, search and SQL. */
  live: report === null,
  trace: async () => {
    generation = null;
    const trace = await json<TraceInfo>("trace");
    generation = trace.generation;
    return trace;
  },
  /** Of the file now; asked of any generation. */
  status: async () => {
    const response = await fetch("api/status");
    return (await response.json()) as { generation: number; complete: boolean; note: string };
  },
  tiles: async (keys: TileKey[]) =>
    report ? report.tiles(keys) : readTiles(await (await ask("tiles", { tiles: keys.map((k) => [k.lane, k.level, k.index]) })).arrayBuffer()),
  names: async (ids: number[]) => report ? report.names(ids) : (await json<{ names: Names }>("names", { ids })).names,
  item: (lane: number, item: number) => json<ItemInfo>(`item?lane=${lane}&item=${item}`),
  search: (text: string) => json<SearchResult>(`search?q=${encodeURIComponent(text)}&limit=1000`),
  findings: async () => (await json<{ tables: Table[] }>("findings")).tables,
  parts: async () => (await json<{ parts: { key: string; title: string }[] }>("parts")).parts,
  analysis: async (parts: string, range?: [number, number]) => {
    const time = range ? `&from_ns=${Math.floor(range[0])}&to_ns=${Math.ceil(range[1])}` : "";
    return (await json<{ tables: Table[] }>(`analysis?parts=${parts}&limit=1000${time}`)).tables;
  },
  counters: (begin: number, end: number) =>
    json<CounterAnswer>(report ? "counters" : `counters?from_ns=${Math.max(0, Math.floor(begin))}&to_ns=${Math.max(1, Math.ceil(end))}`),
  notes: async () => (await json<{ notes: Note[] }>("notes")).notes,
  keepNotes: async (notes: Note[]) => { await json("notes", { notes }); },
  overlay: (kind: string, begin: number, end: number) =>
    json<OverlayAnswer>(`overlay?kind=${kind}&from_ns=${Math.max(0, Math.floor(begin))}&to_ns=${Math.max(0, Math.ceil(end))}`),
  compare: async () => (await json<{ tables: Table[] }>("compare")).tables,
  kernel: (name: string, before = false) => json<KernelAnswer>(kernelPath(name) + (before ? "&of=before" : "")),
  memory: () => json<MemoryAnswer>("memory"),
  stacks: (by: string, reversed: boolean, callersOf: string) => json<StackAnswer>(stacksPath(by, reversed, callersOf)),
  stackLanes: (lane: number, begin: number, end: number) =>
    json<StackLanesAnswer>(`stack_lanes?lane=${lane}&from_ns=${Math.max(0, Math.floor(begin))}&to_ns=${Math.max(1, Math.ceil(end))}`),
  hasStacks: (by: string) => report === null || report.has(stacksPath(by, false, "")),
  hasKernel: (name: string) => report === null || report.has(kernelPath(name)),
  whatIf: (changes: Changes, signal: AbortSignal) => json<WhatIfAnswer>("whatif", changes, signal),
  info: () => json<{ [key: string]: Json }>("info"),
  /** Full names of the kernels, those with the most time first. */
  kernelNames: async () => {
    const sql = "SELECT name FROM kernel GROUP BY name ORDER BY sum(duration_ns) DESC";
    return (await json<{ rows: Value[][] }>("query", { sql, limit: 1000 })).rows.map((row) => String(row[0]));
  },
  schema: async () => (await json<{ tables: { name: string; columns: string[] }[] }>("schema")).tables,
  query: (sql: string, signal: AbortSignal) =>
    json<{ columns: Column[]; rows: Value[][]; more: boolean }>("query", { sql, limit: 10000 }, signal),
};
