// SPDX-License-Identifier: Apache-2.0
// Values as the command shows them: 41.7 ms, 64.3 %, 103 GiB, 1,727.
import type { Quantity, Value } from "../data/types.ts";

/** Three significant digits. */
function three(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 || value === 0 ? 0 : size >= 9.995 ? 1 : 2);
}

export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size < 999.5) return `${Math.round(ns)} ns`;
  if (size < 999.5e3) return `${three(ns / 1e3)} µs`;
  if (size < 999.5e6) return `${three(ns / 1e6)} ms`;
  if (size < 999.5e9) return `${three(ns / 1e9)} s`;
  return `${count(Math.round(ns / 1e9))} s`;
}

/** A time with as many digits as tell it from another that is `distance` ns away. */
export function timeText(ns: number, distance: number): string {
  const size = Math.max(Math.abs(ns), distance);
  const [unit, word] = size < 1e3 ? [1, "ns"] : size < 1e6 ? [1e3, "µs"] : size < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  const digits = Math.max(0, Math.ceil(-Math.log10(distance / unit) - 1e-9));
  return `${(ns / unit).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${word}`;
}

export function count(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString("en-US") : String(value);
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  let size = value;
  while (Math.abs(size) >= 999.5 && unit < units.length - 1) {
    size /= 1024;
    ++unit;
  }
  return `${unit === 0 ? Math.round(size) : three(size)} ${units[unit]}`;
}

export function share(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

export function shown(value: Value | undefined, quantity: Quantity): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  switch (quantity) {
    case "ns":
    case "time_ns":
      return duration(value);
    case "share":
      return share(value);
    case "bytes":
      return bytes(value);
    case "bytes_per_second":
      return `${bytes(value)}/s`;
    case "count":
      return count(value);
    default:
      return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  }
}

/** Text of a trace for display: never too long, and with every invisible character visible. */
export function printable(text: string, most = 300): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  // Control characters, and those that change the direction of a text.
  return cut.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
