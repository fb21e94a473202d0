// SPDX-License-Identifier: Apache-2.0
// Counters as lanes: the least and greatest value of each column, asked for the visible part and what is beside it.
import { PartLoader } from "../data/part_loader.ts";
import type { CounterAnswer } from "../data/types.ts";
import type { Window } from "./window.ts";

export class CounterStore {
  counters: CounterAnswer["counters"] = [];
  private readonly loader: PartLoader<CounterAnswer>;

  constructor(changed: () => void, failed: (error: Error) => void, load: (part: Window) => Promise<CounterAnswer>) {
    this.loader = new PartLoader(load, (answer) => {
      this.counters = answer.counters;
      changed();
    }, failed);
  }

  want(window: Window): void {
    this.loader.want(window, false);
  }

  /** The value at a time; the greater one where it changes faster than is shown. */
  at(counter: number, time: number): number | undefined {
    const points = this.counters[counter]?.points ?? [];
    let low = 0, high = points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((points[middle]?.[0] ?? 0) <= time) low = middle + 1;
      else high = middle;
    }
    return points[low - 1]?.[2];
  }

  draw(context: CanvasRenderingContext2D, counter: number, y: number, height: number, xOf: (ns: number) => number, right: number, colour: string): void {
    const of = this.counters[counter];
    if (!of) return;
    const low = Math.min(0, of.least);
    const scale = (height - 4) / Math.max(of.greatest - low, 1e-300);
    const yOf = (value: number) => y + height - 2 - (value - low) * scale;
    // One path for the areas and one for the edges: many small fills cost too much.
    const areas = new Path2D(), edges = new Path2D();
    const width = context.canvas.clientWidth;
    for (let i = 0; i < of.points.length; ++i) {
      const [time, least, greatest] = of.points[i] ?? [0, 0, 0];
      const x = Math.max(xOf(time), -10);
      const end = Math.min(right, width + 10, i + 1 < of.points.length ? xOf(of.points[i + 1]?.[0] ?? time) : right);
      if (end < 0) continue;
      if (x > width) break;
      areas.rect(x, yOf(greatest), Math.max(end - x, 0.5), yOf(low) - yOf(greatest));
      edges.rect(x, yOf(greatest), Math.max(end - x, 0.7), Math.max(1, yOf(least) - yOf(greatest)));
    }
    context.fillStyle = colour;
    context.globalAlpha = 0.35;
    context.fill(areas);
    context.globalAlpha = 1;
    context.fill(edges);
  }
}
