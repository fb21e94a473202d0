// SPDX-License-Identifier: Apache-2.0
// Every view with traces of all sorts: real, damaged, empty, large; a trace that grows; many tabs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PROGRAM, REAL, folder, trace, withPage } from "./harness.mjs";

const run = (...words) => execFileSync(PROGRAM, words, { stdio: ["ignore", "ignore", "pipe"] });

/** A simulation of a second has about 42,000 events. */
function simulated(name, seconds) {
  const file = join(folder, name);
  run("record", "-p", "simulation", "-q", "-d", String(seconds), "-o", file);
  return file;
}

/** Opens each view and waits until it shows something that it has computed, or says why it cannot. */
async function openAll(page, limit_ms = 30_000) {
  for (const tab of await page.$$eval("[role=tab]", (tabs) => tabs.map((t) => t.id))) {
    await page.click(`#${tab}`);
    await page.waitForFunction((id) => {
      if (id === "tab-timeline") return !window.timeline.blank;
      const view = document.querySelector("main");
      return view.innerText.trim().length > 20 && !/^Reading/m.test(view.innerText);
    }, tab, { timeout: limit_ms });
    assert.equal(await page.locator("main").evaluate((main) => /\b(undefined|NaN|Infinity|\[object)\b/.test(main.innerText)), false, tab);
  }
}

test("a real trace", { skip: !existsSync(REAL) }, () => withPage(REAL, (page) => openAll(page), { refused: true }));

test("a damaged trace, with what is left of it", () => {
  const file = simulated("damaged.sbt", 1);
  const bytes = readFileSync(file);
  for (const part of [0.4, 0.41, 0.7]) bytes.fill(0xee, Math.floor(bytes.length * part), Math.floor(bytes.length * part) + 500);
  writeFileSync(file, bytes.subarray(0, Math.floor(bytes.length * 0.95)));
  return withPage(file, async (page) => {
    await page.getByText(/not complete|incomplete|damaged|missing/i).first().waitFor();
    await openAll(page);
  }, { refused: true });
});

test("a trace without events", () => {
  const json = join(folder, "empty.json");
  const file = join(folder, "empty.sbt");
  writeFileSync(json, JSON.stringify({ schemaVersion: 1, traceEvents: [] }));
  run("import", json, "-o", file);
  return withPage(file, (page) => openAll(page), { refused: true });
});

test("ten million events", { skip: process.env.STUDIO_LARGE !== "1" && "it takes a minute: script/test long" }, () =>
  withPage(simulated("large.sbt", 245), (page) => openAll(page, 120_000), { refused: true }));

test("a trace that is replaced by a longer one", () => {
  const file = simulated("grows.sbt", 1);
  return withPage(file, async (page) => {
    const events = () => page.evaluate(() => window.timeline.trace.events);
    const before = await events();
    renameSync(simulated("longer.sbt", 2), file);
    await page.waitForFunction((count) => window.timeline.trace.events > 1.5 * count && !window.timeline.blank, before);
    await page.click("#tab-tables");
    await page.waitForSelector("main table");
  }, { refused: true });
});

test("many tabs of one browser", () => withPage(trace(), async (page, url) => {
  const tabs = [];
  for (let i = 0; i < 20; ++i) tabs.push(await page.context().newPage());
  await Promise.all(tabs.map(async (tab) => {
    await tab.goto(url);
    await tab.waitForFunction(() => window.timeline?.frame > 0 && !window.timeline.blank);
  }));
  await tabs[7].click("#tab-findings");
  await tabs[7].waitForSelector(".verdict");
  for (const tab of tabs) await tab.close();
  await page.click("#tab-findings");
  await page.waitForSelector(".verdict");
}));
