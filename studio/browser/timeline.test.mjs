// SPDX-License-Identifier: Apache-2.0
// What the user does with the timeline: overlays, lanes, the list of matches.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { LABELS, REAL, stackTrace, trace, withPage } from "./harness.mjs";

const settled = (page) => page.waitForFunction(() => window.timeline.frame > 0 && !window.timeline.blank);

test("idle causes and the critical path are painted over the lanes", { skip: !existsSync(REAL) }, () => withPage(REAL, async (page) => {
  await page.evaluate(() => window.timeline.show({ begin: 100e6, end: 150e6 }));
  await settled(page);
  const late = () => page.evaluate(() => {
    const canvas = document.querySelector("canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) count += data[i] === 0xd5 && data[i + 1] === 0x5e && data[i + 2] === 0 ? 1 : 0;
    return count;
  });
  const before = await late();
  await page.selectOption("[aria-label=Overlay]", "idle");
  await page.getByText("the host was late").waitFor();
  await page.waitForTimeout(200);
  assert.ok(await late() > before + 1000);
  await page.mouse.move(900, 200);
  await page.keyboard.press("Escape");
  await page.selectOption("[aria-label=Overlay]", "path");
  await page.getByText("launch overhead").waitFor();
  assert.ok(await page.evaluate(() => window.timeline.overlay.marks.length) > 0);
  await page.selectOption("[aria-label=Overlay]", "");
  await page.getByText("launch overhead").waitFor({ state: "detached" });
}));

test("lanes are pinned, hidden, filtered and moved, and stay so", { skip: !existsSync(REAL) }, () => withPage(REAL, async (page) => {
  const labels = () => page.evaluate(() => window.timeline.choice.shown().map(({ lane, pinned }) => (pinned ? "pinned " : "") + lane.label));
  await page.getByRole("button", { name: /^Lanes/ }).click();
  await page.getByLabel("Pin stream 21").check();
  assert.equal((await labels())[0], "pinned stream 21");
  await page.getByLabel("stream 22", { exact: true }).uncheck();
  assert.ok(!(await labels()).includes("stream 22"));
  await page.getByRole("button", { name: /^Move device 3.* down$/ }).click();
  await page.reload();
  await page.waitForFunction(() => window.timeline?.frame > 0 && !window.timeline.blank);
  const after = await labels();
  assert.equal(after[0], "pinned stream 21");
  assert.ok(after.findIndex((label) => label.startsWith("process")) < after.findIndex((label) => label.startsWith("device 3")));
  await page.getByRole("button", { name: /^Lanes/ }).click();
  await page.getByLabel("Only lanes with this text").fill("stream");
  assert.ok((await labels()).every((label) => /stream|device/.test(label)));
  await page.getByRole("button", { name: "Fold all", exact: true }).click();
  assert.deepEqual(await labels(), ["pinned stream 21", "device 3: NVIDIA A100-PG509-200"]);
  await page.getByRole("button", { name: "As at first" }).click();
  assert.equal((await labels())[0], "device 3: NVIDIA A100-PG509-200");
}));

test("stacks of the threads are lanes, and stay shown", () => withPage(stackTrace(), async (page) => {
  await page.locator("canvas").first().focus();
  await page.keyboard.press("t");
  await page.waitForFunction(() => window.timeline.stackRows().some((row) => row.depths > 1));
  const { x, y } = await page.evaluate(() => window.timeline.placeOfFunction("main"));
  const box = await page.locator("canvas").first().boundingBox();
  await page.mouse.move(box.x + x, box.y + y);
  await page.getByText("on the stack of calls").waitFor();
  assert.equal(await page.locator(".tip strong").textContent(), "main");
  await page.reload();
  await page.waitForFunction(() => window.timeline?.stackRows().some((row) => row.depths > 1));
  await page.getByRole("button", { name: "Stacks ( t )", pressed: true }).click();
  assert.equal(await page.evaluate(() => window.timeline.stackRows().length), 0);
}));

test("the list of matches goes to each", () => withPage(trace(), async (page) => {
  await page.fill("[type=search]", "gemm");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "9 matches" }).waitFor();
  await page.locator(".hits button").nth(4).click();
  await page.waitForFunction(() => window.timeline.selected?.begin_ns === 50e6);
  assert.equal(await page.locator(".hits [aria-current=true]").count(), 1);
  await page.keyboard.press("Escape");
}));

test("a note is made by a key, kept, and shown after a reload", () => withPage(trace(), async (page) => {
  await page.evaluate(() => window.timeline.show({ begin: 0, end: 60e6 }));
  await page.focus("canvas");
  await page.keyboard.press("m");
  await page.keyboard.type("slow <b>here</b>");
  await page.focus("canvas");
  await page.getByRole("button", { name: "Notes (1)" }).waitFor();
  await page.waitForTimeout(200);
  await page.reload();
  await page.getByRole("button", { name: "Notes (1)" }).click();
  assert.equal(await page.inputValue("[aria-label='Note 1']"), "slow <b>here</b>");
  await page.getByRole("button", { name: "Delete note 1" }).click();
  await page.getByRole("button", { name: "Notes", exact: true }).waitFor();
}));

test("colours go round by a key", () => withPage(trace(), async (page) => {
  await page.focus("canvas");
  for (const by of ["name", "stream", "kind"]) {
    await page.keyboard.press("c");
    assert.equal(await page.inputValue("[aria-label=Colours]"), by);
  }
}));

test("fingers move and zoom", () => withPage(trace(), async (page) => {
  const client = await page.context().newCDPSession(page);
  const touch = (type, ...points) => client.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
  const seen = () => page.evaluate(() => ({ ...window.timeline.window }));
  const whole = await seen();
  // Two fingers that part show half the time, about what lies between them.
  await touch("touchStart", [600, 300]);
  await touch("touchStart", [600, 300], [800, 300]);
  await touch("touchMove", [550, 300], [850, 300]);
  await touch("touchMove", [500, 300], [900, 300]);
  await touch("touchEnd");
  await settled(page);
  const near = await seen();
  const part = (near.end - near.begin) / (whole.end - whole.begin);
  assert.ok(Math.abs(part - 0.5) < 0.02, `${part}`);
  assert.equal(await page.locator("dl.facts").count(), 0, "two fingers select nothing");
  // One finger moves by what is under it.
  await touch("touchStart", [800, 300]);
  await touch("touchMove", [750, 300]);
  await touch("touchMove", [700, 300]);
  await touch("touchEnd");
  const moved = await seen();
  const width = await page.evaluate(() => document.querySelector("canvas").clientWidth);
  const perPixel = (near.end - near.begin) / (width - LABELS);
  assert.ok(Math.abs(moved.begin - near.begin - 100 * perPixel) < 3 * perPixel);
  assert.ok(Math.abs(moved.end - moved.begin - (near.end - near.begin)) < 1);
}, { hasTouch: true }));

test("a screen of 3840 x 2160 pixels has sharp lines", () => withPage(trace(), async (page) => {
  const sizes = await page.evaluate(() => {
    const canvas = document.querySelector("canvas");
    return { pixels: canvas.width, css: canvas.clientWidth };
  });
  assert.equal(sizes.pixels, Math.round(2 * sizes.css));
  assert.ok(sizes.css > 1800);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 1920);
}, { viewport: { width: 1920, height: 1080 }, deviceScaleFactor: 2 }));
