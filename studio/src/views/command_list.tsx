// SPDX-License-Identifier: Apache-2.0
// The list of recorded commands: only the rows in view are asked for and drawn.
import { useEffect, useRef, useState } from "react";
import { recording } from "../data/recording.ts";
import type { Command, Shown } from "../data/recording.ts";
import { bytes, count, printable } from "../format/quantities.ts";

const ROW = 24, PAGE = 200;
/** Browsers do not draw higher elements. */
const MOST_ROWS = 700_000;

interface Props {
  show: Shown;
  text: string;
  selected: Command | null;
  select: (command: Command) => void;
  failed: (error: Error) => void;
}

export function CommandList({ show, text, selected, select, failed }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const pages = useRef(new Map<number, Command[] | "asked">());
  const [total, setTotal] = useState<number | null>(null);
  const [top, setTop] = useState(0);
  const [at, setAt] = useState(-1);
  const [, redraw] = useState(0);
  const filter = useRef("");

  const need = (page: number) => {
    if (page < 0 || pages.current.has(page)) return;
    const asked = filter.current;
    pages.current.set(page, "asked");
    recording.commands(show, text, page * PAGE, PAGE).then((found) => {
      if (filter.current !== asked) return;
      pages.current.set(page, found.commands);
      setTotal(found.total);
      redraw((n) => n + 1);
    }, (error: Error) => {
      pages.current.delete(page);
      failed(error);
    });
  };
  useEffect(() => {
    filter.current = `${show} ${text}`;
    pages.current.clear();
    setAt(-1);
    box.current?.scrollTo(0, 0);
    const timer = setTimeout(() => need(0), text === "" ? 0 : 200);
    return () => clearTimeout(timer);
  }, [show, text]);

  const rowOf = (row: number): Command | null => {
    const page = pages.current.get(Math.floor(row / PAGE));
    return page === undefined || page === "asked" ? null : page[row % PAGE] ?? null;
  };
  const rows = Math.min(total ?? 0, MOST_ROWS);
  const height = box.current?.clientHeight ?? 600;
  const first = Math.max(0, Math.floor(top / ROW) - 5), last = Math.min(rows, Math.ceil((top + height) / ROW) + 5);
  useEffect(() => {
    if (total === null) return;
    for (let page = Math.floor(first / PAGE); page * PAGE < last; ++page) need(page);
  });

  const choose = (row: number) => {
    const command = rowOf(row);
    setAt(row);
    if (command) select(command);
  };
  const keys = (event: React.KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / ROW) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows, End: rows }[event.key];
    if (step === undefined || rows === 0) return;
    event.preventDefault();
    const next = Math.min(Math.max(at + step, 0), rows - 1);
    choose(next);
    if (next * ROW < top) box.current?.scrollTo(0, next * ROW);
    else if ((next + 1) * ROW > top + height) box.current?.scrollTo(0, (next + 1) * ROW - height);
  };
  return (
    <>
      <div className="command-row head"><span>No.</span><span>Command</span><span>Kernel or object</span><span>Queue</span><span>Size</span><span>Waits for</span></div>
      <div ref={box} className="command-list" role="listbox" tabIndex={0} aria-label="Recorded commands" aria-activedescendant={at >= first && at < last ? `command-${at}` : undefined}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)} onKeyDown={keys}>
        {total === 0 && <p className="soft">There is no such command.</p>}
        {/* Drawn by the browser as far as it is in view. */}
        <div className="command-space" style={{ height: rows * ROW }}>
          {Array.from({ length: last - first }, (_, i) => first + i).map((row) => {
            const command = rowOf(row);
            return (
              <div key={row} id={`command-${row}`} role="option" aria-selected={command !== null && command.step === selected?.step} aria-posinset={row + 1} aria-setsize={rows}
                className={`command-row ${command?.launch !== null ? "launch" : ""}`} style={{ top: row * ROW }} onClick={() => choose(row)}>
                {command && <Row command={command} />}
              </div>
            );
          })}
        </div>
      </div>
      <p className="soft count" role="status">
        {total === null ? "Reading the commands…" : `${count(total)} commands`}{total !== null && total > rows && `; the first ${count(rows)} are listed: choose fewer`}
      </p>
    </>
  );
}

function Row({ command }: { command: Command }) {
  const size = command.shape + (command.group === "" ? "" : ` / ${command.group}`) || (command.bytes === null ? "" : bytes(command.bytes));
  const waits = command.waits.map((w) => (w === null ? "?" : count(w))).join(", ");
  return (
    <>
      <span>{count(command.sequence)}</span>
      <span>{command.kind}{command.launch !== null && ` ${count(command.launch)}`}</span>
      <span title={command.name.length > 24 ? printable(command.name, 500) : undefined}>{printable(command.name, 100)}</span>
      <span>{command.queue}</span>
      <span title={size.length > 16 ? size : undefined}>{size}</span>
      <span title={waits.length > 10 ? waits : undefined}>{waits}</span>
    </>
  );
}
