// SPDX-License-Identifier: Apache-2.0
// Makes the pictures of Studio's views of a recording in docs/images.
// Usage: node recording_screenshots.mjs FOLDER, with TRACESMITH_BIN set
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [folder] = process.argv.slice(2);
const bin = resolve(process.env.TRACESMITH_BIN ?? "");
if (!folder) throw new Error("usage: node recording_screenshots.mjs FOLDER");
const work = mkdtempSync(join(tmpdir(), "studio-pictures-"));
copyFileSync(join(bin, "race_demo"), join(work, "race_demo"));
execFileSync(join(bin, "tracesmith"), ["profile", "-q", "--record", "-o", "race.sbt", "--", "./race_demo"], { cwd: work, stdio: "ignore" });
const server = spawn(join(bin, "tracesmith"), ["studio", "race.sbt", "--no-browser"], { cwd: work, stdio: ["ignore", "pipe", "ignore"] });
const url = await new Promise((done) => createInterface(server.stdout).once("line", done));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 810 } });
await page.goto(url);
await page.click("#tab-races");
await page.getByRole("button", { name: "Run the commands of each race in both orders" }).click();
await page.waitForSelector(".outcome");
await page.screenshot({ path: join(folder, "studio_races.png") });
await page.click("#tab-recording");
await page.click(".command-row.launch >> nth=0");
await page.getByRole("button", { name: "Run up to here" }).click();
await page.getByRole("button", { name: "Heat map" }).click();
await page.waitForSelector(".cells canvas");
await page.getByLabel("Elements of a row").fill("629"); // a period of the sine
await page.evaluate(() => document.querySelector(".content").scrollIntoView());
await page.waitForTimeout(500);
await page.screenshot({ path: join(folder, "studio_recording.png") });
await browser.close();
server.kill("SIGINT");
rmSync(work, { recursive: true });
