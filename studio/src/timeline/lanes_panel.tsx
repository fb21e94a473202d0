// SPDX-License-Identifier: Apache-2.0
// Chooses the lanes of the timeline: shown, pinned to the top, in which order.
import { useState } from "react";
import { printable } from "../format/quantities.ts";
import type { LaneChoice } from "./lanes.ts";

export function LanesPanel({ choice, changed }: { choice: LaneChoice; changed: () => void }) {
  const [, setCount] = useState(0);
  const act = (action: () => void) => {
    action();
    setCount((n) => n + 1);
    changed();
  };
  return (
    <section className="lanes">
      <h2>Lanes</h2>
      <input type="search" placeholder="Only lanes with…" aria-label="Only lanes with this text" value={choice.filter} onChange={(e) => act(() => { choice.filter = e.target.value; })} />
      <p>
        <button onClick={() => act(() => choice.collapseAll(true))}>Fold all</button>{" "}
        <button onClick={() => act(() => choice.collapseAll(false))}>Unfold all</button>{" "}
        <button onClick={() => act(() => choice.reset())}>As at first</button>
      </p>
      {choice.groups().map(({ heading, lanes }) => (
        <fieldset key={heading.group}>
          <legend>
            {printable(heading.label, 60)}{" "}
            <button aria-label={`Move ${printable(heading.label, 60)} up`} onClick={() => act(() => choice.move(heading.group, -1))}>↑</button>
            <button aria-label={`Move ${printable(heading.label, 60)} down`} onClick={() => act(() => choice.move(heading.group, 1))}>↓</button>
          </legend>
          {lanes.filter((lane) => lane.first !== false).slice(0, 300).map((lane) => (
            <div key={lane.id}>
              <label><input type="checkbox" checked={!choice.hidden.has(lane.id)} onChange={() => act(() => choice.toggle("hidden", lane.id))} /> {printable(lane.label, 60)}</label>
              <label className="soft"><input type="checkbox" checked={choice.pinned.has(lane.id)} onChange={() => act(() => choice.toggle("pinned", lane.id))} aria-label={`Pin ${printable(lane.label, 60)}`} /> pin</label>
            </div>
          ))}
        </fieldset>
      ))}
    </section>
  );
}
