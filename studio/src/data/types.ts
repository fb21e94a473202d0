// SPDX-License-Identifier: Apache-2.0
// What the server answers; docs/studio.md describes it. Times are ns from the start of the trace.

export interface Lane {
  id: number;
  label: string;
  group: number;
  /** A device or process; the lanes of its group follow. */
  heading: boolean;
  /** False: a further lane of the stream or thread above. */
  first?: boolean;
  type?: "stream" | "calls" | "ranges";
  items?: number;
}

export interface TraceInfo {
  name: string;
  version: string;
  generation: number;
  complete: boolean;
  duration_ns: number;
  events: number;
  kinds: string[];
  /** Kinds of device work that occur, those with the most time first. */
  device_kinds: number[];
  lanes: Lane[];
}

export type Quantity =
  | "text" | "count" | "ns" | "time_ns" | "share" | "probability" | "bytes" | "bytes_per_second" | "number";
export type Value = string | number | null;
export interface Column {
  key: string;
  title: string;
  quantity: Quantity;
}
export interface Table {
  key: string;
  title: string;
  note: string;
  columns: Column[];
  rows: Value[][];
}

/** An item of a lane. */
export interface Place {
  lane: number;
  item: number;
  begin_ns: number;
  duration_ns: number;
}
export interface ItemInfo extends Place {
  kind: number;
  short: string;
  details: { label: string; value: string }[];
  links: (Place & { what: string; short: string })[];
  /** The outermost function first. */
  stack: string[];
}
export interface SearchResult {
  total: number;
  hits: (Place & { name: number })[];
}
export interface Names {
  [id: string]: { short: string; full: string };
}
