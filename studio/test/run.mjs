// SPDX-License-Identifier: Apache-2.0
// Bundles the tests, since Node.js reads no TypeScript with JSX, and runs them.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "studio-test-"));
const tests = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
await build({ entryPoints: tests.map((name) => join(here, name)), outdir: folder, bundle: true, platform: "node",
  format: "esm", outExtension: { ".js": ".mjs" }, logLevel: "warning" });
const { status } = spawnSync(process.execPath, ["--test", ...tests.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")))],
  { stdio: "inherit" });
rmSync(folder, { recursive: true });
process.exit(status ?? 1);
