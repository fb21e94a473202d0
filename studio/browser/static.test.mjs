// SPDX-License-Identifier: Apache-2.0
// The page as plain files, from a web server that knows nothing of it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { test } from "node:test";
import { PROGRAM, REAL, browserPage, folder, trace } from "./harness.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** Runs `use(page, url)` with a server of plain files. */
async function withFiles(path, use) {
  const site = join(folder, `site-${Math.random()}`);
  execFileSync(PROGRAM, ["studio", path, "--static", site], { stdio: "pipe" });
  const server = createServer((request, response) => {
    const name = new URL(request.url, "http://x").pathname;
    const file = join(site, name === "/" ? "index.html" : name);
    if (!existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}/`;
  try {
    await browserPage(async (page) => {
      await page.goto(url);
      await page.waitForSelector(".verdict");
      await use(page, url);
    }, { refused: true });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

const shown = (page) => page.waitForFunction(() => window.timeline?.frame > 0 && !window.timeline.blank);

test("plain files show items at every scale, also by a link", { skip: !existsSync(REAL) }, () => withFiles(REAL, async (page, url) => {
  await page.click("#tab-timeline");
  await shown(page);
  for (const [begin, end] of [[0, 500e6], [100e6, 130e6], [100e6, 101e6], [100e6, 100.02e6]]) {
    await page.evaluate(([b, e]) => window.timeline.show({ begin: b, end: e }), [begin, end]);
    await page.waitForTimeout(400);
    await shown(page);
  }
  const far = await page.context().newPage();
  await far.goto(`${url}#tab=timeline&from=100000000&to=100020000`);
  await shown(far);
}));

test("plain files have the views that need no server", () => withFiles(trace(), async (page) => {
  const tabs = await page.$$eval("[role=tab]", (all) => all.map((tab) => tab.textContent));
  assert.deepEqual(tabs.filter((tab) => ["SQL", "What if"].includes(tab)), []);
  await page.click("#tab-tables");
  await page.click("tbody button.name");
  await page.waitForSelector(".chart canvas");
  await page.click("#tab-stacks");
  await page.selectOption(".stacks select", "launches");
  await page.getByText("9 · 100.0 %").waitFor();
}));
