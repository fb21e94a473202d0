// SPDX-License-Identifier: Apache-2.0
// The call stacks of threads as lanes: one row for each depth. Asked for the visible part and what is beside it.
import { PartLoader } from "../data/part_loader.ts";
import type { Lane, StackLanesAnswer } from "../data/types.ts";
import { printable } from "../format/quantities.ts";
import { colourOfName, css } from "./colours.ts";
import type { Window } from "./window.ts";

const ROW = 15;
const LEAST_TEXT = 26;
const SEVERAL = "#8a8f98";

interface StackSpan {
  depth: number;
  begin: number;
  end: number;
  name: string;
  colour: string;
  /** It began before the part that was asked for, or ends after it. */
  cut: boolean;
}

interface Stacks {
  loader: PartLoader<StackLanesAnswer>;
  /** By depth, each by time; null: not yet there. */
  depths: StackSpan[][] | null;
}

export interface StackHit {
  name: string;
  begin: number;
  end: number;
  cut: boolean;
}

function depthsOf(answer: StackLanesAnswer): StackSpan[][] {
  const depths: StackSpan[][] = [];
  for (const [depth, begin, end, name, cut] of answer.spans) {
    const span = {
      depth, begin, end, cut: cut !== 0,
      name: name < 0 ? "several functions; zoom in to see them" : answer.names[name] ?? "",
      colour: name < 0 ? SEVERAL : css(colourOfName(name)),
    };
    (depths[depth] ??= []).push(span);
  }
  return depths;
}

/** The first span that ends after `time`. */
function firstAfter(spans: readonly StackSpan[], time: number): number {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.end ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class StackStore {
  private readonly lanes = new Map<number, Stacks>();

  /** `grown`: a lane got another height. */
  constructor(
    private readonly changed: () => void,
    private readonly grown: () => void,
    private readonly failed: (error: Error) => void,
    private readonly load: (lane: number, part: Window) => Promise<StackLanesAnswer>,
  ) {}

  want(lane: Lane, window: Window): void {
    const calls = lane.of;
    if (calls === undefined) return;
    let stacks = this.lanes.get(lane.id);
    if (!stacks) {
      const made: Stacks = {
        depths: null,
        loader: new PartLoader((part) => this.load(calls, part), (answer) => {
          const before = this.height(lane.id);
          made.depths = depthsOf(answer);
          if (this.height(lane.id) !== before) this.grown();
          this.changed();
        }, this.failed),
      };
      this.lanes.set(lane.id, stacks = made);
    }
    stacks.loader.want(window, false);
  }

  depths(lane: number): number {
    return this.lanes.get(lane)?.depths?.length ?? 0;
  }
  height(lane: number): number {
    return Math.max(1, this.depths(lane)) * ROW + 4;
  }

  /** `xOf` in CSS pixels; `cutText` shortens a text to a width. */
  draw(context: CanvasRenderingContext2D, lane: number, y: number, window: Window, xOf: (ns: number) => number, left: number, right: number,
    cutText: (text: string, room: number) => string, soft: string): void {
    const depths = this.lanes.get(lane)?.depths;
    if (!depths || depths.length === 0) {
      context.fillStyle = soft;
      context.fillText(depths ? "no call with a stack in this part" : "reading the stacks…", left + 6, y + ROW / 2 + 2);
      return;
    }
    depths.forEach((spans, depth) => {
      const top = y + 2 + depth * ROW;
      for (let i = firstAfter(spans, window.begin); i < spans.length; ++i) {
        const span = spans[i];
        if (!span || span.begin > window.end) break;
        const from = Math.max(xOf(span.begin), left - 2);
        const width = Math.max(Math.min(xOf(span.end), right + 2) - from, 0.7);
        context.fillStyle = span.colour;
        context.fillRect(from, top, Math.max(width - (width > 3 ? 0.5 : 0), 0.5), ROW - 1);
        if (width < LEAST_TEXT) continue;
        context.fillStyle = "#fff";
        context.fillText(cutText(printable(span.name, 200), width - 8), from + 4, top + ROW / 2);
      }
    });
  }

  /** The middle of the first span of a function; `y` from the top of the lane. */
  find(lane: number, name: string): { time: number; y: number } | undefined {
    const span = this.lanes.get(lane)?.depths?.flat().find((one) => one.name === name);
    return span && { time: (span.begin + span.end) / 2, y: 2 + (span.depth + 0.5) * ROW };
  }

  /** `y` from the top of the lane. */
  at(lane: number, time: number, y: number, near: number): StackHit | undefined {
    const spans = this.lanes.get(lane)?.depths?.[Math.floor((y - 2) / ROW)];
    if (!spans) return undefined;
    const span = spans[firstAfter(spans, time - near)];
    return span && span.begin <= time + near ? span : undefined;
  }
}
