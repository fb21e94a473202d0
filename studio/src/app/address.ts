// SPDX-License-Identifier: Apache-2.0
// The view in the address of the page, so that a link shows the same thing.

export interface Address {
  tab?: string;
  from?: number; // ns
  to?: number;
  lane?: number;
  item?: number;
  part?: string;
}

const NUMBERS = ["from", "to", "lane", "item"] as const;

export function readAddress(hash: string): Address {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  const out: Address = {};
  const tab = values.get("tab");
  const part = values.get("part");
  if (tab) out.tab = tab;
  if (part) out.part = part;
  for (const key of NUMBERS) {
    const text = values.get(key);
    const value = Number(text);
    if (text !== null && text !== "" && Number.isFinite(value)) out[key] = value;
  }
  return out;
}

export function addressText(address: Address): string {
  const values = new URLSearchParams();
  for (const [key, value] of Object.entries(address)) {
    if (value !== undefined) values.set(key, typeof value === "number" ? String(Math.round(value)) : String(value));
  }
  return `#${values}`;
}

/** Changes the address without a step in the browser's history. */
export function noteAddress(change: Address): void {
  const next = addressText({ ...readAddress(location.hash), ...change });
  if (next !== location.hash) history.replaceState(null, "", next);
}
