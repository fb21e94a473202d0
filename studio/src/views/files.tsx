// SPDX-License-Identifier: Apache-2.0
// Where the trace comes from: processes, devices, clocks, losses, as `tracesmith info` says.
import type { ViewProps } from "../app/views.tsx";
import { server } from "../data/server.ts";
import type { Json } from "../data/types.ts";
import { useAnswer } from "../data/use_answer.ts";
import { bytes, count, printable } from "../format/quantities.ts";

export function Files({ trace, failed }: ViewProps) {
  const info = useAnswer(server.info, failed, [trace]);
  if (info === null) return <p className="soft wait">Reading…</p>;
  const facts = Object.entries(info).filter(([, value]) => typeof value !== "object" || value === null);
  const parts = Object.entries(info).filter(([, value]) => typeof value === "object" && value !== null)
    .sort(([a], [b]) => placeOf(a) - placeOf(b));
  return (
    <div className="page">
      <dl className="facts">{facts.map(([key, value]) => <div key={key}><dt>{titleOf(key)}</dt><dd>{textOf(key, value)}</dd></div>)}</dl>
      {parts.map(([key, value]) => <section key={key}><h2>{titleOf(key)}</h2><Part value={value} /></section>)}
    </div>
  );
}

/** What says most about a run comes first; what other tools noted comes last. */
const LAST = ["tables", "metadata"];
function placeOf(key: string): number {
  return LAST.indexOf(key);
}

function titleOf(key: string): string {
  const text = key.replaceAll("_", " ");
  return printable(text.charAt(0).toUpperCase() + text.slice(1), 80);
}

function textOf(key: string, value: Json): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return key.endsWith("bytes") ? bytes(value) : count(value);
  return value === null ? "–" : printable((typeof value === "string" ? value : JSON.stringify(value)).replace(/\s+/g, " "), 400);
}

function Part({ value }: { value: Json }) {
  if (Array.isArray(value)) {
    const rows = value.filter((row): row is { [key: string]: Json } => typeof row === "object" && row !== null && !Array.isArray(row));
    if (value.length === 0) return <p className="soft">none</p>;
    if (rows.length < value.length) return <p>{value.map((v) => textOf("", v)).join(", ")}</p>;
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    return (
      <div className="scroll"><table>
        <thead><tr>{columns.map((c) => <th key={c} scope="col">{titleOf(c)}</th>)}</tr></thead>
        <tbody>{rows.slice(0, 500).map((row, i) => <tr key={i}>{columns.map((c) => <td key={c}>{row[c] === undefined ? "" : textOf(c, row[c])}</td>)}</tr>)}</tbody>
      </table></div>
    );
  }
  if (typeof value !== "object" || value === null) return <p>{textOf("", value)}</p>;
  return <dl className="facts">{Object.entries(value).map(([key, v]) => <div key={key}><dt>{titleOf(key)}</dt><dd>{textOf(key, v)}</dd></div>)}</dl>;
}
