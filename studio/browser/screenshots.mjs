// SPDX-License-Identifier: Apache-2.0
// Makes the pictures of Studio in docs/images. Usage: node screenshots.mjs TRACE FOLDER, with TRACESMITH_BIN set
import { spawn } from "node:child_process";
import { basename, dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [trace, folder] = process.argv.slice(2);
if (!trace || !folder) throw new Error("usage: node screenshots.mjs TRACE FOLDER");
const program = resolve(process.env.TRACESMITH_BIN ?? "", "tracesmith");
const server = spawn(program, ["studio", basename(trace), "--no-browser"], { cwd: dirname(resolve(trace)), stdio: ["ignore", "pipe", "inherit"] });
const url = await new Promise((done) => createInterface(server.stdout).once("line", done));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
await page.goto(url);
await page.waitForFunction(() => window.timeline?.frame > 0 && !window.timeline.blank);
await page.fill("[type=search]", process.env.SEARCH ?? "cunn_SoftMaxForward");
await page.keyboard.press("Enter");
await page.waitForSelector("aside h2");
await page.waitForTimeout(500);
await page.evaluate(() => {
  const of = window.timeline, at = of.selected;
  of.show({ begin: at.begin_ns - 5e6, end: at.begin_ns + 9e6 });
});
await page.waitForTimeout(1000);
await page.screenshot({ path: join(folder, "studio_timeline.png") });
await page.click("#tab-findings");
await page.waitForSelector(".finding");
await page.waitForTimeout(300);
await page.screenshot({ path: join(folder, "studio_findings.png") });
await browser.close();
server.kill("SIGINT");
