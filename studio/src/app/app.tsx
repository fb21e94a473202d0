// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useState } from "react";
import { server } from "../data/server.ts";
import type { Table, TraceInfo } from "../data/types.ts";
import { count, duration, printable } from "../format/quantities.ts";
import { Timeline } from "../timeline/timeline.tsx";
import { Findings } from "../views/findings.tsx";
import { Sql } from "../views/sql.tsx";
import { Tables } from "../views/tables.tsx";
import { noteAddress, readAddress } from "./address.ts";

const ALL = ["timeline", "findings", "tables", "sql"] as const;
type Tab = (typeof ALL)[number];
const TABS: readonly Tab[] = server.live ? ALL : ["findings", "timeline", "tables"];
const TITLES: Record<Tab, string> = { timeline: "Timeline", findings: "Findings", tables: "Tables", sql: "SQL" };

function firstTab(): Tab {
  const asked = readAddress(location.hash).tab;
  return TABS.find((tab) => tab === asked) ?? TABS[0] ?? "timeline";
}

export function App() {
  const [trace, setTrace] = useState<TraceInfo | null>(null);
  const [findings, setFindings] = useState<Table[] | null>(null);
  const [tab, setTab] = useState<Tab>(firstTab);
  const [error, setError] = useState<Error | null>(null);
  const [go, setGo] = useState<{ begin: number; end: number } | null>(null);
  const failed = useCallback((problem: Error) => setError(problem), []);

  const load = useCallback(() => {
    setError(null);
    server.trace().then(setTrace, failed);
  }, [failed]);
  useEffect(load, [load]);
  useEffect(() => {
    if (trace && tab === "findings" && !findings) server.findings().then(setFindings, failed);
  }, [trace, tab, findings, failed]);
  useEffect(() => {
    if (trace) document.title = `${trace.name.split("/").pop()} – TraceSmith Studio`;
  }, [trace]);

  const open = (next: Tab) => {
    setTab(next);
    noteAddress({ tab: next });
  };
  const keys = (event: React.KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length];
    if (next) {
      open(next);
      document.getElementById(`tab-${next}`)?.focus();
    }
  };
  return (
    <>
      <header>
        <strong className="brand">TraceSmith</strong>
        <div role="tablist" aria-label="Views" onKeyDown={keys}>
          {TABS.map((t) => (
            <button key={t} id={`tab-${t}`} role="tab" aria-selected={t === tab} aria-controls="view" tabIndex={t === tab ? 0 : -1} onClick={() => open(t)}>{TITLES[t]}</button>
          ))}
        </div>
        <span className="grow" />
        {trace && (
          <span className="soft file" title={printable(trace.name, 1000)}>
            {printable(trace.name.split("/").pop() ?? "", 60)} · {count(trace.events)} events · {duration(trace.duration_ns)}
            {!trace.complete && " · incomplete"}
          </span>
        )}
        <ThemeButton />
      </header>
      {error && (
        <div className="error" role="alert">
          {error.message} <button onClick={load}>Try again</button> <button onClick={() => setError(null)}>Close</button>
        </div>
      )}
      <main id="view" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {!trace ? !error && <p className="soft wait">Reading the trace…</p> : (
          <>
            {/* Kept, so that going back shows the same picture. */}
            <div className={tab === "timeline" ? "fill" : "hidden"}><Timeline trace={trace} go={go} failed={failed} /></div>
            {tab === "findings" && (findings
              ? <Findings tables={findings} trace={trace.name} go={(begin, end) => { setGo({ begin, end }); open("timeline"); }} />
              : <p className="soft wait">Looking for findings…</p>)}
            {tab === "tables" && <Tables failed={failed} />}
            {tab === "sql" && <Sql failed={failed} />}
          </>
        )}
      </main>
    </>
  );
}

function ThemeButton() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const [theme, setTheme] = useState(localStorage.getItem("tracesmith.theme") ?? (dark ? "dark" : "light"));
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem("tracesmith.theme", theme);
    window.timeline?.redraw();
  }, [theme]);
  return <button aria-label="Light or dark" onClick={() => setTheme(theme === "dark" ? "light" : "dark")}>{theme === "dark" ? "Light" : "Dark"}</button>;
}
