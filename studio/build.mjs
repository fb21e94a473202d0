// SPDX-License-Identifier: Apache-2.0
// Makes index.html, studio.js, charts.js and studio.css. Usage: node build.mjs FOLDER
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2];
if (!folder) throw new Error("usage: node build.mjs FOLDER");
mkdirSync(folder, { recursive: true });
await build({
  entryPoints: { studio: join(here, "src/main.tsx"), charts: join(here, "src/charts/charts.ts") },
  external: ["./charts.js"],
  outdir: folder,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  define: { "process.env.NODE_ENV": '"production"' },
  legalComments: "none",
  logLevel: "warning",
});
copyFileSync(join(here, "src/index.html"), join(folder, "index.html"));
