// SPDX-License-Identifier: Apache-2.0
// Races of a recording in a browser, and runs of it, which start only by a click.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { before, test } from "node:test";
import { PROGRAM, RACE_DEMO, raceTrace, trace, withPage } from "./harness.mjs";

const needed = { skip: !existsSync(RACE_DEMO) };
let file;
before(() => {
  if (!needed.skip) file = raceTrace();
});

/** Requests that start something. */
function startsOf(page) {
  const starts = [];
  page.on("request", (request) => request.url().includes("/api/run") && starts.push(request.postData()));
  return starts;
}

test("a race is described, drawn, and shown in the timeline", needed, () => withPage(file, async (page) => {
  const starts = startsOf(page);
  await page.click("#tab-races");
  await page.waitForSelector(".race-picture");
  const races = spawnSync(PROGRAM, ["races", file, "--json"], { maxBuffer: 1 << 26 });
  assert.equal(races.status, 4);
  const said = JSON.parse(races.stdout).processes[0].groups[0];
  const card = await page.textContent("ol .finding");
  for (const text of [said.text, said.first.text, said.second.text, said.missing, said.fix]) assert.ok(card.includes(text), `${text} is not in ${card}`);
  assert.equal(await page.locator(".race-picture path.missing").count(), 1);
  assert.match(await page.getAttribute(".race-picture", "aria-label"), /launch 1 of fill.*launch 2 of blur.*nothing makes/);
  assert.match(await page.textContent(".run-panel"), /3 launches of 3 kernels, from 1 program/);
  await page.click(".run-panel summary");
  await page.click("text=Show the source");
  await page.getByText("kernel void blur(").waitFor();
  await page.getByRole("button", { name: /^Show in the timeline: launch 2 of blur/ }).click();
  await page.waitForFunction(() => document.querySelector("#tab-timeline").getAttribute("aria-selected") === "true" && window.timeline.range);
  const [row] = JSON.parse(execFileSync(PROGRAM, ["query", file, "SELECT duration_ns FROM kernel WHERE name = 'blur'", "--json"]));
  assert.equal(await page.evaluate(() => window.timeline.range.end - window.timeline.range.begin), row.duration_ns);
  assert.deepEqual(starts, []);
}));

test("a click confirms the race and checks determinism; results stay", needed, () => withPage(file, async (page) => {
  const starts = startsOf(page);
  await page.click("#tab-races");
  await page.getByRole("button", { name: "Run the commands of each race in both orders" }).click();
  await page.waitForSelector(".outcome.confirmed");
  assert.match(await page.textContent(".outcome"), /Confirmed: in the opposite order launch 2 of blur leaves different bytes/);
  await page.getByRole("button", { name: "Check determinism" }).click();
  await page.waitForSelector(".divergence");
  assert.match(await page.textContent("section[aria-label=Determinism]"), /launch 2 of blur: missing synchronisation.*65,536 elements differ/s);
  assert.deepEqual(starts.map((body) => JSON.parse(body).what), ["confirm", "determinism"]);
  await page.reload();
  await page.waitForSelector(".divergence");
  await page.waitForSelector(".outcome.confirmed");
  assert.equal(starts.length, 2);
}));

test("a run can be cancelled", needed, () => withPage(file, async (page) => {
  await page.click("#tab-races");
  await page.getByRole("button", { name: "Check determinism" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText(/^Cancelled after/).waitFor();
  assert.equal(await page.isEnabled("text=Check determinism"), true);
}));

test("without a recording the page says how to make one", () => withPage(trace(), async (page) => {
  await page.click("#tab-races");
  await page.getByText("tracesmith profile --record -o run.sbt -- PROGRAM").waitFor();
  assert.equal(await page.locator(".run-panel").count(), 0);
}));
