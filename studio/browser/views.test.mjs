// SPDX-License-Identifier: Apache-2.0
// Stacks, memory, predictions, comparison and files in a browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { HOSTILE, PROGRAM, REAL, folder, trace, withPage } from "./harness.mjs";

const real = { skip: !existsSync(REAL) };
/** How many pixels of a canvas are not the ground. */
const inked = (page, selector) => page.$eval(selector, (canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 3; i < data.length; i += 4) count += data[i] > 0 ? 1 : 0;
  return count / (data.length / 4);
});

test("stacks zoom by keys and show the callers of a frame", real, () => withPage(REAL, async (page) => {
  await page.click("#tab-stacks");
  await page.waitForSelector(".flame canvas");
  assert.ok(await inked(page, ".flame canvas") > 0.2);
  await page.focus(".flame canvas");
  await page.keyboard.press("ArrowDown");
  assert.match(await page.textContent(".stacks .cut"), /forward/);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Show all" }).waitFor();
  await page.getByRole("button", { name: "Callers", exact: true }).click();
  await page.getByRole("button", { name: /^Callers of/ }).waitFor();
  await page.fill("[aria-label='Mark frames']", "forward");
  await page.getByText("marked: 100.0 %").waitFor();
}));

test("a prediction shows the numbers of whatif", real, () => withPage(REAL, async (page) => {
  await page.click("#tab-whatif");
  await page.fill("input.wide", "communication");
  await page.selectOption("[aria-label='Kind of change']", "remove");
  await page.fill("input.wide", "communication");
  await page.getByRole("button", { name: "Add" }).click();
  await page.waitForSelector(".predictions canvas");
  const said = JSON.parse(execFileSync(PROGRAM, ["whatif", REAL, "--remove", "communication", "--no-check", "--json"], { maxBuffer: 1 << 26 }));
  const [, unchanged, changed] = said.prediction.map((row) => row.makespan_ns);
  const shown = await page.textContent(".verdict");
  assert.ok(shown.startsWith(`${(100 * (1 - changed / unchanged)).toFixed(1)} % shorter`), shown);
  assert.equal(await page.textContent(".command code"), `tracesmith whatif '${REAL}' --remove 'communication'`);
  await page.getByRole("button", { name: "Drop change 1" }).click();
  await page.waitForSelector(".predictions", { state: "detached" });
}));

test("each kernel of the list can be chosen", () => withPage(trace(), async (page) => {
  await page.click("#tab-whatif");
  await page.waitForSelector("#kernels option", { state: "attached" });
  const patterns = await page.$$eval("#kernels option", (all) => all.map((option) => option.value));
  assert.equal(patterns.length, 3);
  for (const pattern of patterns) {
    await page.fill("input.wide", pattern);
    await page.getByRole("button", { name: "Add" }).click();
  }
  await page.waitForSelector(".predictions canvas");
  assert.equal(await page.locator(".page [role=alert]").count(), 0);
}));

test("a wrong change gets the message of the command", () => withPage(trace(), async (page) => {
  await page.click("#tab-whatif");
  await page.fill("input.wide", "nowhere");
  await page.getByRole("button", { name: "Add" }).click();
  assert.match(await page.textContent(".page [role=alert]"), /nowhere/);
}, { refused: true }));

test("two traces are compared, and a kernel's durations are shown before and after", () => {
  const before = join(folder, "before.json");
  const content = JSON.parse(readFileSync(trace(), "utf8"));
  for (const event of content.traceEvents) if (event.cat === "kernel") event.dur *= 2;
  writeFileSync(before, JSON.stringify(content));
  return withPage([before, trace()], async (page) => {
    await page.click("#tab-compare");
    await page.getByText("From").first().waitFor();
    assert.match(await page.textContent(".page"), /before\.json.*t\.json.*faster/s);
    await page.click("#tab-tables");
    await page.click("tbody button.name");
    await page.waitForSelector(".chart canvas");
    assert.equal(await page.locator(".chart canvas").count(), 2);
  });
});

test("memory of a real program, and names of any kind in files", () => {
  const file = join(folder, "run.sbt");
  execFileSync(PROGRAM, ["profile", "-q", "-o", file, "--", join(process.env.TRACESMITH_BIN, "opencl_demo")], { stdio: "ignore" });
  return withPage(file, async (page) => {
    await page.click("#tab-memory");
    await page.waitForSelector(".chart canvas");
    assert.ok(await inked(page, ".chart canvas") > 0.01);
    assert.match(await page.textContent(".page"), /Blocks that are allocated at the peak/);
    await page.getByRole("button", { name: /Show the peak/ }).click();
    await page.waitForFunction(() => document.querySelector("#tab-timeline").getAttribute("aria-selected") === "true");
    await page.click("#tab-files");
    await page.getByText("Devices").waitFor();
    assert.match(await page.textContent(".page"), /opencl_demo/);
  });
});

test("SQL completes names and draws a result", () => withPage(trace(), async (page) => {
  let answer; // the names of tables come after the words are typed
  const typed = new Promise((resolve) => { answer = resolve; });
  await page.route(/\/api\/schema/, (route) => typed.then(() => route.continue()));
  await page.click("#tab-sql");
  await page.fill("textarea", "");
  await page.locator("textarea").pressSequentially("select name, duration_ns from ker");
  answer();
  await page.getByRole("button", { name: "kernel", exact: true }).waitFor();
  await page.keyboard.press("Control+Space");
  assert.equal(await page.inputValue("textarea"), "select name, duration_ns from kernel");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("tbody tr");
  await page.getByRole("button", { name: "Chart" }).click();
  await page.waitForSelector(".chart canvas");
  assert.ok(await inked(page, ".chart canvas") > 0.01);
}));

test("hostile names stay text in every view", () => withPage(trace(), async (page) => {
  for (const tab of await page.$$eval("[role=tab]", (tabs) => tabs.map((t) => t.id))) {
    await page.click(`#${tab}`);
    await page.waitForTimeout(150);
    assert.equal(await page.locator("main img").count(), 0);
    assert.notEqual(await page.title(), "run");
  }
  assert.ok(HOSTILE.length > 0);
}));
