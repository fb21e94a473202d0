// SPDX-License-Identifier: Apache-2.0
// How long Studio takes to show a trace of 10 million events (ten.sbt), what its frames cost on a tour, and its first
// picture beside speedscope's of the same million events (one.sbt, one.json).
// Usage: studio_page.mjs TRACESMITH FOLDER SPEEDSCOPE
import { spawn } from "node:child_process";
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "../studio/node_modules/playwright-core/index.mjs";

const [program, folder, speedscope] = process.argv.slice(2);
const BAR_FIRST_MS = 2000, BAR_FRAME_MS = 6, BAR_PEER = 1 / 5;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
let missed = false;
const tell = (text, met) => {
  console.log(`${text}${met ? "" : "   MISSED"}`);
  missed ||= !met;
};
const p95 = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)];

async function withPage(use) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    return await use(await context.newPage());
  } finally {
    await context.close();
  }
}

/** Calls use(page, ms until the server has read the trace, ms until the first picture without a missing tile). */
async function withStudio(trace, use) {
  return withPage(async (page) => {
    const start = performance.now();
    const server = spawn(program, ["studio", trace, "--no-browser"], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      const url = await new Promise((resolve) => createInterface(server.stdout).once("line", resolve));
      const read = performance.now() - start;
      await page.goto(url);
      await page.waitForFunction(() => window.timeline?.frame > 0 && !window.timeline.blank);
      return await use(page, read, performance.now() - start);
    } finally {
      const ended = new Promise((resolve) => server.once("exit", resolve));
      server.kill("SIGINT");
      await ended;
    }
  });
}

/** Zooms in at several places and out again, pans, and waits for nothing: each frame's script time, and whether it
 * lacked a tile. */
const tour = (page) => page.evaluate(async () => {
  const view = window.timeline;
  const whole = view.trace.duration_ns;
  const costs = [];
  let blanks = 0;
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const show = async (begin, end) => {
    view.show({ begin, end });
    await frame();
    costs.push(view.frame);
    blanks += view.blank ? 1 : 0;
  };
  for (const place of [0.1, 0.35, 0.5, 0.72, 0.9]) {
    const at = place * whole;
    let length = whole;
    for (; length > 20_000; length *= 0.8) await show(at - length / 2, at + length / 2);
    for (let i = 0; i < 60; ++i) await show(at - length / 2 + (i * length) / 10, at + length / 2 + (i * length) / 10);
    for (; length < whole; length *= 1.3) await show(at - length / 2, at + length / 2);
  }
  return { costs, blanks };
});

await withStudio(join(folder, "ten.sbt"), async (page, read, first) => {
  const events = await page.evaluate(() => window.timeline.trace.events);
  tell(`${events} events: first picture after ${Math.round(first)} ms, ${Math.round(read)} of them to read (bar: ${BAR_FIRST_MS})`, first <= BAR_FIRST_MS);
  const { costs, blanks } = await tour(page);
  tell(`${costs.length} frames of a tour: p95 of script time ${p95(costs).toFixed(1)} ms (bar: ${BAR_FRAME_MS})`, p95(costs) <= BAR_FRAME_MS);
  tell(`${blanks} frames lacked a tile (bar: 0)`, blanks === 0);
});

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };
const files = createServer((request, response) => {
  const name = new URL(request.url, "http://x").pathname;
  const file = name === "/one.json" ? join(folder, name) : join(speedscope, name);
  if (!existsSync(file)) return response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
});
await new Promise((resolve) => files.listen(0, "127.0.0.1", resolve));
const base = `http://127.0.0.1:${files.address().port}/`;
const ours = await withStudio(join(folder, "one.sbt"), (page, read, first) => first);
const theirs = await withPage(async (page) => {
  const start = performance.now();
  await page.goto(`${base}index.html#profileURL=${encodeURIComponent(`${base}one.json`)}`);
  await page.waitForFunction(() => document.title !== "speedscope" && document.querySelector("canvas") !== null, undefined, { timeout: 300_000 });
  return performance.now() - start;
});
files.close();
files.closeAllConnections();
tell(`a million events: first picture after ${Math.round(ours)} ms, speedscope's after ${Math.round(theirs)} ms: ${(ours / theirs).toFixed(2)} (bar: ${BAR_PEER})`, ours / theirs <= BAR_PEER);
await browser.close();
process.exitCode = missed ? 1 : 0;
