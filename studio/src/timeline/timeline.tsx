// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useRef, useState } from "react";
import { server } from "../data/server.ts";
import type { ItemInfo, Note, Place, SearchResult, Table, TraceInfo } from "../data/types.ts";
import { count, duration, printable } from "../format/quantities.ts";
import { noteAddress, readAddress } from "../app/address.ts";
import { ReportTable } from "../views/report_table.tsx";
import { LABELS, TimelineCanvas, type ColourBy, TOP, type Hit } from "./canvas.ts";
import { HitList } from "./hit_list.tsx";
import { LanesPanel } from "./lanes_panel.tsx";
import { Notes } from "./notes.tsx";
import type { StackHit } from "./stack_lanes.ts";
import { OVERLAY_TITLES, type OverlayKind } from "./overlay.ts";
import { coloursOf, css } from "./colours.ts";
import { moved, zoomed, type Window } from "./window.ts";

const COLOURS: readonly ColourBy[] = ["kind", "name", "stream"];
const OVERLAYS: readonly OverlayKind[] = ["", "idle", "path"];
const KEYS: [string, string][] = [
  ["wheel, + −, w s", "zoom"], ["drag, ← →, a d", "move"], ["shift + drag", "select a range of time"],
  ["↑ ↓", "scroll"], ["click", "select"], ["f", "zoom to the selection"], ["0", "show the whole trace"],
  ["/", "search"], ["n, N", "next, previous match"], ["c", "colours by kind, name or stream"], ["o", "idle causes, critical path, no overlay"], ["t", "call stacks of the threads"], ["l", "choose lanes"], ["m", "make a note"],
  ["Esc", "unselect"], ["?", "this list"],
];

declare global {
  interface Window {
    /** For tests: what the last frames cost, and whether they were complete. */
    timeline?: TimelineCanvas;
  }
}

interface Props {
  trace: TraceInfo;
  /** A part to show; a new object each time one is asked for. */
  go: { begin: number; end: number } | null;
  failed: (error: Error) => void;
}

export function Timeline({ trace, go, failed }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<TimelineCanvas | null>(null);
  const search = useRef<HTMLInputElement>(null);
  const [item, setItem] = useState<ItemInfo | null>(null);
  const [range, setRange] = useState<{ window: Window; tables: Table[] | null } | null>(null);
  const [found, setFound] = useState<{ text: string; result: SearchResult; at: number } | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const [keys, setKeys] = useState(false);
  const [colourBy, setColourBy] = useState<ColourBy>("kind");
  const [overlay, setOverlay] = useState<OverlayKind>("");
  const [lanes, setLanes] = useState(false);
  const [stacks, setStacks] = useState(false);
  const [, setLegend] = useState(0);
  const [notes, setNotes] = useState<Note[]>([]);
  const [fresh, setFresh] = useState<number | null>(null);
  const [noted, setNoted] = useState(false);

  const select = useCallback(async (lane: number, number: number, show: boolean) => {
    const of = view.current;
    if (!of || !server.live) return;
    try {
      const info = await server.item(lane, number);
      of.selected = info;
      of.links = info.links;
      of.reveal(lane);
      if (show) {
        const room = Math.max(info.duration_ns * 4, (of.window.end - of.window.begin) / 50);
        if (info.begin_ns < of.window.begin || info.begin_ns + info.duration_ns > of.window.end || info.duration_ns * 200 < of.window.end - of.window.begin) {
          of.show({ begin: info.begin_ns - room, end: info.begin_ns + info.duration_ns + room });
        }
      }
      of.redraw();
      setItem(info);
      noteAddress({ lane, item: number });
    } catch (error) {
      failed(error as Error);
    }
  }, [failed]);

  const unselect = useCallback(() => {
    const of = view.current;
    if (!of) return;
    of.selected = null;
    of.links = [];
    of.range = null;
    of.redraw();
    setItem(null);
    setRange(null);
  }, []);

  useEffect(() => {
    if (!canvas.current) return;
    const made = new TimelineCanvas(canvas.current, trace, failed);
    made.scroll = view.current?.scroll ?? 0; // of the same trace, before it grew
    made.overlayChanged = () => setLegend((n) => n + 1);
    view.current = made;
    setStacks(made.choice.stacks);
    window.timeline = made;
    const address = readAddress(location.hash);
    if (address.from !== undefined && address.to !== undefined) made.show({ begin: address.from, end: address.to });
    if (address.lane !== undefined && address.item !== undefined) void select(address.lane, address.item, false);
    const resized = new ResizeObserver(() => made.redraw());
    resized.observe(canvas.current);
    made.redraw();
    return () => resized.disconnect();
  }, [trace, failed, select]);

  useEffect(() => {
    if (!go || !view.current) return;
    const room = Math.max(20, (go.end - go.begin) * 0.1);
    view.current.show({ begin: go.begin - room, end: go.end + room });
    view.current.range = go;
    noteAddress({ from: view.current.window.begin, to: view.current.window.end });
  }, [go]);

  const show = (window: Window) => {
    view.current?.show(window);
    if (view.current) noteAddress({ from: view.current.window.begin, to: view.current.window.end });
  };

  const analyse = async (window: Window) => {
    setRange({ window, tables: null });
    setItem(null);
    try {
      setRange({ window, tables: await server.analysis("gpu-util,idle,kernels,memcpy", [window.begin, window.end]) });
    } catch (error) {
      failed(error as Error);
    }
  };

  // The wheel must not scroll the page, so React's passive listener is of no use.
  useEffect(() => {
    const on = canvas.current;
    if (!on) return;
    const wheel = (event: WheelEvent) => {
      const of = view.current;
      if (!of) return;
      event.preventDefault();
      const length = of.window.end - of.window.begin;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        show(moved(of.window, ((event.deltaX || event.deltaY) / on.clientWidth) * length));
      } else if (event.offsetX < LABELS) {
        of.scrollTo(of.scroll + event.deltaY);
      } else {
        show(zoomed(of.window, Math.exp(event.deltaY * 0.0015), of.timeAt(event.offsetX)));
      }
    };
    on.addEventListener("wheel", wheel, { passive: false });
    return () => on.removeEventListener("wheel", wheel);
  }, [trace]);

  const drag = useRef<{ x: number; y: number; window: Window; scroll: number; kind: "move" | "range" | "overview"; far: boolean } | null>(null);
  const fingers = useRef(new Map<number, number>());

  const down = (event: React.PointerEvent<HTMLCanvasElement>) => {
    const of = view.current;
    if (!of) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    event.currentTarget.focus();
    const { offsetX: x, offsetY: y } = event.nativeEvent;
    fingers.current.set(event.pointerId, x);
    const kind = y < TOP - 26 && x >= LABELS ? "overview" : (event.shiftKey || y < TOP) && server.live ? "range" : "move";
    drag.current = { x, y, window: of.window, scroll: of.scroll, kind, far: false };
    if (kind === "overview") centre(x);
  };
  const centre = (x: number) => {
    const of = view.current;
    if (!of) return;
    const half = (of.window.end - of.window.begin) / 2;
    show({ begin: of.overviewTime(x) - half, end: of.overviewTime(x) + half });
  };
  const move = (event: React.PointerEvent<HTMLCanvasElement>) => {
    const of = view.current;
    if (!of) return;
    const { offsetX: x, offsetY: y } = event.nativeEvent;
    const from = drag.current;
    if (!from) {
      const hit = of.hit(x, y);
      const stack = hit ? undefined : of.stackAt(x, y);
      const gap = hit || stack ? undefined : of.overlayAt(x, y);
      setHover(hit || stack || gap ? { x: event.clientX, y: event.clientY, hit, stack, gap } : null);
      return;
    }
    if (fingers.current.size === 2) {
      const before = [...fingers.current.values()];
      fingers.current.set(event.pointerId, x);
      const after = [...fingers.current.values()];
      const spread = (v: number[]) => Math.max(10, Math.abs((v[0] ?? 0) - (v[1] ?? 0)));
      show(zoomed(of.window, spread(before) / spread(after), of.timeAt(((after[0] ?? 0) + (after[1] ?? 0)) / 2)));
      from.far = true;
      from.kind = "move";
      return;
    }
    from.far ||= Math.abs(x - from.x) + Math.abs(y - from.y) > 4;
    if (!from.far) return;
    setHover(null);
    if (from.kind === "overview") return centre(x);
    if (from.kind === "range") {
      const [a, b] = [of.timeAt(from.x), of.timeAt(x)];
      of.range = { begin: Math.max(0, Math.min(a, b)), end: Math.min(trace.duration_ns, Math.max(a, b)) };
      of.redraw();
      return;
    }
    const perPixel = (from.window.end - from.window.begin) / (event.currentTarget.clientWidth - LABELS);
    of.scrollTo(from.scroll - (y - from.y));
    show(moved(from.window, (from.x - x) * perPixel));
  };
  const cancelled = (event: React.PointerEvent<HTMLCanvasElement>) => {
    fingers.current.delete(event.pointerId);
    drag.current = null;
  };
  const up = (event: React.PointerEvent<HTMLCanvasElement>) => {
    const of = view.current;
    const from = drag.current;
    fingers.current.delete(event.pointerId);
    drag.current = null;
    if (!of || !from) return;
    if (from.far) {
      if (from.kind === "range" && of.range) void analyse(of.range);
      return;
    }
    const row = of.rowAt(from.y);
    if (row?.lane.heading) {
      of.choice.toggle("collapsed", row.lane.group);
      of.arrange();
      of.scrollTo(of.scroll);
      return;
    }
    const hit = of.hit(from.x, from.y);
    if (hit) void select(hit.lane, hit.item, false);
    else if (from.kind === "move") unselect();
  };

  const find = async (text: string) => {
    const of = view.current;
    if (!of || text === "") return;
    try {
      const result = await server.search(text);
      of.hits = result.hits;
      setFound({ text, result, at: -1 });
      of.redraw();
      const next = result.hits.findIndex((hit) => hit.begin_ns >= of.window.begin);
      if (result.hits.length > 0) goTo({ text, result, at: 0 }, Math.max(next, 0));
    } catch (error) {
      failed(error as Error);
    }
  };
  const goTo = (in_: { text: string; result: SearchResult; at: number }, at: number) => {
    const hits = in_.result.hits;
    if (hits.length === 0) return;
    const index = (at + hits.length) % hits.length;
    const hit = hits[index];
    setFound({ ...in_, at: index });
    if (hit) void select(hit.lane, hit.item, true);
  };

  const colour = (by: ColourBy) => {
    if (view.current) view.current.colourBy = by;
    view.current?.redraw();
    setColourBy(by);
  };
  const lay = (kind: OverlayKind) => {
    if (!server.live) return;
    view.current?.overlay.show(kind);
    setOverlay(kind);
  };

  const hasStacks = server.live && trace.lanes.some((lane) => lane.type === "stacks");
  const showStacks = (shown: boolean) => {
    if (!hasStacks) return;
    view.current?.showStacks(shown);
    setStacks(shown);
  };

  useEffect(() => {
    server.notes().then(setNotes, failed);
  }, [trace, failed]);
  useEffect(() => {
    if (!view.current) return;
    view.current.notes = notes;
    view.current.redraw();
  }, [notes, trace]);
  const keepNotes = (next: Note[]) => {
    setNotes(next);
    setFresh(null);
    if (server.live) server.keepNotes(next).catch(failed);
  };
  const makeNote = () => {
    const of = view.current;
    if (!of) return;
    const middle = Math.round((of.window.begin + of.window.end) / 2);
    const at = of.selected ? { begin: of.selected.begin_ns, end: of.selected.begin_ns + of.selected.duration_ns } : of.range ?? { begin: middle, end: middle };
    const note: Note = { begin_ns: Math.max(0, Math.round(at.begin)), end_ns: Math.max(0, Math.round(at.end)), text: "" };
    const next = [...notes, note].sort((a, b) => a.begin_ns - b.begin_ns);
    keepNotes(next);
    setNoted(true);
    setFresh(next.indexOf(note));
  };

  const key = (event: React.KeyboardEvent) => {
    const of = view.current;
    if (!of || event.ctrlKey || event.metaKey || event.altKey) return;
    const length = of.window.end - of.window.begin;
    const middle = (of.window.begin + of.window.end) / 2;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => show(moved(of.window, -length / 8)), a: () => show(moved(of.window, -length / 8)),
      ArrowRight: () => show(moved(of.window, length / 8)), d: () => show(moved(of.window, length / 8)),
      "+": () => show(zoomed(of.window, 0.7, middle)), w: () => show(zoomed(of.window, 0.7, middle)), "=": () => show(zoomed(of.window, 0.7, middle)),
      "-": () => show(zoomed(of.window, 1.4, middle)), s: () => show(zoomed(of.window, 1.4, middle)),
      ArrowUp: () => of.scrollTo(of.scroll - 40), ArrowDown: () => of.scrollTo(of.scroll + 40),
      "0": () => show({ begin: -0.01 * trace.duration_ns, end: 1.01 * trace.duration_ns }),
      f: () => {
        const at: Place | null = of.selected;
        if (at) show({ begin: at.begin_ns - at.duration_ns * 0.1, end: at.begin_ns + at.duration_ns * 1.1 });
        else if (of.range) show(of.range);
      },
      c: () => colour(COLOURS[(COLOURS.indexOf(of.colourBy) + 1) % COLOURS.length] ?? "kind"),
      o: () => lay(OVERLAYS[(OVERLAYS.indexOf(of.overlay.kind) + 1) % OVERLAYS.length] ?? ""),
      t: () => showStacks(!stacks), l: () => setLanes(!lanes), m: makeNote,
      n: () => found && goTo(found, found.at + 1), N: () => found && goTo(found, found.at - 1),
      Escape: unselect, "/": () => search.current?.focus(), "?": () => setKeys(!keys),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };

  const tipOf = ({ hit, stack, gap }: Hover): { name: string; kind: string } => {
    if (hit) return { name: view.current?.nameOf(hit.name) ?? "", kind: trace.kinds[hit.kind] ?? "" };
    if (stack) return { name: stack.name, kind: stack.cut ? "on the stack, longer than is seen:" : "on the stack of calls" };
    return { name: gap?.cause ?? "", kind: gap && gap.end > gap.begin ? OVERLAY_TITLES[overlay] : "value" };
  };
  const host = trace.kinds.flatMap((kind, i) => (kind === "API call" || kind === "range" ? [i] : []));
  const used = [...trace.device_kinds, ...host].map((i) => ({ kind: trace.kinds[i] ?? "", colour: css(coloursOf(trace.kinds)[i] ?? 0) }));
  return (
    <div className="timeline">
      <div className="bar">
        {server.live && <form role="search" onSubmit={(event) => { event.preventDefault(); const text = search.current?.value ?? ""; if (found?.text === text) goTo(found, found.at + 1); else void find(text); }}>
          <input ref={search} type="search" placeholder="Search names ( / )" aria-label="Search names" />
        </form>}
        {!server.live && <span className="soft">An overview. For details, search and SQL, open the trace with <code>tracesmith studio</code>.</span>}
        {found && (
          <span className="soft" role="status">
            {found.result.total === 0 ? "no match" : `${count(found.at + 1)} of ${count(found.result.total)}`}
            {found.result.total > found.result.hits.length && ` (the first ${count(found.result.hits.length)} are listed)`}
            <button onClick={() => goTo(found, found.at - 1)} aria-label="Previous match">‹</button>
            <button onClick={() => goTo(found, found.at + 1)} aria-label="Next match">›</button>
          </span>
        )}
        <span className="grow" />
        {server.live && (
          <select aria-label="Overlay" value={overlay} onChange={(e) => lay(e.target.value as OverlayKind)}>
            {OVERLAYS.map((kind) => <option key={kind} value={kind}>{OVERLAY_TITLES[kind]}</option>)}
          </select>
        )}
        <select aria-label="Colours" value={colourBy} onChange={(e) => colour(e.target.value as ColourBy)}>
          {COLOURS.map((by) => <option key={by} value={by}>Colours by {by}</option>)}
        </select>
        <button aria-pressed={noted} onClick={() => setNoted(!noted)}>Notes{notes.length > 0 && ` (${notes.length})`}</button>
        {hasStacks && <button aria-pressed={stacks} onClick={() => showStacks(!stacks)}>Stacks ( t )</button>}
        <button aria-pressed={lanes} onClick={() => setLanes(!lanes)}>Lanes ( l )</button>
        <button aria-pressed={keys} onClick={() => setKeys(!keys)}>Keys ( ? )</button>
      </div>
      <div className="split">
        <canvas ref={canvas} tabIndex={0} role="application" aria-label="Timeline of the trace. The list of keys tells how to move; the selection is described beside it."
          onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerCancel={cancelled} onPointerLeave={() => setHover(null)} onKeyDown={key} />
        {(item || range || keys || lanes || noted || (found && found.result.total > 1)) && (
          <aside aria-live="polite">
            <button className="close" aria-label="Close" onClick={() => { unselect(); setKeys(false); setLanes(false); setFound(null); setNoted(false); }}>×</button>
            {keys && <dl className="facts">{KEYS.map(([k, what]) => <div key={k}><dt><kbd>{k}</kbd></dt><dd>{what}</dd></div>)}</dl>}
            {lanes && view.current && <LanesPanel choice={view.current.choice} changed={() => { view.current?.arrange(); view.current?.scrollTo(view.current.scroll); setStacks(view.current?.choice.stacks ?? false); }} />}
            {noted && <Notes notes={notes} fresh={fresh} change={keepNotes} go={(note) => { const room = Math.max(1000, (note.end_ns - note.begin_ns) * 2); show({ begin: note.begin_ns - room, end: note.end_ns + room }); }} />}
            {item && <Details item={item} select={select} />}
            {range && (
              <section>
                <h2>{duration(range.window.end - range.window.begin)} from {duration(range.window.begin)}</h2>
                {range.tables === null ? <p className="soft">Analyzing this part…</p>
                  : range.tables.filter((t) => t.rows.length > 0).map((t) => <ReportTable key={t.key} table={t} narrow />)}
              </section>
            )}
            {found && found.result.total > 1 && <HitList result={found.result} at={found.at} lanes={trace.lanes} go={(at) => goTo(found, at)} />}
          </aside>
        )}
      </div>
      <ul className="legend" aria-label="Colours of kinds">
        {overlay !== "" && view.current?.overlay.causes.map((cause, i) => <li key={cause}><svg width="14" height="10" aria-hidden="true"><rect y="6" width="14" height="4" fill={view.current?.overlay.colour(i)} /></svg>{cause}</li>)}
        {overlay !== "" && (view.current?.overlay.missing ?? 0) > 0 && <li>(the longest; zoom in for all)</li>}
        {colourBy === "kind" && overlay === "" && used.map(({ kind, colour }) => <li key={kind}><svg width="10" height="10" aria-hidden="true"><rect width="10" height="10" rx="2" fill={colour} /></svg>{kind}</li>)}
      </ul>
      {hover && <Tip hover={hover} {...tipOf(hover)} />}
    </div>
  );
}

interface Hover {
  x: number;
  y: number;
  hit: Hit | undefined;
  stack: StackHit | undefined;
  gap: { cause: string; begin: number; end: number } | undefined;
}

function Tip({ hover, name, kind }: { hover: Hover; name: string; kind: string }) {
  const place = useCallback((element: HTMLDivElement | null) => {
    if (!element) return;
    element.style.left = `${Math.min(hover.x + 14, innerWidth - element.offsetWidth - 8)}px`;
    element.style.top = `${Math.min(hover.y + 16, innerHeight - element.offsetHeight - 8)}px`;
  }, [hover]);
  const part = hover.stack ?? hover.gap;
  const begin_ns = hover.hit ? hover.hit.begin_ns : part?.begin;
  const duration_ns = hover.hit ? hover.hit.duration_ns : part && part.end - part.begin;
  return (
    <div className="tip" ref={place}>
      <strong>{printable(name || "…", 160)}</strong>
      <div className="soft">{kind}{begin_ns !== undefined && duration_ns !== undefined && ` · ${duration(duration_ns)} at ${duration(begin_ns)}`}</div>
    </div>
  );
}

function Details({ item, select }: { item: ItemInfo; select: (lane: number, item: number, show: boolean) => void }) {
  return (
    <section>
      <h2>{printable(item.short, 200)}</h2>
      <dl className="facts">
        {item.details.map((d) => <div key={d.label}><dt>{d.label}</dt><dd>{printable(d.value, 2000)}</dd></div>)}
      </dl>
      {item.links.length > 0 && (
        <ul className="links">
          {item.links.map((l) => (
            <li key={`${l.lane}/${l.item}`}>{l.what} <button onClick={() => select(l.lane, l.item, true)}>{printable(l.short, 120)}</button> <span className="soft">{duration(l.duration_ns)}</span></li>
          ))}
        </ul>
      )}
      {item.stack.length > 0 && (
        <>
          <h3>Call stack</h3>
          <ol className="stack">{item.stack.map((line, i) => <li key={i}>{printable(line, 500)}</li>)}</ol>
        </>
      )}
    </section>
  );
}
