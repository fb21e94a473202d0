// SPDX-License-Identifier: Apache-2.0
// Flame graphs of the program's call stacks, or of the ranges around each launch if there are no stacks.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ViewProps } from "../app/views.tsx";
import { FRAME_HEIGHT, FlameGraph } from "../charts/flame.ts";
import { server } from "../data/server.ts";
import type { StackAnswer } from "../data/types.ts";
import { useAnswer } from "../data/use_answer.ts";
import { bytes, count, duration, printable, share } from "../format/quantities.ts";

const WEIGHTS = {
  device: "device time", host: "time in API calls", launches: "launches", bytes: "allocated bytes",
  cpu: "time on processors", wait: "time without running",
};
type Weight = keyof typeof WEIGHTS;

export function Stacks({ trace, failed }: ViewProps) {
  const [by, setBy] = useState<Weight>("device");
  const [reversed, setReversed] = useState(false);
  const [up, setUp] = useState(false);
  const [callersOf, setCallersOf] = useState("");
  const [match, setMatch] = useState("");
  const answer = useAnswer(() => server.stacks(by, reversed, callersOf), failed, [trace, by, reversed, callersOf]);
  return (
    <div className="stacks">
      <div className="bar">
        <label>Width: <select value={by} onChange={(e) => setBy(e.target.value as Weight)}>
          {Object.entries(WEIGHTS).filter(([key]) => server.hasStacks(key)).map(([key, title]) => <option key={key} value={key}>{title}</option>)}
        </select></label>
        <label><input type="checkbox" checked={reversed} disabled={callersOf !== ""} onChange={(e) => setReversed(e.target.checked)} /> Innermost first</label>
        <label><input type="checkbox" checked={up} onChange={(e) => setUp(e.target.checked)} /> Grow upwards</label>
        <input type="search" placeholder="Mark frames" aria-label="Mark frames" value={match} onChange={(e) => setMatch(e.target.value)} />
        {callersOf !== "" && <button onClick={() => setCallersOf("")}>Callers of {printable(callersOf, 40)} ×</button>}
      </div>
      {answer === null ? <p className="soft wait">Collecting stacks…</p>
        : <Graph key={`${by}${reversed}${callersOf}`} answer={answer} up={up} match={match} callersOf={setCallersOf} />}
    </div>
  );
}

function Graph({ answer, up, match, callersOf }: { answer: StackAnswer; up: boolean; match: string; callersOf: (name: string) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const graph = useMemo(() => new FlameGraph(answer.frames.map(([parent, weight, name]) => ({ parent, weight, name }))), [answer]);
  const [at, setAt] = useState(0);
  const [zoomed, setZoomed] = useState(0);
  const whole = graph.frames[0]?.weight ?? 0;
  const amount = (weight: number) => (answer.unit === "ns" ? duration(weight) : answer.unit === "bytes" ? bytes(weight) : count(weight));

  const draw = useCallback(() => {
    const of = canvas.current;
    const context = of?.getContext("2d");
    if (!of || !context) return;
    const ratio = window.devicePixelRatio || 1;
    const width = of.clientWidth;
    const height = graph.levels * FRAME_HEIGHT;
    of.style.height = `${height}px`;
    of.width = Math.round(width * ratio);
    of.height = Math.round(height * ratio);
    const style = getComputedStyle(of);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = `12px ${style.fontFamily}`;
    graph.match = match;
    graph.arrange(width, up);
    graph.draw(context, (name) => style.getPropertyValue(name), (name) => printable(name, 200));
  }, [graph, match, up]);

  useEffect(() => {
    draw();
    const resized = new ResizeObserver(draw);
    if (canvas.current?.parentElement) resized.observe(canvas.current.parentElement);
    return () => resized.disconnect();
  }, [draw]);

  const select = (frame: number) => {
    graph.selected = frame;
    setAt(frame);
    draw();
  };
  const zoom = (frame: number) => {
    graph.zoom = frame;
    setZoomed(frame);
    select(frame);
  };
  const key = (event: React.KeyboardEvent) => {
    const parent = graph.frames[at]?.parent ?? -1;
    const siblings = parent < 0 ? [0] : graph.callees[parent] ?? [];
    const place = siblings.indexOf(at);
    const outer = up ? "ArrowDown" : "ArrowUp", inner = up ? "ArrowUp" : "ArrowDown";
    const actions: Record<string, () => void> = {
      [outer]: () => parent >= 0 && select(parent),
      [inner]: () => { const first = graph.callees[at]?.[0]; if (first !== undefined) select(first); },
      ArrowLeft: () => select(siblings[Math.max(place - 1, 0)] ?? at),
      ArrowRight: () => select(siblings[Math.min(place + 1, siblings.length - 1)] ?? at),
      Enter: () => zoom(at), Escape: () => zoom(0),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
  if (whole === 0) return <p className="soft wait">{answer.unit === "bytes" ? "The trace has no allocations with stacks." : "The trace has no such work."} Record with <code>profile --stacks</code> to have call stacks.</p>;
  const name = graph.frames[at]?.name ?? "";
  const weight = graph.frames[at]?.weight ?? 0;
  return (
    <>
      <div className="bar" aria-live="polite">
        <strong className="cut">{printable(name, 200)}</strong>
        <span className="soft">{amount(weight)} · {share(weight / whole)}</span>
        {at !== 0 && <button onClick={() => zoom(at)}>Zoom</button>}
        {at !== 0 && server.live && <button onClick={() => callersOf(name)}>Callers</button>}
        {zoomed !== 0 && <button onClick={() => zoom(0)}>Show all</button>}
        {match !== "" && <span className="soft">marked: {share(graph.matched(match))}</span>}
      </div>
      <div className="flame"><canvas ref={canvas} tabIndex={0} role="application" aria-label="Flame graph. Arrow keys select frames, Enter zooms, Escape shows all; the selected frame is described above."
        onKeyDown={key}
        onClick={(e) => { const hit = graph.at(e.nativeEvent.offsetX, e.nativeEvent.offsetY); if (hit !== null) select(hit); }}
        onDoubleClick={(e) => { const hit = graph.at(e.nativeEvent.offsetX, e.nativeEvent.offsetY); if (hit !== null) zoom(hit); }} /></div>
      <p className="soft">
        {answer.from_ranges && "The trace has no call stacks: these are the ranges around each launch. "}
        {answer.all_frames > answer.frames.length && `${count(answer.all_frames - answer.frames.length)} frames below 0.01 % are left out. `}
        Double-click zooms.
      </p>
    </>
  );
}
