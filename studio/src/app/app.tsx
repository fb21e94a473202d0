// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useState } from "react";
import { keep, kept } from "../data/kept.ts";
import { Replaced, server } from "../data/server.ts";
import type { TraceInfo } from "../data/types.ts";
import { count, duration, printable } from "../format/quantities.ts";
import { Timeline } from "../timeline/timeline.tsx";
import { noteAddress, readAddress } from "./address.ts";
import { VIEWS } from "./views.tsx";

const TIMELINE = { key: "timeline", title: "Timeline" };
const SHOWN = VIEWS.filter((view) => server.live || view.reported);
/** A report starts with its findings. */
const TABS = server.live ? [TIMELINE, ...SHOWN] : [...SHOWN.slice(0, 1), TIMELINE, ...SHOWN.slice(1)];

function firstTab(): string {
  const asked = readAddress(location.hash).tab;
  return (TABS.find((tab) => tab.key === asked) ?? TABS[0] ?? TIMELINE).key;
}

export function App() {
  const [trace, setTrace] = useState<TraceInfo | null>(null);
  const [tab, setTab] = useState(firstTab);
  const [error, setError] = useState<Error | null>(null);
  const [go, setGo] = useState<{ begin: number; end: number } | null>(null);
  const [note, setNote] = useState("");
  const failed = useCallback((problem: Error) => {
    if (!(problem instanceof Replaced)) setError(problem);
  }, []);

  const load = useCallback(() => {
    setError(null);
    server.trace().then(setTrace, failed);
  }, [failed]);
  useEffect(load, [load]);
  // The file may grow or be replaced.
  useEffect(() => {
    if (!trace || !server.live) return;
    const timer = setInterval(() => {
      server.status().then((status) => {
        setNote(status.note);
        if (status.generation !== trace.generation) load();
      }, () => undefined); // the next question tells that the server is gone
    }, trace.complete ? 3000 : 700);
    return () => clearInterval(timer);
  }, [trace, load]);
  useEffect(() => {
    if (trace) document.title = `${trace.name.split("/").pop()} – TraceSmith Studio`;
  }, [trace]);

  const open = (next: string) => {
    setTab(next);
    noteAddress({ tab: next });
  };
  const keys = (event: React.KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = TABS[(TABS.findIndex((t) => t.key === tab) + step + TABS.length) % TABS.length];
    if (next) {
      open(next.key);
      document.getElementById(`tab-${next.key}`)?.focus();
    }
  };
  const tabs = TABS.filter((t) => t.key !== "compare" || (trace !== null && trace.before !== ""));
  return (
    <>
      <header>
        <strong className="brand">TraceSmith</strong>
        <div role="tablist" aria-label="Views" onKeyDown={keys}>
          {tabs.map((t) => (
            <button key={t.key} id={`tab-${t.key}`} role="tab" aria-selected={t.key === tab} aria-controls="view" tabIndex={t.key === tab ? 0 : -1} onClick={() => open(t.key)}>{t.title}</button>
          ))}
        </div>
        <span className="grow" />
        {trace && (
          <span className="soft file" title={printable(trace.name, 1000)}>
            {printable(trace.name.split("/").pop() ?? "", 60)} · {count(trace.events)} events · {duration(trace.duration_ns)}
            {!trace.complete && " · incomplete or still being written"}
          </span>
        )}
        <ThemeButton />
      </header>
      {note && <div className="note" role="status">{printable(note, 500)}</div>}
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
            {SHOWN.map(({ key, View }) => key === tab && <View key={key} trace={trace} failed={failed} go={(begin, end) => { setGo({ begin, end }); open("timeline"); }} />)}
          </>
        )}
      </main>
    </>
  );
}

function ThemeButton() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const [theme, setTheme] = useState(() => kept("tracesmith.theme", dark ? "dark" : "light"));
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    keep("tracesmith.theme", theme);
    window.timeline?.redraw();
  }, [theme]);
  return <button aria-label="Light or dark" onClick={() => setTheme(theme === "dark" ? "light" : "dark")}>{theme === "dark" ? "Light" : "Dark"}</button>;
}
