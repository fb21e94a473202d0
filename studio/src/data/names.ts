// SPDX-License-Identifier: Apache-2.0
// Names of items by their number, asked for in batches when they are first needed.
import type { Names } from "./types.ts";

export class NameStore {
  private known = new Map<number, string>();
  private wanted = new Set<number>();
  private waiting = false;

  constructor(
    private readonly changed: () => void,
    private readonly load: (ids: number[]) => Promise<Names>,
  ) {}

  /** The short name; "" until it is known. */
  short(id: number): string {
    const name = this.known.get(id);
    if (name !== undefined) return name;
    this.wanted.add(id);
    if (!this.waiting) {
      this.waiting = true;
      setTimeout(() => void this.ask(), 20);
    }
    return "";
  }

  private async ask(): Promise<void> {
    const ids = [...this.wanted].slice(0, 4000);
    try {
      for (const [id, name] of Object.entries(await this.load(ids))) this.known.set(Number(id), name.short);
    } catch {
      // The timeline shows no names; the next question says why.
    }
    for (const id of ids) {
      this.wanted.delete(id);
      if (!this.known.has(id)) this.known.set(id, "");
    }
    this.waiting = false;
    this.changed();
  }
}
