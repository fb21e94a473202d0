// SPDX-License-Identifier: Apache-2.0
// Any table of an analysis or a query: sorted by a click, filtered by a word.
import { useMemo, useState } from "react";
import type { Table, Value } from "../data/types.ts";
import { printable, shown } from "../format/quantities.ts";

const MOST_ROWS = 500;

function before(a: Value | undefined, b: Value | undefined): number {
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : 1;
  if (b === null || b === undefined) return -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}

interface Props {
  table: Table;
  narrow?: boolean;
  /** For a name in the first column: shows more of it. */
  open?: (name: string) => void;
  canOpen?: (name: string) => boolean;
}

export function ReportTable({ table, narrow = false, open, canOpen = () => true }: Props) {
  const [order, setOrder] = useState<{ column: number; down: boolean } | null>(null);
  const [filter, setFilter] = useState("");
  const [all, setAll] = useState(false);
  const rows = useMemo(() => {
    const word = filter.toLowerCase();
    const kept = table.rows.filter((row) => word === "" || row.some((v) => typeof v === "string" && v.toLowerCase().includes(word)));
    if (order) kept.sort((a, b) => before(a[order.column], b[order.column]) * (order.down ? -1 : 1));
    return kept;
  }, [table, order, filter]);
  const isNumber = useMemo(() => table.columns.map((column, i) => column.quantity !== "text" ||
    (table.rows.length > 0 && table.rows.every((row) => typeof row[i] === "number" || row[i] === null))), [table]);
  const visible = all ? rows : rows.slice(0, narrow ? 8 : MOST_ROWS);
  return (
    <section className="table">
      {table.title && <h2>{table.title}</h2>}
      {!narrow && table.rows.length > 10 && <input type="search" placeholder="Filter" aria-label={`Filter ${table.title}`} value={filter} onChange={(e) => setFilter(e.target.value)} />}
      {table.rows.length > 0 && (
        <div className="scroll">
          <table>
            <thead>
              <tr>
                {table.columns.map((column, i) => (
                  <th key={column.key + i} scope="col" className={isNumber[i] ? "number" : ""} aria-sort={order?.column === i ? (order.down ? "descending" : "ascending") : "none"}>
                    <button onClick={() => setOrder({ column: i, down: order?.column === i ? !order.down : isNumber[i] === true })}>
                      {printable(column.title, 60)}{order?.column === i ? (order.down ? " ↓" : " ↑") : ""}
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {visible.map((row, r) => (
                <tr key={r}>
                  {table.columns.map((column, i) => {
                    const text = shown(row[i], column.quantity);
                    return <td key={i} className={isNumber[i] ? "number" : ""} title={text.length > 60 ? printable(text, 2000) : undefined}>
                      {open && i === 0 && typeof row[0] === "string" && canOpen(row[0]) ? <button className="name" onClick={() => open(String(row[0]))}>{printable(text, 120)}</button> : printable(text, 120)}
                    </td>;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {visible.length < rows.length && <button onClick={() => setAll(true)}>Show all {rows.length.toLocaleString("en-US")} rows</button>}
      {table.note && <p className="soft">{table.note}</p>}
    </section>
  );
}
