// SPDX-License-Identifier: Apache-2.0
// Predictions of changes, by the emulator: what `tracesmith whatif` says, and each stream before and after.
import { useEffect, useRef, useState } from "react";
import type { ViewProps } from "../app/views.tsx";
import { STOPPED, server } from "../data/server.ts";
import type { Cells, Changes, WhatIfAnswer } from "../data/types.ts";
import { useAnswer } from "../data/use_answer.ts";
import { duration, printable, share } from "../format/quantities.ts";
import { coloursOf, css } from "../timeline/colours.ts";
import { ReportTable } from "./report_table.tsx";
import { Waiting } from "./waiting.tsx";

const KINDS = { scale: "Scale durations", remove: "Remove", fuse: "Fuse neighbours", bandwidth: "Scale copy bandwidth", streams: "Use this many streams" } as const;
type Kind = keyof typeof KINDS;
interface Change {
  kind: Kind;
  what: string;
  value: string;
}
const NOTHING: Change[] = [];

function changesOf(list: readonly Change[], allowUnmatched: boolean): Changes {
  const out: Changes = { scale: [], remove: [], fuse: [], bandwidth: [], allow_unmatched: allowUnmatched };
  for (const { kind, what, value } of list) {
    if (kind === "scale") out.scale.push(`${what}:${value}`);
    else if (kind === "bandwidth") out.bandwidth.push(what === "" ? value : `${what}=${value}`);
    else if (kind === "streams") out.streams = Number(value);
    else out[kind].push(what);
  }
  return out;
}

function commandOf(changes: Changes, file: string): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const options = (["scale", "remove", "fuse", "bandwidth"] as const).flatMap((key) => changes[key].map((text) => `--${key} ${quote(text)}`));
  if (changes.streams !== undefined) options.push(`--streams ${changes.streams}`);
  if (changes.allow_unmatched) options.push("--allow-unmatched");
  return ["tracesmith whatif", quote(file), ...options].join(" ");
}

/** A name as a pattern that matches just it. */
export function exactly(name: string): string {
  return `kernel=^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
}

export function WhatIf({ trace, failed }: ViewProps) {
  const [list, setList] = useState<Change[]>(NOTHING);
  const [allow, setAllow] = useState(false);
  const [answer, setAnswer] = useState<WhatIfAnswer | "running" | { error: string } | null>(null);
  const kernels = useAnswer(server.kernelNames, failed, [trace]);
  const end = useRef(() => {});
  const changes = changesOf(list, allow);
  const ask = JSON.stringify(changes);

  useEffect(() => {
    if (list.length === 0) {
      setAnswer(null);
      return;
    }
    const ending = new AbortController();
    let wanted = true;
    end.current = () => ending.abort();
    setAnswer("running");
    server.whatIf(JSON.parse(ask) as Changes, ending.signal).then(
      (found) => wanted && setAnswer(found),
      (error: Error) => wanted && setAnswer({ error: error.message }));
    return () => {
      wanted = false;
      ending.abort();
    };
  }, [ask, list.length, trace]);

  return (
    <div className="page">
      <AddChange kernels={kernels ?? []} add={(change) => setList([...list.filter((c) => c.kind !== "streams" || change.kind !== "streams"), change])} />
      <ul className="changes" aria-label="Changes">
        {list.map((change, i) => (
          <li key={i}>
            {KINDS[change.kind]}: <strong>{printable(change.what, 160)}</strong>{change.value !== "" && `${change.kind === "streams" ? "" : " × "}${printable(change.value, 20)}`}
            {" "}<button onClick={() => setList(list.filter((_, k) => k !== i))} aria-label={`Drop change ${i + 1}`}>×</button>
          </li>
        ))}
      </ul>
      {list.length === 0 && <p className="soft">Add a change to see what the run would take. The emulator computes the times of the whole trace again: host threads, launches, streams, copies. It does not run the program.</p>}
      <div aria-live="polite">
        {answer === "running" && <Waiting what="Predicting" stop={() => end.current()} />}
        {answer !== null && answer !== "running" && ("error" in answer
          ? <div className="error" role="alert">{printable(answer.error, 1000)} {!allow && answer.error !== STOPPED && <button onClick={() => setAllow(true)}>Keep the recorded start of work without a launch</button>}</div>
          : <Prediction answer={answer} kinds={trace.kinds} />)}
      </div>
      {list.length > 0 && <div className="command"><code>{printable(commandOf(changes, trace.name), 1000)}</code></div>}
    </div>
  );
}

function AddChange({ kernels, add }: { kernels: string[]; add: (change: Change) => void }) {
  const [kind, setKind] = useState<Kind>("scale");
  const [what, setWhat] = useState("");
  const [value, setValue] = useState("0.5");
  const named = kind === "scale" || kind === "remove" || kind === "fuse";
  const valued = kind !== "remove" && kind !== "fuse";
  const pick = (next: Kind) => {
    setKind(next);
    setWhat("");
    setValue(next === "scale" ? "0.5" : next === "bandwidth" ? "2x" : next === "streams" ? "2" : "");
  };
  return (
    <form className="bar" onSubmit={(e) => { e.preventDefault(); if (!named || what !== "") add({ kind, what, value: valued ? value : "" }); }}>
      <select aria-label="Kind of change" value={kind} onChange={(e) => pick(e.target.value as Kind)}>
        {Object.entries(KINDS).map(([key, title]) => <option key={key} value={key}>{title}</option>)}
      </select>
      {named && (
        <>
          <input className="wide" list="kernels" aria-label="Kernel, or a pattern" placeholder="kernel name, or a pattern such as gemm, call=cudaMalloc, host" value={what} onChange={(e) => setWhat(e.target.value)} />
          <datalist id="kernels">{kernels.map((name) => <option key={name} value={exactly(name)}>{printable(name, 100)}</option>)}</datalist>
        </>
      )}
      {kind === "bandwidth" && (
        <select aria-label="Direction" value={what} onChange={(e) => setWhat(e.target.value)}>
          <option value="">all directions</option><option value="h2d">host to device</option><option value="d2h">device to host</option>
          <option value="d2d">on the device</option><option value="p2p">between devices</option>
        </select>
      )}
      {valued && <label>{kind === "streams" ? "" : "factor "}<input size={5} aria-label={kind === "streams" ? "Number of streams" : "Factor"} value={value} onChange={(e) => setValue(e.target.value)} /></label>}
      <button className="main-button">Add</button>
    </form>
  );
}

function Prediction({ answer, kinds }: { answer: WhatIfAnswer; kinds: string[] }) {
  const saved = 1 - answer.predicted_ns / answer.unchanged_ns;
  return (
    <>
      <p className="verdict">
        {saved >= 0 ? `${share(saved)} shorter` : `${share(-saved)} longer`}: {duration(answer.predicted_ns)} instead of {duration(answer.unchanged_ns)}.{" "}
        <span className="soft">Both by the model; recorded: {duration(answer.recorded_ns)}.</span>
      </p>
      <div className="predictions" role="img" aria-label="Streams as recorded and as predicted">
        {answer.streams.map((stream, i) => (
          <div key={i} className="stream">
            <span className="soft">{printable(stream.label, 40)}</span>
            <div><Strip cells={stream.recorded} kinds={kinds} /><Strip cells={stream.predicted} kinds={kinds} /></div>
          </div>
        ))}
        <p className="soft">Each stream: above as recorded, below as predicted, on one scale of {duration(Math.max(answer.recorded_ns, answer.predicted_ns))}.</p>
      </div>
      {answer.tables.map((table) => <ReportTable key={table.key} table={table} />)}
    </>
  );
}

function Strip({ cells, kinds }: { cells: Cells; kinds: string[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    const colours = coloursOf(kinds);
    context.clearRect(0, 0, cells.busy.length, 1);
    cells.busy.forEach((busy, x) => {
      if (busy === 0) return;
      context.globalAlpha = 0.25 + 0.75 * (busy / 100);
      context.fillStyle = css(colours[cells.kind[x] ?? 0] ?? 0x8892a0);
      context.fillRect(x, 0, 1, 1);
    });
  }, [cells, kinds]);
  return <canvas ref={canvas} width={cells.busy.length} height={1} />;
}
