// SPDX-License-Identifier: Apache-2.0
// Places and draws the frames of a flame graph. Frame 0 is everything; callers come before their callees.
import { colourOfName, css } from "../timeline/colours.ts";

export interface Frame {
  parent: number;
  weight: number;
  name: string;
}
export interface Box {
  frame: number;
  x: number;
  y: number;
  width: number;
}

export const FRAME_HEIGHT = 20;

function hash(text: string): number {
  let out = 0;
  for (let i = 0; i < text.length; ++i) out = (Math.imul(out, 31) + text.charCodeAt(i)) >>> 0;
  return out;
}

export class FlameGraph {
  readonly callees: number[][];
  readonly level: number[];
  readonly levels: number;
  /** The frame that fills the width. */
  zoom = 0;
  selected = 0;
  match = "";
  boxes: Box[] = [];

  constructor(readonly frames: readonly Frame[]) {
    this.callees = frames.map(() => []);
    this.level = new Array<number>(frames.length).fill(0);
    frames.forEach((frame, i) => {
      if (frame.parent < 0) return;
      this.callees[frame.parent]?.push(i);
      this.level[i] = (this.level[frame.parent] ?? 0) + 1;
    });
    this.levels = this.level.reduce((a, b) => Math.max(a, b), 0) + 1;
  }

  /** Boxes at least half a pixel wide. `up`: callers are below their callees. */
  arrange(width: number, up: boolean): void {
    this.boxes = [];
    const whole = this.frames[this.zoom]?.weight ?? 0;
    if (whole <= 0) return;
    const line = (level: number) => (up ? this.levels - 1 - level : level) * FRAME_HEIGHT;
    for (let at = this.frames[this.zoom]?.parent ?? -1; at >= 0; at = this.frames[at]?.parent ?? -1) {
      this.boxes.push({ frame: at, x: 0, y: line(this.level[at] ?? 0), width });
    }
    const next: { frame: number; x: number }[] = [{ frame: this.zoom, x: 0 }];
    for (let of = next.pop(); of; of = next.pop()) {
      const size = ((this.frames[of.frame]?.weight ?? 0) / whole) * width;
      this.boxes.push({ frame: of.frame, x: of.x, y: line(this.level[of.frame] ?? 0), width: size });
      let x = of.x;
      for (const callee of this.callees[of.frame] ?? []) {
        const wide = ((this.frames[callee]?.weight ?? 0) / whole) * width;
        if (wide >= 0.5) next.push({ frame: callee, x });
        x += wide;
      }
    }
  }

  at(x: number, y: number): number | null {
    const box = this.boxes.find((b) => x >= b.x && x < b.x + b.width && y >= b.y && y < b.y + FRAME_HEIGHT);
    return box ? box.frame : null;
  }

  /** Share of the whole in frames whose name has the searched text; frames inside of others count once. */
  matched(text: string): number {
    const word = text.toLowerCase();
    const whole = this.frames[0]?.weight ?? 0;
    if (word === "" || whole === 0) return 0;
    const inside = new Array<boolean>(this.frames.length).fill(false);
    let sum = 0;
    this.frames.forEach((frame, i) => {
      const covered = frame.parent >= 0 && inside[frame.parent] === true;
      const hit = i > 0 && frame.name.toLowerCase().includes(word);
      inside[i] = covered || hit;
      if (hit && !covered) sum += frame.weight;
    });
    return sum / whole;
  }

  draw(context: CanvasRenderingContext2D, paint: (name: string) => string, text: (name: string) => string): void {
    const word = this.match.toLowerCase();
    context.textBaseline = "middle";
    for (const box of this.boxes) {
      const name = this.frames[box.frame]?.name ?? "";
      const hit = word !== "" && name.toLowerCase().includes(word);
      context.globalAlpha = word !== "" && !hit ? 0.35 : 1;
      context.fillStyle = box.frame === 0 ? paint("--soft") : css(colourOfName(hash(name)));
      context.fillRect(box.x, box.y, Math.max(box.width - 0.6, 0.4), FRAME_HEIGHT - 1);
      context.globalAlpha = 1;
      if (box.frame === this.selected) {
        context.strokeStyle = paint("--text");
        context.lineWidth = 2;
        context.strokeRect(box.x + 1, box.y + 1, Math.max(box.width - 2, 1), FRAME_HEIGHT - 3);
      }
      if (box.width < 30) continue;
      context.save();
      context.beginPath();
      context.rect(box.x, box.y, box.width - 3, FRAME_HEIGHT);
      context.clip();
      context.fillStyle = box.frame === 0 ? paint("--back") : "#fff";
      context.fillText(text(name), box.x + 4, box.y + FRAME_HEIGHT / 2);
      context.restore();
    }
  }
}
