// SPDX-License-Identifier: Apache-2.0
// What the tests of the page share: traces, a browser, pages of a server or of a report. Environment:
// TRACESMITH_BIN, the folder of the command; TRACESMITH_TEST_DATA, real traces (optional).
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before } from "node:test";
import { chromium } from "playwright-core";

export const PROGRAM = join(process.env.TRACESMITH_BIN ?? "", "tracesmith");
export const REAL = join(process.env.TRACESMITH_TEST_DATA ?? "/nonexistent", "traces/hta/tests/data/trace_diff/control/control.json.gz");
export const HOSTILE = ["<img src=x onerror=\"document.title='run'\">", "</script><script>document.title='run'</script>",
  "\u202egnp.exe", "line\nbreak\"'&", `long ${"x".repeat(100_000)}`];
export const LABELS = 210; // width of the labels

export let folder;
let browser;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "studio-browser-"));
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** Kernels of 1 ms at 10, 20, ... ms on stream 7, each launched 2 ms before. */
export function trace() {
  const events = HOSTILE.map((name, i) => ({ ph: "X", cat: "cpu_op", name, pid: 1, tid: 1, ts: i * 10_000, dur: 9_000, args: {} }));
  for (let i = 1; i <= 9; ++i) {
    events.push({ ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts: i * 10_000 - 2_000, dur: 500, args: { correlation: i } });
    events.push({ ph: "X", cat: "kernel", name: `void gemm_${i % 3}<float>(int)`, pid: 0, tid: 7, ts: i * 10_000, dur: 1_000,
      args: { device: 0, stream: 7, correlation: i } });
  }
  const path = join(folder, "t.json");
  writeFileSync(path, JSON.stringify({ schemaVersion: 1, traceEvents: events }));
  return path;
}

export const RACE_DEMO = join(process.env.TRACESMITH_BIN ?? "", "race_demo");

/** A trace with its recording, of a program that lacks a wait. */
export function raceTrace() {
  const file = join(folder, "race.sbt");
  execFileSync(PROGRAM, ["profile", "-q", "--record", "-o", file, "--", RACE_DEMO], { stdio: "ignore" });
  return file;
}

/** A trace with the call stacks of a program's calls. */
export function stackTrace() {
  const file = join(folder, "stacks.sbt");
  execFileSync(PROGRAM, ["profile", "-q", "--stacks", "-o", file, "--", RACE_DEMO], { stdio: "ignore" });
  return file;
}

/** Runs `use(page)`; no message of the browser may say that something is wrong, but that the server refused a
 * question, if `refused`. Other `options` are those of a browser context. */
export async function browserPage(use, { refused = false, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => {
    // The browser's notes of an answer, and of a test that looks at pixels.
    const expected = (refused && /status of 4\d\d/.test(message.text())) || /willReadFrequently/.test(message.text());
    if (["error", "warning"].includes(message.type()) && !expected) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("dialog", (dialog) => problems.push(`dialog: ${dialog.message()}`));
  try {
    await use(page);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
  }
}

/** Runs `use(page, url)` with the page of a trace, or of two. */
export async function withPage(path, use, options = {}) {
  const server = spawn(PROGRAM, ["studio", ...[path].flat(), "--no-browser"], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => server.once("error", resolve).once("exit", resolve));
  const url = await Promise.race([
    new Promise((resolve) => createInterface(server.stdout).once("line", resolve)),
    ended.then((code) => Promise.reject(new Error(`studio ended before it served: ${code}`))),
  ]);
  try {
    await browserPage(async (page) => {
      await page.goto(url);
      await page.waitForSelector("canvas");
      await page.waitForFunction(() => window.timeline?.frame > 0 && !window.timeline.blank);
      await use(page, url);
    }, options);
  } finally {
    server.kill("SIGINT");
    await ended;
  }
}

export const verdictOf = async (page) => (await page.textContent(".verdict")).replaceAll("\u00a0", " ");

/** Opens a report of the trace from disk; the page asks nothing of anybody. */
export async function withReport(path, use) {
  const file = join(folder, "report.html");
  execFileSync(PROGRAM, ["report", path, "-o", file], { stdio: "pipe" });
  const asked = [];
  await browserPage(async (page) => {
    page.on("request", (request) => /^(file:.*report\.html|blob:|data:)/.test(request.url()) || asked.push(request.url()));
    await page.goto(`file://${file}`);
    await page.waitForSelector(".verdict");
    await use(page);
  }, { offline: true });
  assert.deepEqual(asked, []);
}

/** Whether pixels of a line of the canvas differ from the lane's ground, in CSS pixels from the left. */
export const painted = (page, y) => page.evaluate((line) => {
  const canvas = document.querySelector("canvas");
  const ratio = canvas.width / canvas.clientWidth;
  const data = canvas.getContext("2d").getImageData(0, Math.round(line * ratio), canvas.width, 1).data;
  const ground = [data[4 * (canvas.width - 2)], data[4 * (canvas.width - 2) + 1], data[4 * (canvas.width - 2) + 2]];
  const out = [];
  for (let x = 0; x < canvas.width; ++x) {
    if (Math.abs(data[4 * x] - ground[0]) + Math.abs(data[4 * x + 1] - ground[1]) + Math.abs(data[4 * x + 2] - ground[2]) > 60) out.push(x / ratio);
  }
  return out;
}, y);
