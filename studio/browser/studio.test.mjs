// SPDX-License-Identifier: Apache-2.0
// The page in a real browser, with the server of the command; reports.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { HOSTILE, LABELS, PROGRAM, REAL, folder, painted, trace, verdictOf, withPage, withReport } from "./harness.mjs";

test("lanes are painted where their times say", () => withPage(trace(), async (page) => {
  const width = await page.evaluate(() => document.querySelector("canvas").clientWidth);
  await page.evaluate(() => window.timeline.show({ begin: 5e6, end: 85e6 }));
  await page.waitForTimeout(300);
  const places = (await painted(page, 60 + 24 + 10)).filter((x) => x > LABELS + 1);
  const scale = (width - LABELS) / 80;
  for (let i = 1; i <= 7; ++i) {
    const from = LABELS + (i * 10 - 5) * scale, to = from + scale;
    assert.ok(places.some((x) => x > from && x < to), `kernel ${i} is not at ${from}`);
    assert.ok(!places.some((x) => x > to + 2 && x < to + 8 * scale), `something is after kernel ${i}`);
  }
}));

test("a click selects, the details have the launch, and a link shows the same", () => withPage(trace(), async (page) => {
  await page.evaluate(() => window.timeline.show({ begin: 17e6, end: 23e6 }));
  await page.waitForTimeout(300);
  const box = await (await page.$("canvas")).boundingBox();
  const x = box.x + LABELS + ((20.5 - 17) / 6) * (box.width - LABELS);
  await page.mouse.click(x, box.y + 60 + 24 + 10);
  await page.waitForSelector("aside h2");
  assert.match(await page.textContent("aside h2"), /gemm_2/);
  assert.match(await page.textContent("aside"), /1\.00 ms \(1000000 ns\)/);
  assert.match(await page.textContent(".links"), /launched by cudaLaunchKernel 500 µs/);
  const address = page.url();
  assert.match(address, /item=1/);
  await page.reload();
  await page.waitForSelector("aside h2");
  assert.match(await page.textContent("aside h2"), /gemm_2/);
  await page.click(".links button");
  await page.waitForFunction(() => document.querySelector("aside h2")?.textContent === "cudaLaunchKernel");
}));

test("search marks all matches and goes through them", () => withPage(trace(), async (page) => {
  await page.focus("canvas");
  await page.keyboard.press("/");
  await page.keyboard.type("GEMM_1");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("[role=status]")?.textContent.startsWith("1 of 3"));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("[role=status]")?.textContent.startsWith("2 of 3"));
  assert.equal(await page.evaluate(() => window.timeline.hits.length), 3);
}));

test("names of any kind are shown and never run", () => withPage(trace(), async (page) => {
  await page.fill("[type=search]", "img src");
  await page.keyboard.press("Enter");
  await page.waitForSelector("aside h2");
  assert.ok((await page.textContent("aside h2")).startsWith("<img src=x"));
  await page.click("#tab-sql");
  await page.fill("textarea", "SELECT name FROM range ORDER BY start_ns");
  await page.click("text=Run (Ctrl+Enter)");
  await page.waitForSelector("tbody tr");
  const cells = await page.$$eval("tbody td", (all) => all.map((td) => td.textContent));
  assert.equal(cells.length, HOSTILE.length);
  assert.equal(cells[1], HOSTILE[1]);
  assert.equal(cells[2], "\\u202egnp.exe");
  assert.equal(cells[4].length, 121);
  assert.equal(await page.evaluate(() => document.images.length), 0);
  assert.doesNotMatch(await page.title(), /run/);
}));

test("numbers are those of the command", () => withPage(trace(), async (page) => {
  const sql = "SELECT name, sum(duration_ns) AS ns FROM kernel GROUP BY name ORDER BY name";
  const expected = JSON.parse(execFileSync(PROGRAM, ["query", join(folder, "t.json"), sql, "--json"]));
  await page.click("#tab-sql");
  await page.fill("textarea", sql);
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("tbody tr");
  const rows = await page.$$eval("tbody tr", (all) => all.map((tr) => [...tr.children].map((td) => td.textContent)));
  assert.deepEqual(rows, expected.map((row) => [row.name, String(row.ns)]));
  const { findings, verdict } = JSON.parse(execFileSync(PROGRAM, ["analyze", join(folder, "t.json"), "--findings", "--json"]));
  await page.click("#tab-findings");
  await page.waitForSelector(".verdict");
  assert.equal(await verdictOf(page), verdict[0].text);
  assert.deepEqual(await page.$$eval(".finding h2", (all) => all.map((h) => h.textContent.replaceAll("\u00a0", " "))), findings.map((f) => f.title));
  await page.click(".finding dd button >> nth=0");
  await page.waitForFunction(() => document.querySelector("#tab-timeline").getAttribute("aria-selected") === "true" && window.timeline.range);
}));

test("a dismissed finding stays dismissed", () => withPage(trace(), async (page) => {
  await page.click("#tab-findings");
  await page.waitForSelector(".finding");
  const count = (await page.$$(".finding")).length;
  await page.click("text=Dismiss >> nth=0");
  await page.reload();
  await page.waitForSelector(".findings");
  assert.equal((await page.$$(".finding")).length, count - 1);
}));

test("everything has a name, and tabs follow the arrow keys", () => withPage(trace(), async (page) => {
  const tree = await page.locator("body").ariaSnapshot();
  for (const name of ["tab \"Timeline\" [selected]", "tab \"Findings\"", "searchbox \"Search names\"", "application \"Timeline of the trace"]) {
    assert.ok(tree.includes(name), `${name} is not in\n${tree}`);
  }
  await page.focus("#tab-timeline");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.getAttribute("#tab-tables", "aria-selected"), "true");
  await page.waitForSelector("tbody tr");
}));

test("a real trace: no blank frame, and quick ones, while it is zoomed and moved", { skip: !existsSync(REAL) }, () => withPage(REAL, async (page) => {
  const frames = await page.evaluate(async () => {
    const of = window.timeline, out = [];
    const next = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    for (let i = 0; i < 60; ++i) {
      const length = (of.window.end - of.window.begin) * (i < 30 ? 0.85 : 1);
      const begin = of.window.begin + length * 0.05;
      of.show({ begin, end: begin + length });
      await next();
      out.push([of.frame, of.blank]);
    }
    return out;
  });
  assert.ok(!frames.some(([, blank]) => blank), "a frame had no tile at all");
  const times = frames.map(([ms]) => ms).sort((a, b) => a - b);
  console.log(`script per frame: median ${times[30].toFixed(1)} ms, p95 ${times[57].toFixed(1)} ms`);
  await page.keyboard.down("Shift");
  const box = await (await page.$("canvas")).boundingBox();
  await page.mouse.move(box.x + 500, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x + 700, box.y + 200);
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await page.waitForSelector("aside table");
}));

test("a server that has ended is said", async () => {
  await withPage(trace(), async (page) => {
    await page.route("**/api/**", (route) => route.abort());
    await page.click("#tab-tables");
    await page.waitForSelector("[role=alert]");
    assert.match(await page.textContent("[role=alert]"), /does not answer/);
    await page.unroute("**/api/**");
    await page.click("text=Try again");
    await page.waitForSelector("[role=alert]", { state: "detached" });
  }).catch((error) => {
    // The browser itself says that requests failed.
    if (!/net::ERR_FAILED/.test(error.message)) throw error;
  });
});

test("a report shows findings, tables and every item, from disk", () => withReport(trace(), async (page) => {
  const said = JSON.parse(execFileSync(PROGRAM, ["analyze", join(folder, "t.json"), "--findings", "--json"]));
  assert.equal(await verdictOf(page), said.verdict[0].text);
  await page.click("#tab-timeline");
  await page.waitForFunction(() => window.timeline?.frame > 0 && !window.timeline.blank);
  await page.evaluate(() => window.timeline.show({ begin: 5e6, end: 85e6 }));
  await page.waitForTimeout(200);
  const width = await page.evaluate(() => document.querySelector("canvas").clientWidth);
  const places = (await painted(page, 60 + 24 + 10)).filter((x) => x > LABELS + 1);
  const scale = (width - LABELS) / 80;
  for (let i = 1; i <= 7; ++i) {
    const from = LABELS + (i * 10 - 5) * scale;
    assert.ok(places.some((x) => x > from && x < from + scale), `kernel ${i} is not at ${from}`);
  }
  await page.click("#tab-tables");
  assert.match(await page.textContent("tbody"), /gemm_1<f32>/);
  assert.equal(await page.title(), "t.json – TraceSmith Studio");
}));

test("a report of a real trace zooms to its items", { skip: !existsSync(REAL) }, () => withReport(REAL, async (page) => {
  await page.click("#tab-timeline");
  await page.waitForFunction(() => window.timeline?.frame > 0 && !window.timeline.blank);
  await page.evaluate(() => window.timeline.show({ begin: 20e6, end: 20.5e6 }));
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate(() => window.timeline.blank), false);
  await page.screenshot({ path: join(folder, "report.png") });
}));
