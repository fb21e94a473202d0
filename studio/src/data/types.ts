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
  type?: "stream" | "calls" | "ranges" | "counter" | "stacks";
  /** Its place among the counters. */
  counter?: number;
  unit?: string;
  /** Of stacks: the lane with the thread's calls, and the lane below which they are shown. */
  of?: number;
  after?: number;
  items?: number;
}

export interface TraceInfo {
  name: string;
  /** The trace that it is compared with; "": none. */
  before: string;
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
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
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
/** Frames of a flame graph: parent's place in the list (-1: none), weight, name. */
export interface StackAnswer {
  unit: "ns" | "bytes" | "count";
  /** The trace has no stacks; the frames are ranges. */
  from_ranges: boolean;
  frames: [number, number, string][];
  all_frames: number;
}
export interface StackLanesAnswer {
  /** [depth, begin, end, name or -1 for several, 1: began before the part + 2: goes on after it] */
  spans: [number, number, number, number, number][];
  names: { [name: number]: string };
}
export interface MemoryAnswer {
  /** Curves of [time, bytes]. */
  places: { label: string; curve: [number, number][] }[];
  peak_ns: number;
  tables: Table[];
}
export interface KernelAnswer {
  count: number;
  /** [from, to, launches], in ns */
  histogram: [number, number, number][];
  /** [start, duration] */
  points: [number, number][];
  all_points: boolean;
}
/** 1000 parts of the time: how much of each is busy, in percent, and with which kind. */
export interface Cells {
  busy: number[];
  kind: number[];
}
export interface Changes {
  scale: string[];
  remove: string[];
  fuse: string[];
  bandwidth: string[];
  streams?: number;
  allow_unmatched?: boolean;
}
export interface WhatIfAnswer {
  recorded_ns: number;
  unchanged_ns: number;
  predicted_ns: number;
  streams: { label: string; recorded: Cells; predicted: Cells }[];
  tables: Table[];
}
export interface Note {
  begin_ns: number;
  end_ns: number;
  text: string;
}
export interface CounterAnswer {
  /** [time, least, greatest] */
  counters: { least: number; greatest: number; points: [number, number, number][] }[];
}
export interface OverlayAnswer {
  causes: string[];
  all: number;
  /** [lane, begin, end, cause] */
  marks: [number, number, number, number][];
}
export interface SearchResult {
  total: number;
  hits: (Place & { name: number })[];
}
export interface Names {
  [id: string]: { short: string; full: string };
}
