// SPDX-License-Identifier: Apache-2.0
// Which lanes are shown, and in which order: as the user left them at the last visit.
import { keep, kept } from "../data/kept.ts";
import type { Lane } from "../data/types.ts";

interface Kept {
  pinned: number[];
  hidden: number[];
  collapsed: number[];
  order: number[];
  stacks: boolean;
}

export class LaneChoice {
  readonly pinned: Set<number>;
  readonly hidden: Set<number>;
  readonly collapsed: Set<number>;
  /** Whether the lanes of stacks are shown. */
  stacks: boolean;
  /** Only lanes, or groups, whose label has this text. */
  filter = "";
  private order: number[];
  private readonly key: string;

  constructor(trace: string, private readonly lanes: readonly Lane[]) {
    this.key = `tracesmith.lanes:${trace}`;
    const old = kept<Partial<Kept>>(this.key, {});
    this.pinned = new Set(old.pinned);
    this.hidden = new Set(old.hidden);
    this.collapsed = new Set(old.collapsed);
    this.stacks = old.stacks ?? false;
    const groups = lanes.filter((lane) => lane.heading).map((lane) => lane.group);
    const known = (old.order ?? []).filter((group) => groups.includes(group));
    this.order = [...known, ...groups.filter((group) => !known.includes(group))];
  }

  private save(): void {
    keep(this.key, { pinned: [...this.pinned], hidden: [...this.hidden], collapsed: [...this.collapsed], order: this.order, stacks: this.stacks });
  }

  toggle(set: "pinned" | "hidden" | "collapsed", id: number): void {
    if (!this[set].delete(id)) this[set].add(id);
    this.save();
  }
  showStacks(shown: boolean): void {
    this.stacks = shown;
    this.save();
  }
  collapseAll(collapsed: boolean): void {
    this.collapsed.clear();
    if (collapsed) for (const group of this.order) this.collapsed.add(group);
    this.save();
  }
  move(group: number, by: number): void {
    const at = this.order.indexOf(group);
    const to = at + by;
    if (at < 0 || to < 0 || to >= this.order.length) return;
    this.order.splice(at, 1);
    this.order.splice(to, 0, group);
    this.save();
  }
  reset(): void {
    this.pinned.clear();
    this.hidden.clear();
    this.collapsed.clear();
    this.stacks = false;
    this.filter = "";
    this.order.sort((a, b) => a - b);
    this.save();
  }

  /** Groups in their order, each with its lanes. */
  groups(): { heading: Lane; lanes: Lane[] }[] {
    return this.order.flatMap((group) => {
      const heading = this.lanes.find((lane) => lane.heading && lane.group === group);
      const of = this.lanes.filter((lane) => !lane.heading && lane.group === group && (this.stacks || lane.type !== "stacks"));
      of.sort((a, b) => (a.after ?? a.id) - (b.after ?? b.id));
      return heading ? [{ heading, lanes: of }] : [];
    });
  }

  private matches(label: string): boolean {
    return this.filter === "" || label.toLowerCase().includes(this.filter.toLowerCase());
  }

  /** What is drawn: pinned lanes, then the others below their headings. A further lane of a stream goes with it. */
  shown(): { lane: Lane; pinned: boolean }[] {
    const out: { lane: Lane; pinned: boolean }[] = [];
    const rest: { lane: Lane; pinned: boolean }[] = [];
    for (const { heading, lanes } of this.groups()) {
      const all = this.matches(heading.label);
      const of: Lane[] = [];
      let owner = -1;
      for (const lane of lanes) {
        if (lane.first !== false) owner = lane.id;
        if (this.hidden.has(owner) || !(all || this.matches(lane.label))) continue;
        if (this.pinned.has(owner)) out.push({ lane, pinned: true });
        else of.push(lane);
      }
      if (of.length === 0) continue;
      rest.push({ lane: heading, pinned: false });
      if (!this.collapsed.has(heading.group)) rest.push(...of.map((lane) => ({ lane, pinned: false })));
    }
    return [...out, ...rest];
  }
}
