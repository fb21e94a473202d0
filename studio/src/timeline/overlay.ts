// SPDX-License-Identifier: Apache-2.0
// What is drawn over the lanes: why streams idle, or the critical path. Asked for the visible part and what is
// beside it.
import { PartLoader } from "../data/part_loader.ts";
import type { OverlayAnswer } from "../data/types.ts";
import type { Window } from "./window.ts";

export type OverlayKind = "" | "idle" | "path";
export interface OverlayMark {
  lane: number;
  begin: number;
  end: number;
  cause: number;
}

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
  private readonly loader: PartLoader<OverlayAnswer>;

  constructor(
    private readonly changed: () => void,
    failed: (error: Error) => void,
    load: (kind: OverlayKind, part: Window) => Promise<OverlayAnswer>,
  ) {
    this.loader = new PartLoader((part) => load(this.kind, part), (answer) => {
      this.causes = answer.causes;
      this.marks = answer.marks.map(([lane, begin, end, cause]) => ({ lane, begin, end, cause }));
      this.missing = answer.all - answer.marks.length;
      this.changed();
    }, (error) => {
      this.show("");
      failed(error);
    });
  }

  show(kind: OverlayKind): void {
    this.kind = kind;
    this.marks = [];
    this.causes = [];
    this.missing = 0;
    this.loader.forget();
    this.changed();
  }

  want(window: Window): void {
    if (this.kind !== "") this.loader.want(window, this.missing === 0);
  }

  colour(cause: number): string {
    return COLOURS[this.kind][cause] ?? "#8a8f98";
  }

  at(lane: number, time: number): OverlayMark | undefined {
    return this.marks.find((mark) => mark.lane === lane && time >= mark.begin && time <= mark.end);
  }
}
