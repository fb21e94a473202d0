// SPDX-License-Identifier: Apache-2.0
// What is narrower than a pixel: one line of pixels for each lane, which is then drawn as high as the lane.
// Of what meets in a pixel, the item that covers the most of it gives the colour.
import { NO_ITEM, TILE_CELLS, type Tile } from "../data/tiles.ts";
import type { Window } from "./window.ts";
import { pixel } from "./colours.ts";

const FAINTEST = 70; // of 255: work too short to see is still shown

export class PixelLines {
  readonly busy: Float32Array;
  readonly colours: Uint32Array;

  constructor(readonly width: number, readonly lines: number) {
    this.busy = new Float32Array(width * lines);
    this.colours = new Uint32Array(width * lines);
  }

  /** `x` and `width` in pixels; `part` of it that is covered. */
  add(line: number, x: number, width: number, part: number, rgb: number): void {
    const first = Math.max(0, Math.floor(x));
    const last = Math.min(this.width - 1, Math.max(first, Math.ceil(x + width) - 1));
    for (let i = first; i <= last; ++i) {
      const overlap = Math.min(x + width, i + 1) - Math.max(x, i);
      const covered = part * Math.min(1, Math.max(overlap, 0));
      const at = line * this.width + i;
      if (this.colours[at] === 0 || covered > (this.busy[at] ?? 0)) {
        this.colours[at] = rgb | 0x1000000; // black is a colour, too
      }
      this.busy[at] = (this.busy[at] ?? 0) + covered;
    }
  }

  /** The cells of a tile that lie in [begin, end). */
  addCells(line: number, tile: Tile, begin: number, end: number, window: Window,
    colour: (kind: number, name: number) => number): void {
    const cells = tile.cells;
    if (!cells) return;
    const cell = 2 ** tile.level;
    const start = tile.index * TILE_CELLS * cell;
    const scale = this.width / (window.end - window.begin);
    const first = Math.max(0, Math.floor((Math.max(begin, window.begin) - start) / cell));
    const last = Math.min(TILE_CELLS - 1, Math.floor((Math.min(end, window.end) - start) / cell));
    for (let i = first; i <= last; ++i) {
      if (cells.long[4 * i + 2] === NO_ITEM) continue;
      const part = (cells.short[8 * i] ?? 0) / 65535;
      const rgb = colour(cells.short[8 * i + 1] ?? 0, cells.long[4 * i + 3] ?? 0);
      this.add(line, (start + i * cell - window.begin) * scale, cell * scale, part, rgb);
    }
  }

  toImage(image: ImageData): void {
    const out = new Uint32Array(image.data.buffer);
    for (let i = 0; i < out.length; ++i) {
      const colour = this.colours[i] ?? 0;
      out[i] = colour === 0
        ? 0
        : pixel(colour & 0xffffff, Math.round(FAINTEST + (255 - FAINTEST) * Math.min(1, this.busy[i] ?? 0)));
    }
  }
}
