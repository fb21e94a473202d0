// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { addressText, readAddress } from "../src/app/address.ts";
import { NO_ITEM, readTiles, TileStore } from "../src/data/tiles.ts";
import { bytes, count, duration, printable, share, shown, timeText } from "../src/format/quantities.ts";
import { PixelLines } from "../src/timeline/pixel_lines.ts";
import { fitted, levelFor, tickDistance, tileRange, tilesFor, zoomed } from "../src/timeline/window.ts";

test("values look as the command shows them", () => {
  assert.deepEqual([0, 1, 999, 1000, 41_700_000, 999_600, 1_880_000_000, 2e12].map(duration),
    ["0 ns", "1 ns", "999 ns", "1.00 µs", "41.7 ms", "1.00 ms", "1.88 s", "2,000 s"]);
  assert.deepEqual([0, 1023, 1024, 103 * 2 ** 30].map(bytes), ["0 B", "1.00 KiB", "1.00 KiB", "103 GiB"]);
  assert.deepEqual([[216_500_000, 500_000], [216_000_000, 500_000], [0, 1e8], [1.5e9, 2e8], [12, 5]].map(([t, d]) => timeText(t!, d!)),
    ["216.5 ms", "216.0 ms", "0 ms", "1.5 s", "12 ns"]);
  assert.equal(share(0.643), "64.3 %");
  assert.equal(count(1727), "1,727");
  assert.equal(shown(null, "ns"), "–");
  assert.equal(shown("<b>", "text"), "<b>");
});

test("text of a trace is cut, and hides nothing", () => {
  assert.equal(printable("a\nb\u202ec"), "a\\u000ab\\u202ec");
  assert.equal(printable("x".repeat(1_000_000)).length, 301);
});

test("a cell is at most a pixel, and a window stays in the trace", () => {
  for (const length of [1, 100, 1e3, 12345, 1e9, 7e12]) {
    const level = levelFor({ begin: 0, end: length }, 1000);
    assert.ok(2 ** level <= Math.max(1, length / 1000));
    assert.ok(2 ** (level + 1) > length / 1000);
  }
  assert.deepEqual(fitted({ begin: -1e9, end: 1e9 }, 1000), { begin: -20, end: 1020 });
  assert.equal(fitted({ begin: 5, end: 6 }, 1000).end - fitted({ begin: 5, end: 6 }, 1000).begin, 20);
  assert.deepEqual(zoomed({ begin: 0, end: 100 }, 0.5, 20), { begin: 10, end: 60 });
});

test("tiles cover the window first", () => {
  assert.deepEqual(tileRange(0, 511, 0), [0, 0]);
  assert.deepEqual(tileRange(512, 1024, 0), [1, 2]);
  const keys = tilesFor([3], { begin: 600, end: 1000 }, 0);
  assert.deepEqual(keys[0], { lane: 3, level: 0, index: 1 });
  assert.ok(keys.some((k) => k.level === 2));
});

test("ticks are 1, 2 or 5", () => {
  assert.deepEqual([1, 3, 70, 1.1e6].map(tickDistance), [1, 5, 100, 2e6]);
});

test("the address keeps the view", () => {
  const address = { tab: "timeline", from: 5, to: 1e15, lane: 2, item: 0, part: "gpu-util" };
  assert.deepEqual(readAddress(addressText(address)), address);
  assert.deepEqual(readAddress("#from=x&to=&tab=sql"), { tab: "sql" });
});

function tileBody(cellBusy: number): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(8 + 24 + 512 * 16));
  view.setUint32(0, 0x31545354, true);
  view.setUint32(4, 1, true);
  view.setUint32(8, 1, true); // lane
  view.setUint32(12, 10, true); // level
  view.setFloat64(16, 3, true); // index
  view.setUint32(28, 512, true);
  for (let i = 0; i < 512; ++i) view.setUint32(32 + i * 16 + 8, NO_ITEM, true);
  view.setUint16(32, cellBusy, true);
  view.setUint32(32 + 8, 77, true);
  return view.buffer as ArrayBuffer;
}

test("tiles are read, and a larger one takes the place of one that is missing", async () => {
  const [tile] = readTiles(tileBody(65535));
  assert.equal(tile?.index, 3);
  assert.equal(tile?.cells?.long[2], 77);
  assert.throws(() => readTiles(new ArrayBuffer(8)), /no tiles/);
  let asked = 0;
  const done = new Promise<TileStore>((resolve) => {
    const store: TileStore = new TileStore(() => resolve(store), assert.fail, async () => { ++asked; return readTiles(tileBody(9)); });
    store.want([{ lane: 1, level: 10, index: 3 }]);
    store.want([{ lane: 1, level: 10, index: 3 }]); // not twice
  });
  const store = await done;
  assert.equal(asked, 1);
  assert.equal(store.find({ lane: 1, level: 8, index: 13 }, 62)?.level, 10);
  assert.equal(store.find({ lane: 1, level: 8, index: 16 }, 62), undefined);
  assert.equal(store.find({ lane: 2, level: 10, index: 3 }, 62), undefined);
});

test("pixels have the time that their cells have", () => {
  const [tile] = readTiles(tileBody(65535));
  const cell = 2 ** 10, begin = 3 * 512 * cell;
  const lines = new PixelLines(100, 1);
  lines.addCells(0, tile!, begin, begin + 512 * cell, { begin, end: begin + 200 * cell }, () => 0);
  assert.ok(Math.abs((lines.busy[0] ?? 0) - 0.5) < 1e-6); // a cell is half a pixel
  assert.equal(lines.busy[1], 0);
  assert.notEqual(lines.colours[0], 0); // black is a colour
});
