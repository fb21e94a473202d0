// SPDX-License-Identifier: Apache-2.0
// Questions about the recording beside the trace, and runs of the commands that execute it.
import { ask, json } from "./server.ts";
import type { Value } from "./types.ts";

export interface RecordingInfo {
  /** null: the trace has no recording. */
  path: string | null;
  /** Why the recording cannot be read; "" if there is none. */
  why?: string;
  pid: number;
  command: string;
  commands: number;
  launches: number;
  recorded_ns: number;
  devices: string[];
  programs: RecordedProgram[];
  program_count: number;
  warnings: string[];
}
export interface RecordedProgram {
  program: number;
  name: string;
  form: string;
  bytes: number;
  lines: number;
  kernels: { name: string; launches: number }[];
}
export interface ProgramText {
  name: string;
  form: string;
  options: string;
  source: string;
  /** The source is longer. */
  cut: boolean;
}

/** Where a recorded call is in the timeline: [begin, end] in ns; null: unknown. */
export interface CallPlace {
  at_ns: number;
  call: [number, number] | null;
  work: [number, number] | null;
}
export interface RaceSide {
  name: string;
  text: string;
  command: number;
  launch: number | null;
  queue: number | null;
  thread: number;
  writes: boolean;
}
export interface Verdict {
  verdict: string;
  text: string;
}
export interface RaceGroup {
  text: string;
  missing: string;
  fix: string;
  grade: string;
  count: number;
  memory: { name: string; kind: string; bytes: number };
  first: RaceSide;
  second: RaceSide;
  confirm?: Verdict;
}
export interface ProcessRaces {
  pid: number;
  command: string;
  launches: number;
  races: number;
  stalled: number;
  unknown_events: number;
  unsupported: number;
  guessed_kernels: string[];
  groups: RaceGroup[];
  device?: string;
  replays?: number;
}
export interface Races {
  processes: ProcessRaces[];
  /** Of the first and the second command of each group, in order. */
  places: CallPlace[];
}

type Row = { [key: string]: Value };
export interface Determinism {
  determinism: Row[];
  divergences?: Row[];
  ulps?: Row[];
  remarks?: Row[];
}

/** A run of a command in the background. */
export interface Run<Result> {
  id: number;
  what: string;
  command: string;
  state: "running" | "finished" | "cancelled";
  seconds: number;
  exit_code: number;
  signal: number;
  messages: string;
  output_whole: boolean;
  result: Result | null;
}
export type RunRequest =
  | { what: "confirm"; all: boolean }
  | { what: "determinism" }
  /** `buffers`: memory that is kept as it was before and after the launch. */
  | { what: "replay"; launch: number; buffers: number[] };

/** A recorded command. */
export interface Command {
  step: number;
  sequence: number;
  kind: string;
  name: string;
  /** Work-items, or pixels; "" if it has none. */
  shape: string;
  /** Work-items of a group; "" if the driver chose. */
  group: string;
  bytes: number | null;
  launch: number | null;
  queue: number | null;
  thread: number;
  /** What the call returned. */
  result: number;
  start_ns: number;
  /** Numbers of the commands that it waits for; null: not recorded. */
  waits: (number | null)[];
}
export interface Argument {
  index: number;
  form: string;
  bytes?: number;
  object?: string;
  /** The number of the buffer or image. */
  memory?: number;
  memory_bytes?: number;
  value?: string;
  /** Of an image: the type of its values, pixels of a row, values of a pixel. */
  type?: string;
  width?: number;
  channels?: number;
}
export interface CommandDetails extends Command {
  place: CallPlace;
  program?: number | null;
  /** Work-items of the first dimension. */
  row?: number;
  arguments?: Argument[];
}
export type Shown = "all" | "commands" | "launches";

export interface Replay {
  replay: Row[];
  read_backs: Row[];
  remarks?: Row[];
  dumps?: Row[];
}
/** Elements of memory before and after a launch; null: it could not be read there. */
export interface Content {
  memory: string;
  bytes: number;
  argument_type: string;
  type: string;
  elements: number;
  from: number;
  before: string[] | null;
  after: string[] | null;
  difference: { differing: number; first_element: number; most_ulps: number; nan_in_one: number } | null;
}
export type Side = "before" | "after" | "difference";
/** A picture of memory: means of what each cell covers. */
export interface Cells {
  columns: number;
  rows: number;
  channels: number;
  /** Values at the end that cover nothing. */
  empty: number;
  low: number;
  high: number;
  values: Float32Array;
}

export function readCells(body: ArrayBuffer): Cells {
  const view = new DataView(body);
  const [columns, rows, channels, empty] = [0, 4, 8, 12].map((at) => view.getUint32(at, true)) as [number, number, number, number];
  return { columns, rows, channels, empty, low: view.getFloat64(16, true), high: view.getFloat64(24, true), values: new Float32Array(body.slice(32)) };
}

export const recording = {
  info: () => json<RecordingInfo>("recording"),
  /** With `kernel` only that kernel and what it uses. */
  program: (program: number, kernel?: string) =>
    json<ProgramText>(`program?program=${program}${kernel === undefined ? "" : `&kernel=${encodeURIComponent(kernel)}`}`),
  commands: (show: Shown, text: string, from: number, count: number) =>
    json<{ commands: Command[]; total: number }>(`commands?show=${show}&q=${encodeURIComponent(text)}&from=${from}&count=${count}`),
  command: (step: number) => json<CommandDetails>(`command?step=${step}`),
  content: (id: number, buffer: number, type: string, from: number, count: number) =>
    json<Content>(`content?id=${id}&buffer=${buffer}${type === "" ? "" : `&type=${type}`}&from=${from}&count=${count}`),
  cells: async (id: number, buffer: number, type: string, show: Side, width: number, channels: number) =>
    readCells(await (await ask(`cells?id=${id}&buffer=${buffer}&type=${type}&show=${show}&width=${width}&channels=${channels}`)).arrayBuffer()),
  races: (all: boolean) => json<Races>(`races?all=${all ? 1 : 0}`),
  launchPlace: (launch: number) => json<CallPlace>(`launch?number=${launch}`),
  run: (request: RunRequest) => json<{ id: number }>("run", request),
  job: (id: number) => json<Run<unknown>>(`job?id=${id}`),
  newest: (what: string) => json<Run<unknown>>(`job?what=${encodeURIComponent(what)}`),
  cancel: (id: number) => json<object>("cancel", { id }),
};

/** The part of the timeline with a call and its work. */
export function partOf(place: CallPlace): [number, number] {
  return place.work ?? place.call ?? [place.at_ns, place.at_ns + 1000];
}
