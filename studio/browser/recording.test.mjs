// SPDX-License-Identifier: Apache-2.0
// The commands of a recording in a browser, and memory before and after a launch.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { before, test } from "node:test";
import { PROGRAM, RACE_DEMO, raceTrace, trace, withPage } from "./harness.mjs";

const needed = { skip: !existsSync(RACE_DEMO) };
let file;
before(() => {
  if (!needed.skip) file = raceTrace();
});

const open = async (page) => {
  await page.click("#tab-recording");
  await page.waitForSelector(".command-row.launch");
};

test("commands are listed, filtered, and chosen by keys", needed, () => withPage(file, async (page) => {
  await open(page);
  const info = JSON.parse(execFileSync(PROGRAM, ["info", file.replace(".sbt", ".sbr"), "--json"])).processes[0];
  await page.selectOption("[aria-label='Which commands']", "all");
  await page.getByText(`${info.commands} commands`, { exact: true }).waitFor();
  await page.selectOption("[aria-label='Which commands']", "launches");
  await page.getByText("3 commands", { exact: true }).waitFor();
  await page.focus(".command-list");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.getByRole("heading", { name: "launch 2: blur" }).waitFor();
  assert.equal(await page.getAttribute(".command-list", "aria-activedescendant"), "command-1");
  assert.match(await page.textContent(".source"), /^kernel void blur\(/);
  assert.doesNotMatch(await page.textContent(".source"), /kernel void sum/);
  await page.getByLabel("Whole program").check();
  await page.waitForFunction(() => /kernel void sum/.test(document.querySelector(".source").textContent));
  await page.fill("[aria-label='Kind or name']", "nothing like this");
  await page.getByText("There is no such command.").waitFor();
}));

test("a click runs up to a launch and shows its memory", needed, () => withPage(file, async (page) => {
  const starts = [];
  page.on("request", (request) => request.url().includes("/api/run") && starts.push(JSON.parse(request.postData())));
  await open(page);
  await page.click(".command-row.launch >> nth=1");
  await page.getByText(/the first 2 of 3 launches/).waitFor();
  assert.deepEqual(starts, []);
  await page.getByRole("button", { name: "Run up to here" }).click();
  await page.getByText(/the launch changed 65,536 of 65,536 elements/).waitFor();
  assert.deepEqual(starts, [{ what: "replay", launch: 2, buffers: [1, 2] }]);
  const first = await page.$$eval(".content tbody tr:first-child td", (cells) => cells.map((cell) => cell.textContent));
  const dump = execFileSync(PROGRAM, ["replay", file, "--order", "serial", "--until", "2", "--dump", "2@2", "--dump-as", "float"]).toString();
  assert.deepEqual(first, ["0", "0", dump.match(/^ *0: (\S+)/m)[1]]);
  await page.selectOption("select[aria-label=Memory]", "1");
  await page.getByText("the launch changed nothing").waitFor();
  await page.selectOption("select[aria-label=Memory]", "2");
  await page.click("text=Heat map");
  await page.waitForSelector(".cells canvas");
  const colours = () => page.$eval(".cells canvas", (canvas) => new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size);
  assert.ok(await colours() > 50);
  assert.match(await page.getAttribute(".cells canvas", "aria-label"), /Heat map of buffer 2, after: values from .* to 1\.99/);
  await page.getByRole("button", { name: "Before", exact: true }).click();
  await page.getByRole("img", { name: /before: values from 0 to 0/ }).waitFor();
  assert.equal(await colours(), 1);
  await page.click("button:text-is('Image')");
  await page.getByRole("img", { name: /^Image of buffer 2/ }).waitFor();
  await page.reload();
  await page.waitForSelector(".command-row.launch");
  await page.click(".command-row.launch >> nth=0");
  await page.getByText("The last run stopped at launch 2").waitFor();
  assert.equal(starts.length, 1);
}));

test("a trace without a recording", () => withPage(trace(), async (page) => {
  await page.click("#tab-recording");
  await page.getByText("tracesmith profile --record -o run.sbt -- PROGRAM").waitFor();
}));
