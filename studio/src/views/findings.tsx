// SPDX-License-Identifier: Apache-2.0
import { useState } from "react";
import type { ViewProps } from "../app/views.tsx";
import { keep, kept } from "../data/kept.ts";
import { server } from "../data/server.ts";
import type { Table, Value } from "../data/types.ts";
import { useAnswer } from "../data/use_answer.ts";
import { count, duration, printable, share } from "../format/quantities.ts";


function rowsOf(table: Table | undefined): Record<string, Value>[] {
  return (table?.rows ?? []).map((row) => Object.fromEntries(table!.columns.map((c, i) => [c.key, row[i] ?? null])));
}
/** A number stays on the line of its unit. */
const text = (value: Value | undefined) =>
  printable(String(value ?? ""), 2000).replace(/(\d) (?=%|[nµm]?s\b|[KMGT]?i?B\b)/g, "$1\u00a0");

export function Findings({ trace, go, failed }: ViewProps) {
  const tables = useAnswer(server.findings, failed, [trace]);
  return tables ? <FindingList tables={tables} trace={trace.name} go={go} /> : <p className="soft wait">Looking for findings…</p>;
}

function FindingList({ tables, trace, go }: { tables: Table[]; trace: string; go: ViewProps["go"] }) {
  const store = `tracesmith.dismissed:${trace}`;
  const [dismissed, setDismissed] = useState(() => kept<string[]>(store, []));
  const dismiss = (titles: string[]) => {
    setDismissed(titles);
    keep(store, titles);
  };
  const verdict = rowsOf(tables.find((t) => t.key === "verdict"))[0]?.["text"];
  const all = rowsOf(tables.find((t) => t.key === "findings"));
  const list = all.filter((f) => !dismissed.includes(String(f["title"])));
  const rest = rowsOf(tables.find((t) => t.key === "not_checked"));
  return (
    <div className="findings">
      <p className="verdict">{text(verdict)}</p>
      {all.length === 0 && <p>No rule found a problem.</p>}
      <ol>{list.map((f, i) => <FindingCard key={i} finding={f} go={go} dismiss={() => dismiss([...dismissed, String(f["title"])])} />)}</ol>
      {list.length < all.length && <button onClick={() => dismiss([])}>Show {count(all.length - list.length)} dismissed</button>}
      {rest.length > 0 && (
        <section>
          <h3>Not checked</h3>
          <ul className="soft">{rest.map((row, i) => <li key={i}>{text(row["why"])}</li>)}</ul>
        </section>
      )}
    </div>
  );
}

function FindingCard({ finding: f, go, dismiss }: { finding: Record<string, Value>; go: ViewProps["go"]; dismiss: () => void }) {
  const begin = f["begin_ns"], end = f["end_ns"], part = f["share"], gain = f["gain"];
  return (
    <li className={`finding ${f["severity"]} ${f["part_of"] ? "part" : ""}`}>
      <h2>{text(f["title"])}</h2>
      {typeof part === "number" && <meter min={0} max={1} value={part} aria-label="Share of the run">{share(part)}</meter>}
      <dl>
        <dt>Why</dt><dd>{text(f["cause"])}</dd>
        <dt>Shown by</dt>
        <dd>
          {text(f["evidence"])}
          {typeof begin === "number" && typeof end === "number" && <> <button onClick={() => go(begin, end)}>Show {duration(begin)} to {duration(end)}</button></>}
          <Command line={String(f["evidence_command"] ?? "")} />
        </dd>
        <dt>Do</dt><dd>{text(f["advice"])}</dd>
        <dt>Gain</dt>
        <dd>
          {typeof gain === "number"
            ? `${share(gain)} shorter ${text(f["gain_change"])} (simulated; without the change ${share(Number(f["gain_error"] ?? 0))} off)`
            : `Cannot say: ${text(f["gain_unknown"])}`}
          <Command line={String(f["gain_command"] ?? "")} />
        </dd>
      </dl>
      <p className="soft">{text(f["rule"])} · {text(f["severity"])} <button onClick={dismiss}>Dismiss</button></p>
    </li>
  );
}

function Command({ line }: { line: string }) {
  if (line === "") return null;
  return (
    <div className="command">
      <code>{printable(line, 500)}</code>
      <button onClick={() => void navigator.clipboard.writeText(line)} aria-label={`Copy: ${printable(line, 100)}`}>Copy</button>
    </div>
  );
}
