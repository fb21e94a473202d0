// SPDX-License-Identifier: Apache-2.0
// What is drawn over the lanes: why streams idle, or the critical path. Asked for the visible part and what is
// beside it.
import type { OverlayAnswer } from "../data/types.ts";
import type { Window } from "./window.ts";

export type OverlayKind = "" | "idle" | "path";
export interface OverlayMark {
  lane: number;
  begin: number;
  end: number;
  cause: number;
}

const DELAY_MS = 120;
export const OVERLAY_TITLES: Record<OverlayKind, string> = { "": "No overlay", idle: "Idle causes", path: "Critical path" };
/** In the order of the causes that the server names. */
const COLOURS: Record<OverlayKind, readonly string[]> = {
  "": [],
  idle: ["#d55e00", "#e6b800", "#8a8f98"],
  path: ["#7f93ad", "#0072b2", "#c23b4b", "#b8a000", "#009e73", "#cc79a7", "#8a8f98"],
};

export class OverlayStore {
  kind: OverlayKind = "";
  causes: string[] = [];
  marks: OverlayMark[] = [];
  /** Marks of the part that were left out because there are too many; the longest are there. */
  missing = 0;
  private part: Window | null = null;
  private timer = 0;
  private asked = 0;

  constructor(
    private readonly changed: () => void,
    private readonly failed: (error: Error) => void,
    private readonly load: (kind: OverlayKind, part: Window) => Promise<OverlayAnswer>,
  ) {}

  show(kind: OverlayKind): void {
    this.kind = kind;
    this.marks = [];
    this.causes = [];
    this.part = null;
    ++this.asked;
    this.changed();
  }

  want(window: Window, duration: number): void {
    if (this.kind === "") return;
    const length = window.end - window.begin;
    const inside = this.part !== null && window.begin >= this.part.begin && window.end <= this.part.end;
    const fine = this.missing === 0 || (this.part !== null && this.part.end - this.part.begin < 4 * length);
    if (inside && fine) return;
    const part = { begin: Math.max(window.begin - length / 2, -duration), end: Math.min(window.end + length / 2, 2 * duration) };
    this.part = part;
    clearTimeout(this.timer);
    const number = ++this.asked;
    this.timer = setTimeout(() => {
      this.load(this.kind, part).then((answer) => {
        if (number !== this.asked) return;
        this.causes = answer.causes;
        this.marks = answer.marks.map(([lane, begin, end, cause]) => ({ lane, begin, end, cause }));
        this.missing = answer.all - answer.marks.length;
        this.changed();
      }, (error: Error) => {
        this.show("");
        this.failed(error);
      });
    }, DELAY_MS) as unknown as number;
  }

  colour(cause: number): string {
    return COLOURS[this.kind][cause] ?? "#8a8f98";
  }

  at(lane: number, time: number): OverlayMark | undefined {
    return this.marks.find((mark) => mark.lane === lane && time >= mark.begin && time <= mark.end);
  }
}
