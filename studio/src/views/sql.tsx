// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "react";
import { keep, kept } from "../data/kept.ts";
import { server } from "../data/server.ts";
import type { Table } from "../data/types.ts";
import { count } from "../format/quantities.ts";
import { ReportTable } from "./report_table.tsx";
import { ResultChart } from "./result_chart.tsx";
import { Waiting } from "./waiting.tsx";

const WORDS = ["SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "DESC", "count(*)", "sum(", "avg(", "min(", "max(", "percentile(", "BETWEEN", "HAVING", "WITH"];
const STORE = "tracesmith.queries";
const FIRST = "SELECT family, count(*) AS kernels, sum(duration_ns) AS ns FROM kernel GROUP BY family ORDER BY ns DESC";

function download(table: Table): void {
  const cell = (v: unknown) => (v === null || v === undefined ? "" : /[",\n\r]/.test(String(v)) ? `"${String(v).replaceAll('"', '""')}"` : String(v));
  const lines = [table.columns.map((c) => cell(c.title)), ...table.rows.map((row) => row.map(cell))].map((row) => row.join(","));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
  link.download = "result.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

type Schema = { name: string; columns: string[] }[];
const WORD = /[A-Za-z_][\w]*$/;
/** The query, and the word before the cursor in lower case. */
const NOTHING = { text: "", word: "" };

/** Tables, columns and words of SQL that begin with the word before the cursor. */
function completions(schema: Schema, { text, word }: typeof NOTHING): string[] {
  if (word.length < 2) return [];
  const columns = schema.filter((table) => text.includes(table.name)).flatMap((table) => table.columns);
  const words = new Set([...schema.map((table) => table.name), ...columns, ...WORDS]);
  return [...words].filter((w) => w.toLowerCase().startsWith(word) && w.toLowerCase() !== word).slice(0, 8);
}

export function Sql({ failed }: { failed: (error: Error) => void }) {
  const input = useRef<HTMLTextAreaElement>(null);
  const [schema, setSchema] = useState<Schema>([]);
  const [queries, setQueries] = useState(() => kept<string[]>(STORE, []));
  const [result, setResult] = useState<{ table: Table; more: boolean } | { error: string } | "running" | null>(null);
  const [typed, setTyped] = useState(NOTHING);
  const matches = completions(schema, typed);
  const [chart, setChart] = useState(false);
  const ending = useRef<AbortController | null>(null);
  useEffect(() => () => ending.current?.abort(), []);
  useEffect(() => void server.schema().then(setSchema, failed), [failed]);

  const remember = () => {
    const at = input.current;
    setTyped(at ? { text: at.value, word: WORD.exec(at.value.slice(0, at.selectionStart))?.[0].toLowerCase() ?? "" } : NOTHING);
  };
  const accept = (word: string) => {
    const at = input.current;
    if (!at) return;
    at.setRangeText(word, at.value.slice(0, at.selectionStart).search(WORD), at.selectionStart, "end");
    setTyped(NOTHING);
    at.focus();
  };

  const run = async () => {
    const sql = input.current?.value.trim() ?? "";
    if (sql === "" || result === "running") return;
    setResult("running");
    const list = [sql, ...queries.filter((q) => q !== sql)].slice(0, 50);
    setQueries(list);
    keep(STORE, list);
    ending.current = new AbortController();
    try {
      const { columns, rows, more } = await server.query(sql, ending.current.signal);
      setResult({ table: { key: "result", title: "", note: "", columns, rows }, more });
    } catch (error) {
      setResult({ error: (error as Error).message });
    }
  };
  const insert = (word: string) => {
    const at = input.current;
    if (!at) return;
    at.setRangeText(word, at.selectionStart, at.selectionEnd, "end");
    at.focus();
  };
  return (
    <div className="sides">
      <nav aria-label="Tables and columns">
        {schema.map((table) => (
          <details key={table.name}>
            <summary>{table.name}</summary>
            <button onClick={() => insert(table.name)}><em>insert {table.name}</em></button>
            {table.columns.map((column) => <button key={column} onClick={() => insert(column)}>{column}</button>)}
          </details>
        ))}
      </nav>
      <div className="main">
        <textarea ref={input} rows={5} spellCheck={false} aria-label="SQL query" defaultValue={queries[0] ?? FIRST}
          onInput={remember} onClick={remember} aria-describedby="completions"
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              void run();
            } else if (event.key === " " && event.ctrlKey && matches[0]) {
              event.preventDefault();
              accept(matches[0]);
            }
          }} />
        <div className="completions soft" id="completions">
          {matches.length > 0 && <>Ctrl+Space: {matches.map((word) => <button key={word} onClick={() => accept(word)}>{word}</button>)}</>}
        </div>
        <div className="bar">
          <button className="main-button" onClick={() => void run()}>Run (Ctrl+Enter)</button>
          {queries.length > 0 && (
            <select aria-label="Earlier queries" value="" onChange={(event) => { if (input.current) input.current.value = event.target.value; }}>
              <option value="" disabled>Earlier queries</option>
              {queries.map((q) => <option key={q} value={q}>{q.slice(0, 100)}</option>)}
            </select>
          )}
          {result && result !== "running" && "table" in result && <><button onClick={() => download(result.table)}>Save as CSV</button><button aria-pressed={chart} onClick={() => setChart(!chart)}>Chart</button></>}
        </div>
        <div aria-live="polite">
          {result === "running" && <Waiting what="Running" stop={() => ending.current?.abort()} />}
          {result && result !== "running" && ("error" in result
            ? <p className="error">{result.error}</p>
            : <>
                <p className="soft">{count(result.table.rows.length)} rows{result.more && ", and there are more"}</p>
                {chart && <ResultChart table={result.table} />}
                <ReportTable table={result.table} />
              </>)}
        </div>
      </div>
    </div>
  );
}
