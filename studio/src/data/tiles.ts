// SPDX-License-Identifier: Apache-2.0
// Tiles: 512 cells of 2^level ns of a lane, or its items if there are few. They are kept, and asked for
// in batches. While one is missing, a larger one that is there takes its place.
import type { TileKey } from "./server.ts";

export const TILE_CELLS = 512;
export const NO_ITEM = 0xffffffff;
const MAGIC = 0x31545354;
const BATCH = 256;
const HIGHEST = 62;

export interface Tile {
  level: number;
  index: number;
  /** Cells of 16 bytes: busy and kind (16 bits each), starts, item, name. */
  cells?: { short: Uint16Array; long: Uint32Array };
  /** Items of 32 bytes: begin and duration (64 bits each), item, name, kind. */
  spans?: { times: Float64Array; long: Uint32Array; count: number };
}

export type LaneTile = Tile & { lane: number };

export function keyText(key: TileKey): string {
  return `${key.lane}/${key.level}/${key.index}`;
}

export function readTiles(body: ArrayBuffer): LaneTile[] {
  const view = new DataView(body);
  if (body.byteLength < 8 || view.getUint32(0, true) !== MAGIC) throw new Error("The server sent no tiles.");
  const out: LaneTile[] = [];
  let at = 8;
  for (let i = view.getUint32(4, true); i > 0; --i) {
    const head = {
      lane: view.getUint32(at, true),
      level: view.getUint32(at + 4, true),
      index: view.getFloat64(at + 8, true),
    };
    const cells = view.getUint32(at + 16, true) === 0;
    const count = view.getUint32(at + 20, true);
    at += 24;
    const bytes = body.slice(at, at + count * (cells ? 16 : 32));
    at += bytes.byteLength;
    out.push(cells
      ? { ...head, cells: { short: new Uint16Array(bytes), long: new Uint32Array(bytes) } }
      : { ...head, spans: { times: new Float64Array(bytes), long: new Uint32Array(bytes), count } });
  }
  return out;
}

export class TileStore {
  private tiles = new Map<string, Tile>(); // in order of last use
  private asked = new Set<string>();
  private absent = new Set<string>(); // a report has only some
  private wanted = new Map<string, TileKey>();
  private busy = false;

  constructor(
    private readonly changed: () => void,
    private readonly failed: (error: Error) => void,
    private readonly load: (keys: TileKey[]) => Promise<LaneTile[]>,
    private readonly most = 6000,
  ) {}

  /** The tile, or the smallest one that is there and contains it. */
  find(key: TileKey, highest: number): Tile | undefined {
    let { level, index } = key;
    for (; level <= highest; ++level, index = Math.floor(index / 2)) {
      const text = keyText({ lane: key.lane, level, index });
      const tile = this.tiles.get(text);
      if (tile) {
        this.tiles.delete(text);
        this.tiles.set(text, tile);
        return tile;
      }
    }
    return undefined;
  }

  /** Replaces what was wanted before and has not been asked for. */
  want(keys: TileKey[]): void {
    this.wanted.clear();
    for (const key of keys) {
      // Where a report has no tile, a larger one has its items.
      let near = key;
      while (this.absent.has(keyText(near)) && near.level < HIGHEST) near = { ...near, level: near.level + 1, index: Math.floor(near.index / 2) };
      const text = keyText(near);
      if (this.asked.has(text) || this.absent.has(text) || this.tiles.has(text)) continue;
      if (this.find(near, HIGHEST)?.spans) continue; // it has all items of the smaller one
      this.wanted.set(text, near);
    }
    void this.next();
  }

  private async next(): Promise<void> {
    if (this.busy || this.wanted.size === 0) return;
    this.busy = true;
    const batch = [...this.wanted.entries()].slice(0, BATCH);
    for (const [text] of batch) {
      this.asked.add(text);
      this.wanted.delete(text);
    }
    try {
      for (const tile of await this.load(batch.map(([, key]) => key))) {
        this.tiles.set(keyText(tile), tile);
      }
      for (const [text] of batch) {
        if (!this.tiles.has(text)) this.absent.add(text);
      }
      for (const text of this.tiles.keys()) {
        if (this.tiles.size <= this.most) break;
        this.tiles.delete(text);
      }
      this.changed();
    } catch (error) {
      this.wanted.clear();
      this.failed(error as Error);
    } finally {
      for (const [text] of batch) this.asked.delete(text);
      this.busy = false;
    }
    void this.next();
  }
}
