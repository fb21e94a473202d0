// SPDX-License-Identifier: Apache-2.0
// The part of the trace that is shown, and the tiles that cover it.
import { TILE_CELLS } from "../data/tiles.ts";
import type { TileKey } from "../data/server.ts";

export interface Window {
  begin: number; // ns
  end: number;
}

const LEAST_NS = 20;

/** Within the trace, with some room at its ends, and at least 20 ns long. */
export function fitted(window: Window, duration: number): Window {
  const room = 0.02 * Math.max(duration, LEAST_NS);
  const most = duration + 2 * room;
  const length = Math.min(Math.max(window.end - window.begin, LEAST_NS), most);
  const begin = Math.min(Math.max(window.begin, -room), duration + room - length);
  return { begin, end: begin + length };
}

export function zoomed(window: Window, factor: number, around: number): Window {
  return { begin: around - (around - window.begin) * factor, end: around + (window.end - around) * factor };
}

export function moved(window: Window, ns: number): Window {
  return { begin: window.begin + ns, end: window.end + ns };
}

/** A cell of this level is at most one pixel wide. */
export function levelFor(window: Window, pixels: number): number {
  const perPixel = (window.end - window.begin) / Math.max(pixels, 1);
  return Math.max(0, Math.floor(Math.log2(Math.max(perPixel, 1))));
}

/** Indices [first, last] of the tiles of a level that overlap a part. */
export function tileRange(begin: number, end: number, level: number): [number, number] {
  const width = TILE_CELLS * 2 ** level;
  return [Math.max(0, Math.floor(begin / width)), Math.max(0, Math.floor(end / width))];
}

/** The tiles of the window first, then those beside it and the one level above, for what comes next. */
export function tilesFor(lanes: readonly number[], window: Window, level: number): TileKey[] {
  const out: TileKey[] = [];
  const add = (begin: number, end: number, at: number) => {
    const [first, last] = tileRange(begin, end, at);
    for (const lane of lanes) {
      for (let index = first; index <= last; ++index) out.push({ lane, level: at, index });
    }
  };
  const length = window.end - window.begin;
  add(window.begin, window.end, level);
  add(window.begin - length / 2, window.end + length / 2, level);
  add(window.begin - length, window.end + length, level + 2);
  return out;
}

/** Distances of ticks: 1, 2 or 5 times a power of ten, at least `least` ns. */
export function tickDistance(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least) ?? 10 * power;
}
