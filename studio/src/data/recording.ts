// SPDX-License-Identifier: Apache-2.0
// Questions about the recording beside the trace, and runs of the commands that execute it.
import { json } from "./server.ts";
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
export type RunRequest = { what: "confirm"; all: boolean } | { what: "determinism" };

export const recording = {
  info: () => json<RecordingInfo>("recording"),
  program: (program: number) => json<ProgramText>(`program?program=${program}`),
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
