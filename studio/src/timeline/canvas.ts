// SPDX-License-Identifier: Apache-2.0
// Draws the timeline, and tells what lies at a place of it.
import { NameStore } from "../data/names.ts";
import { server } from "../data/server.ts";
import { CounterStore } from "./counters.ts";
import { LaneChoice } from "./lanes.ts";
import { OverlayStore } from "./overlay.ts";
import { StackStore, type StackHit } from "./stack_lanes.ts";
import { NO_ITEM, TileStore, type Tile } from "../data/tiles.ts";
import type { Lane, Note, Place, TraceInfo } from "../data/types.ts";
import { bytes, count, duration, printable, timeText } from "../format/quantities.ts";
import { colourOfName, coloursOf, css } from "./colours.ts";
import { PixelLines } from "./pixel_lines.ts";
import { fitted, levelFor, tickDistance, tileRange, tilesFor, type Window } from "./window.ts";

export const LABELS = 210; // width of the labels, in CSS pixels
const AXIS = 26;
const OVERVIEW = 34;
export const TOP = AXIS + OVERVIEW;
const LANE = 20;
const COUNTER = 40;
const HEADING = 24;
const LEAST_TEXT = 26;

export interface Row {
  lane: Lane;
  y: number;
  height: number;
  pinned: boolean;
}

export interface Hit {
  lane: number;
  item: number;
  name: number;
  kind: number;
  begin_ns?: number;
  duration_ns?: number;
}

export type ColourBy = "kind" | "name" | "stream";

export class TimelineCanvas {
  window: Window;
  scroll = 0;
  colourBy: ColourBy = "kind";
  readonly choice: LaneChoice;
  readonly overlay: OverlayStore;
  overlayChanged?: () => void;
  private readonly counters: CounterStore;
  private readonly stacks: StackStore;
  selected: Place | null = null;
  links: Place[] = [];
  hits: Place[] = [];
  range: Window | null = null;
  notes: readonly Note[] = [];
  /** Milliseconds of script of the last frame. */
  frame = 0;
  /** Whether a part of the last frame had no tile at all. */
  blank = false;
  private rows: Row[] = [];
  private rowOf = new Map<number, Row>();
  private height = 0;
  /** Of the pinned lanes, which do not scroll. */
  private fixed = 0;
  /** The lane that is being drawn. */
  private drawn = 0;
  private readonly tiles: TileStore;
  private readonly names: NameStore;
  private readonly colours: number[];
  private readonly thin = document.createElement("canvas");
  private pending = false;
  private top: number;

  constructor(readonly canvas: HTMLCanvasElement, readonly trace: TraceInfo, failed: (error: Error) => void) {
    this.window = fitted({ begin: 0, end: trace.duration_ns }, trace.duration_ns);
    this.window = { begin: -0.01 * trace.duration_ns, end: 1.01 * trace.duration_ns };
    this.tiles = new TileStore(() => this.redraw(), failed, server.tiles, server.live ? undefined : Infinity);
    this.names = new NameStore(() => this.redraw(), server.names);
    this.overlay = new OverlayStore(() => { this.redraw(); this.overlayChanged?.(); }, failed, (kind, part) => server.overlay(kind, part.begin, part.end));
    this.counters = new CounterStore(() => this.redraw(), failed, (part) => server.counters(part.begin, part.end));
    this.stacks = new StackStore(() => this.redraw(), () => this.arrange(), failed, (lane, part) => server.stackLanes(lane, part.begin, part.end));
    this.choice = new LaneChoice(trace.name, trace.lanes);
    this.colours = coloursOf(trace.kinds);
    this.top = levelFor({ begin: 0, end: trace.duration_ns }, 256);
    this.arrange();
  }

  private get plot(): { width: number; height: number } {
    return {
      width: Math.max(1, this.canvas.clientWidth - LABELS),
      height: Math.max(1, this.canvas.clientHeight - TOP),
    };
  }

  arrange(): void {
    this.rows = [];
    this.fixed = 0;
    let y = 0;
    for (const { lane, pinned } of this.choice.shown()) {
      const height = this.heightOf(lane);
      this.rows.push({ lane, y: pinned ? this.fixed : y, height, pinned });
      if (pinned) this.fixed += height;
      else y += height;
    }
    this.rowOf = new Map(this.rows.map((row) => [row.lane.id, row]));
    this.height = y;
  }

  private heightOf(lane: Lane): number {
    if (lane.heading) return HEADING;
    if (lane.type === "stacks") return this.stacks.height(lane.id);
    return lane.type === "counter" ? COUNTER : LANE;
  }

  showStacks(shown: boolean): void {
    this.choice.showStacks(shown);
    this.arrange();
    this.scrollTo(this.scroll);
  }

  private yOf(row: Row): number {
    return TOP + row.y + (row.pinned ? 0 : this.fixed - this.scroll);
  }

  show(window: Window): void {
    this.window = fitted(window, this.trace.duration_ns);
    this.redraw();
  }

  scrollTo(y: number): void {
    this.scroll = Math.min(Math.max(0, y), Math.max(0, this.height + this.fixed - this.plot.height));
    this.redraw();
  }

  /** Scrolls until a lane is seen. */
  reveal(lane: number): void {
    const of = this.trace.lanes[lane];
    if (!of) return;
    if (this.choice.collapsed.has(of.group)) {
      this.choice.toggle("collapsed", of.group);
      this.arrange();
    }
    const row = this.rowOf.get(lane);
    if (!row || row.pinned) return;
    const room = this.plot.height - this.fixed;
    if (row.y < this.scroll) this.scrollTo(row.y - HEADING);
    if (row.y + row.height > this.scroll + room) this.scrollTo(row.y + 2 * row.height - room);
  }

  timeAt(x: number): number {
    return this.window.begin + ((x - LABELS) / this.plot.width) * (this.window.end - this.window.begin);
  }
  xOf(ns: number): number {
    return LABELS + ((ns - this.window.begin) / (this.window.end - this.window.begin)) * this.plot.width;
  }
  overviewTime(x: number): number {
    return ((x - LABELS) / this.plot.width) * this.trace.duration_ns;
  }
  rowAt(y: number): Row | undefined {
    if (y < TOP) return undefined;
    const pinned = y < TOP + this.fixed;
    return this.rows.find((r) => r.pinned === pinned && y >= this.yOf(r) && y < this.yOf(r) + r.height);
  }

  redraw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      const start = performance.now();
      this.draw();
      this.frame = performance.now() - start;
    });
  }

  private colour = (kind: number, name: number): number =>
    this.colourBy === "kind" ? (this.colours[kind] ?? 0x8892a0) : colourOfName(this.colourBy === "name" ? name : this.drawn);

  private draw(): void {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    if (this.canvas.width !== Math.round(clientWidth * ratio) || this.canvas.height !== Math.round(clientHeight * ratio)) {
      this.canvas.width = Math.round(clientWidth * ratio);
      this.canvas.height = Math.round(clientHeight * ratio);
    }
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const style = getComputedStyle(this.canvas);
    const paint = (name: string) => style.getPropertyValue(name);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, clientWidth, clientHeight);
    context.font = `12px ${style.fontFamily}`;
    context.textBaseline = "middle";
    this.blank = false;
    const rows = this.rows.filter((r) => r.pinned || (this.yOf(r) + r.height > TOP + this.fixed && this.yOf(r) < clientHeight));
    const lanes = rows.filter((r) => !r.lane.heading && (r.lane.items ?? 0) > 0);
    const level = levelFor(this.window, this.plot.width * ratio);
    const streams = this.trace.lanes.filter((l) => l.type === "stream").map((l) => l.id).slice(0, 64);
    this.tiles.want([
      ...tilesFor(lanes.map((r) => r.lane.id), this.window, level),
      ...tilesFor(streams, { begin: 0, end: this.trace.duration_ns - 1 }, this.top).filter((k) => k.level === this.top),
    ]);
    this.overlay.want(this.window);
    for (const pinned of [false, true]) {
      const top = pinned ? TOP : TOP + this.fixed;
      const bottom = pinned ? TOP + this.fixed : clientHeight;
      if (bottom <= top) continue;
      context.save();
      context.beginPath();
      context.rect(0, top, clientWidth, bottom - top);
      context.clip();
      this.drawRows(context, rows.filter((r) => r.pinned === pinned), paint);
      this.drawItems(context, lanes.filter((r) => r.pinned === pinned), level, ratio);
      this.drawCounters(context, rows.filter((r) => r.pinned === pinned && r.lane.type === "counter"), paint);
      this.drawStacks(context, rows.filter((r) => r.pinned === pinned && r.lane.type === "stacks"), paint);
      this.drawOverlay(context, pinned, paint);
      this.drawMarks(context, pinned, paint);
      context.restore();
    }
    if (this.fixed > 0) {
      context.fillStyle = paint("--accent");
      context.fillRect(0, TOP + this.fixed - 1, clientWidth, 1);
    }
    this.drawAxis(context, paint);
    this.drawOverview(context, streams, ratio, paint);
  }

  private drawRows(context: CanvasRenderingContext2D, rows: Row[], paint: (name: string) => string): void {
    const width = this.canvas.clientWidth;
    for (const row of rows) {
      const y = this.yOf(row);
      context.fillStyle = paint(row.lane.heading ? "--heading" : "--lane");
      context.fillRect(0, y, width, row.height - 1);
      context.fillStyle = paint(row.lane.heading ? "--text" : "--soft");
      if (row.lane.first === false) continue;
      const arrow = row.lane.heading ? (this.choice.collapsed.has(row.lane.group) ? "▸ " : "▾ ") : "";
      const room = row.lane.heading ? width - 20 : LABELS - 30;
      const middle = row.lane.type === "stacks" ? LANE / 2 : row.height / 2;
      context.fillText(this.cutMiddle(context, arrow + printable(row.lane.label, 200), room), row.lane.heading ? 8 : 22, y + middle);
    }
  }

  /** The end of a label says what the lane has. */
  private cutMiddle(context: CanvasRenderingContext2D, text: string, room: number): string {
    if (context.measureText(text).width <= room) return text;
    const end = text.slice(-12);
    return `${this.cut(context, text.slice(0, -12), room - context.measureText(end).width)}${end}`;
  }

  private cut(context: CanvasRenderingContext2D, text: string, room: number): string {
    if (context.measureText(text).width <= room) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
      else high = middle - 1;
    }
    return low === 0 ? "" : `${text.slice(0, low)}…`;
  }

  private drawItems(context: CanvasRenderingContext2D, rows: Row[], level: number, ratio: number): void {
    const width = Math.round(this.plot.width * ratio);
    if (rows.length === 0) return;
    const lines = new PixelLines(width, rows.length);
    const wide: { row: Row; x: number; width: number; name: number; rgb: number }[] = [];
    const scale = width / (this.window.end - this.window.begin);
    rows.forEach((row, line) => {
      this.drawn = row.lane.id;
      const [first, last] = tileRange(this.window.begin, this.window.end, level);
      const size = 512 * 2 ** level;
      for (let index = first; index <= last; ++index) {
        const tile = this.tiles.find({ lane: row.lane.id, level, index }, 62);
        if (!tile) {
          this.blank = true;
          continue;
        }
        const begin = index * size;
        if (!tile.spans) {
          lines.addCells(line, tile, begin, begin + size, this.window, this.colour);
          continue;
        }
        const { times, long, count } = tile.spans;
        for (let i = 0; i < count; ++i) {
          const from = times[4 * i] ?? 0;
          // In this tile unless it began in one before, which draws it, too.
          if (from >= begin + size || (from < begin && index > first)) continue;
          const x = (from - this.window.begin) * scale;
          const long_x = (times[4 * i + 1] ?? 0) * scale;
          if (x > width || x + long_x < -1) continue;
          const name = long[8 * i + 5] ?? 0;
          const rgb = this.colour(long[8 * i + 6] ?? 0, name);
          if (long_x < 2) lines.add(line, x, Math.max(long_x, 0.5), 1, rgb);
          else wide.push({ row, x, width: long_x, name, rgb });
        }
      }
    });
    this.drawLines(context, lines, rows);
    for (const item of wide) {
      const from = Math.max(item.x, -2) / ratio + LABELS;
      const size = Math.min(item.x + item.width, width + 2) / ratio + LABELS - from;
      const y = this.yOf(item.row) + 1;
      context.fillStyle = css(item.rgb);
      context.fillRect(from, y, Math.max(size - (size > 3 ? 0.5 : 0), 0.5), LANE - 3);
      if (size < LEAST_TEXT) continue;
      context.fillStyle = "#fff";
      context.fillText(this.cut(context, printable(this.names.short(item.name), 200), size - 8), from + 4, y + LANE / 2 - 1);
    }
  }

  private drawLines(context: CanvasRenderingContext2D, lines: PixelLines, rows: Row[]): void {
    this.thin.width = lines.width;
    this.thin.height = lines.lines;
    const thin = this.thin.getContext("2d");
    if (!thin) return;
    const image = thin.createImageData(lines.width, lines.lines);
    lines.toImage(image);
    thin.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    rows.forEach((row, line) => {
      context.drawImage(this.thin, 0, line, lines.width, 1, LABELS, this.yOf(row) + 1, this.plot.width, LANE - 3);
    });
  }

  private placeOf(place: Place): { x: number; y: number; width: number } | undefined {
    const row = this.rowOf.get(place.lane);
    if (!row) return undefined;
    const x = this.xOf(place.begin_ns);
    return { x, y: this.yOf(row), width: Math.max(3, this.xOf(place.begin_ns + place.duration_ns) - x) };
  }

  private drawCounters(context: CanvasRenderingContext2D, rows: Row[], paint: (name: string) => string): void {
    if (rows.length === 0) return;
    this.counters.want(this.window);
    context.save();
    context.beginPath();
    context.rect(LABELS, TOP, this.plot.width, this.plot.height);
    context.clip();
    for (const row of rows) {
      this.counters.draw(context, row.lane.counter ?? 0, this.yOf(row), COUNTER, (ns) => this.xOf(ns), this.xOf(this.trace.duration_ns), paint("--accent"));
    }
    context.restore();
  }

  private drawStacks(context: CanvasRenderingContext2D, rows: Row[], paint: (name: string) => string): void {
    if (rows.length === 0) return;
    context.save();
    context.beginPath();
    context.rect(LABELS, TOP, this.plot.width, this.plot.height);
    context.clip();
    for (const row of rows) {
      this.stacks.want(row.lane, this.window);
      this.stacks.draw(context, row.lane.id, this.yOf(row), this.window, (ns) => this.xOf(ns), LABELS, LABELS + this.plot.width,
        (text, room) => this.cut(context, text, room), paint("--soft"));
    }
    context.restore();
  }

  /** Idle causes: a stripe in the gap. Critical path: a frame around its parts, joined where it changes lanes. */
  private drawOverlay(context: CanvasRenderingContext2D, pinned: boolean, paint: (name: string) => string): void {
    const { kind, marks } = this.overlay;
    if (kind === "") return;
    context.save();
    context.beginPath();
    context.rect(LABELS, TOP, this.plot.width, this.plot.height);
    context.clip();
    let before: { x: number; y: number } | undefined;
    for (const mark of marks) {
      const row = this.rowOf.get(mark.lane);
      const x = this.xOf(mark.begin), end = this.xOf(mark.end);
      if (!row || end < LABELS || x > LABELS + this.plot.width) {
        before = undefined;
        continue;
      }
      const y = this.yOf(row);
      context.fillStyle = this.overlay.colour(mark.cause);
      if (kind === "idle") {
        if (row.pinned !== pinned) continue;
        context.globalAlpha = 0.3;
        context.fillRect(x, y + 1, Math.max(end - x, 0.5), LANE - 3);
        context.globalAlpha = 1;
        context.fillRect(x, y + LANE - 5, Math.max(end - x, 0.5), 3);
        continue;
      }
      if (before && Math.abs(before.y - y) > 1) {
        context.fillStyle = paint("--text");
        context.fillRect(x - 0.5, Math.min(before.y, y) + LANE / 2, 1.5, Math.abs(before.y - y));
      }
      if (row.pinned === pinned) {
        context.fillStyle = paint("--text");
        context.fillRect(x, y - 1, Math.max(end - x, 1), 2);
        context.fillStyle = this.overlay.colour(mark.cause);
        context.fillRect(x, y + LANE - 4, Math.max(end - x, 1), 3);
      }
      before = { x: end, y };
    }
    context.restore();
  }

  private drawMarks(context: CanvasRenderingContext2D, pinned: boolean, paint: (name: string) => string): void {
    context.save();
    context.beginPath();
    context.rect(LABELS, pinned ? TOP : TOP + this.fixed, this.plot.width, this.plot.height);
    context.clip();
    if (this.range) {
      context.fillStyle = paint("--range");
      context.fillRect(this.xOf(this.range.begin), TOP, this.xOf(this.range.end) - this.xOf(this.range.begin), this.plot.height);
    }
    context.strokeStyle = paint("--mark");
    context.lineWidth = 1.5;
    for (const hit of this.hits) {
      const at = this.placeOf(hit);
      if (at) context.strokeRect(at.x, at.y + 1, at.width, LANE - 4);
    }
    if (this.selected) {
      const from = this.placeOf(this.selected);
      context.strokeStyle = paint("--accent");
      context.lineWidth = 2;
      if (from) context.strokeRect(from.x - 1, from.y, from.width + 2, LANE - 2);
      for (const link of this.links) {
        const to = this.placeOf(link);
        if (!from || !to) continue;
        context.beginPath();
        const [x0, y0, x1, y1] = [from.x, from.y + LANE / 2, to.x, to.y + LANE / 2];
        context.moveTo(x0, y0);
        context.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1, y1);
        context.stroke();
        context.strokeRect(to.x - 1, to.y, to.width + 2, LANE - 2);
      }
    }
    context.restore();
    context.fillStyle = paint("--line");
    context.fillRect(LABELS - 1, TOP, 1, this.plot.height);
  }

  private drawAxis(context: CanvasRenderingContext2D, paint: (name: string) => string): void {
    const y = OVERVIEW;
    context.fillStyle = paint("--back");
    context.fillRect(0, 0, this.canvas.clientWidth, TOP);
    context.fillStyle = paint("--soft");
    const distance = tickDistance(((this.window.end - this.window.begin) / this.plot.width) * 110);
    for (let t = Math.ceil(this.window.begin / distance) * distance + 0; t < this.window.end; t += distance) {
      const x = this.xOf(t);
      context.fillRect(x, y + AXIS - 6, 1, 5);
      context.fillText(timeText(t, distance), x + 4, y + AXIS / 2);
    }
    this.drawNotes(context, paint);
    const length = `${duration(this.window.end - this.window.begin)} shown`;
    context.clearRect(0, y, LABELS - 1, AXIS);
    context.fillText(length, 8, y + AXIS / 2);
    context.fillStyle = paint("--line");
    context.fillRect(0, TOP - 1, this.canvas.clientWidth, 1);
  }

  /** Flags on the axis, and lines through the lanes. */
  private drawNotes(context: CanvasRenderingContext2D, paint: (name: string) => string): void {
    context.save();
    context.beginPath();
    context.rect(LABELS, OVERVIEW, this.plot.width, TOP + this.plot.height);
    context.clip();
    for (const note of this.notes) {
      const x = this.xOf(note.begin_ns), end = this.xOf(note.end_ns);
      if (end < LABELS - 200 || x > LABELS + this.plot.width) continue;
      context.fillStyle = paint("--major");
      context.globalAlpha = 0.6;
      context.fillRect(x, TOP, 1, this.plot.height);
      if (end > x + 1) context.fillRect(end, TOP, 1, this.plot.height);
      context.globalAlpha = 1;
      const text = this.cut(context, printable(note.text || "note", 100), 160);
      const width = context.measureText(text).width + 10;
      context.fillRect(x, OVERVIEW + 3, width, AXIS - 8);
      context.fillRect(x, OVERVIEW + 3, Math.max(end - x, 1), 2);
      context.fillStyle = paint("--back");
      context.fillText(text, x + 5, OVERVIEW + AXIS / 2 - 1);
    }
    context.restore();
  }

  private drawOverview(context: CanvasRenderingContext2D, streams: number[], ratio: number, paint: (name: string) => string): void {
    const width = Math.round(this.plot.width * ratio);
    const whole = { begin: 0, end: Math.max(1, this.trace.duration_ns) };
    const lines = new PixelLines(width, 1);
    const [first, last] = tileRange(0, this.trace.duration_ns - 1, this.top);
    for (const lane of streams) {
      for (let index = first; index <= last; ++index) {
        const tile: Tile | undefined = this.tiles.find({ lane, level: this.top, index }, 62);
        if (!tile) continue;
        lines.addCells(0, tile, 0, whole.end, whole, () => 0x0072b2);
        for (let i = 0; tile.spans && i < tile.spans.count; ++i) {
          const scale = width / whole.end;
          lines.add(0, (tile.spans.times[4 * i] ?? 0) * scale, (tile.spans.times[4 * i + 1] ?? 0) * scale, 1, 0x0072b2);
        }
      }
    }
    const high = OVERVIEW - 8;
    context.fillStyle = paint("--busy");
    const most = Math.max(1, streams.length);
    for (let x = 0; x < width; ++x) {
      const busy = Math.min(1, (lines.busy[x] ?? 0) / Math.min(most, 4));
      if (busy > 0) context.fillRect(LABELS + x / ratio, 4 + high * (1 - busy), 1 / ratio, high * busy);
    }
    const at = (ns: number) => LABELS + Math.min(1, Math.max(0, ns / whole.end)) * this.plot.width;
    context.fillStyle = paint("--mark");
    for (const hit of this.hits) context.fillRect(at(hit.begin_ns), 2, 1.5, 5);
    context.fillStyle = paint("--range");
    context.strokeStyle = paint("--accent");
    context.lineWidth = 1.5;
    const from = at(this.window.begin), to = at(this.window.end);
    context.fillRect(from, 2, Math.max(2, to - from), OVERVIEW - 4);
    context.strokeRect(from, 2, Math.max(2, to - from), OVERVIEW - 4);
    context.fillStyle = paint("--soft");
    context.fillText("whole trace", 8, OVERVIEW / 2);
  }

  /** The item at a place of the canvas. */
  hit(x: number, y: number): Hit | undefined {
    const row = this.rowAt(y);
    if (!row || row.lane.heading || x < LABELS) return undefined;
    const ratio = window.devicePixelRatio || 1;
    const level = levelFor(this.window, this.plot.width * ratio);
    const time = this.timeAt(x);
    const near = (this.window.end - this.window.begin) / this.plot.width;
    const [index] = tileRange(time, time, level);
    const tile = this.tiles.find({ lane: row.lane.id, level, index }, 62);
    if (tile?.spans) {
      const { times, long, count } = tile.spans;
      let best: Hit | undefined;
      for (let i = 0; i < count; ++i) {
        const begin = times[4 * i] ?? 0, length = times[4 * i + 1] ?? 0;
        if (time < begin - near || time > begin + length + near) continue;
        if (best && length < (best.duration_ns ?? 0)) continue;
        best = { lane: row.lane.id, item: long[8 * i + 4] ?? 0, name: long[8 * i + 5] ?? 0, kind: long[8 * i + 6] ?? 0, begin_ns: begin, duration_ns: length };
      }
      return best;
    }
    if (tile?.cells) {
      const cell = Math.floor(time / 2 ** tile.level) - tile.index * 512;
      for (const i of [cell, cell + 1, cell - 1]) {
        const item = tile.cells.long[4 * i + 2];
        if (item === undefined || item === NO_ITEM) continue;
        return { lane: row.lane.id, item, name: tile.cells.long[4 * i + 3] ?? 0, kind: tile.cells.short[8 * i + 1] ?? 0 };
      }
    }
    return undefined;
  }

  /** The function of a stack at a place. */
  stackAt(x: number, y: number): StackHit | undefined {
    const row = this.rowAt(y);
    if (row?.lane.type !== "stacks" || x < LABELS) return undefined;
    const near = (this.window.end - this.window.begin) / this.plot.width;
    return this.stacks.at(row.lane.id, this.timeAt(x), y - this.yOf(row), near);
  }

  /** For tests: the lanes of stacks that are shown, and where a function is. */
  stackRows(): { lane: number; depths: number }[] {
    return this.rows.filter((row) => row.lane.type === "stacks").map((row) => ({ lane: row.lane.id, depths: this.stacks.depths(row.lane.id) }));
  }
  placeOfFunction(name: string): { x: number; y: number } | undefined {
    for (const row of this.rows) {
      const place = this.stacks.find(row.lane.id, name);
      if (place) return { x: this.xOf(place.time), y: this.yOf(row) + place.y };
    }
    return undefined;
  }

  /** What the overlay says of a place where no item is. */
  overlayAt(x: number, y: number): { cause: string; begin: number; end: number } | undefined {
    const row = this.rowAt(y);
    if (!row || row.lane.heading || x < LABELS) return undefined;
    if (row.lane.counter !== undefined) {
      const value = this.counters.at(row.lane.counter, this.timeAt(x));
      if (value === undefined) return undefined;
      const unit = row.lane.unit ?? "";
      return { cause: `${unit === "bytes" ? bytes(value) : `${count(Number(value.toPrecision(6)))} ${unit}`}`, begin: this.timeAt(x), end: this.timeAt(x) };
    }
    if (this.overlay.kind === "") return undefined;
    const mark = this.overlay.at(row.lane.id, this.timeAt(x));
    return mark && { cause: this.overlay.causes[mark.cause] ?? "", begin: mark.begin, end: mark.end };
  }

  nameOf(name: number): string {
    return this.names.short(name);
  }
}
