// SPDX-License-Identifier: Apache-2.0
// Notes of the user at times of the trace. The server keeps them beside the trace.
import { useEffect, useRef } from "react";
import type { Note } from "../data/types.ts";
import { duration } from "../format/quantities.ts";

interface Props {
  notes: readonly Note[];
  /** The note that was just made. */
  fresh: number | null;
  change: (notes: Note[]) => void;
  go: (note: Note) => void;
}

export function Notes({ notes, fresh, change, go }: Props) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    if (fresh !== null) list.current?.querySelectorAll("textarea")[fresh]?.focus();
  }, [fresh]);
  return (
    <section className="notes">
      <h2>Notes</h2>
      <ul ref={list}>
        {notes.map((note, i) => (
          <li key={`${note.begin_ns}/${i}/${notes.length}`}>
            <button className="name" onClick={() => go(note)}>{duration(note.begin_ns)}{note.end_ns > note.begin_ns && ` to ${duration(note.end_ns)}`}</button>
            <button onClick={() => change(notes.filter((_, k) => k !== i))} aria-label={`Delete note ${i + 1}`}>×</button>
            <textarea rows={2} maxLength={2000} defaultValue={note.text} aria-label={`Note ${i + 1}`}
              onBlur={(e) => { if (e.target.value !== note.text) change(notes.map((n, k) => (k === i ? { ...n, text: e.target.value } : n))); }} />
          </li>
        ))}
      </ul>
      {notes.length === 0 && <p className="soft">The key m makes a note: at the selection, or in the middle.</p>}
    </section>
  );
}
