// SPDX-License-Identifier: Apache-2.0
// Memory before and after a launch: as numbers, as a heat map and as an image.
import { useEffect, useState } from "react";
import type { ReactNode } from "react";
import type { ViewProps } from "../app/views.tsx";
import { recording } from "../data/recording.ts";
import type { Argument, Cells, CommandDetails, Content, Replay, Side } from "../data/recording.ts";
import { bytes, count, duration, printable } from "../format/quantities.ts";
import { CellPicture } from "./cell_picture.tsx";

const TYPES = ["float", "double", "half", "int", "uint", "short", "ushort", "char", "uchar", "long", "ulong"];
const SIDES: { [key in Side]: string } = { before: "Before", after: "After", difference: "After minus before" };
const FORMS = { numbers: "Numbers", heat: "Heat map", image: "Image" } as const;
type Form = keyof typeof FORMS;
const ROWS = 100;

interface Props {
  run: number;
  launch: CommandDetails;
  found: Replay;
  failed: ViewProps["failed"];
}

export function MemoryContent({ run, launch, found, failed }: Props) {
  const kept = [...new Map((found.dumps ?? []).map((row) => [Number(row["buffer"]), String(row["memory"])]))];
  // What the kernel writes is mostly last.
  const [buffer, setBuffer] = useState(kept[kept.length - 1]?.[0] ?? 0);
  const totals = found.replay[0] ?? {}, reads = found.read_backs[0] ?? {};
  const argument = launch.arguments?.find((a) => a.memory === buffer);
  return (
    <section className="content" aria-label="Memory before and after">
      <h2>Memory before and after launch {count(launch.launch ?? 0)}</h2>
      <p className="soft">
        {count(Number(totals["launches"] ?? 0))} {totals["launches"] === 1 ? "launch" : "launches"} ran in {duration(Number(totals["duration_ns"] ?? 0))}.
        {Number(reads["compared"] ?? 0) > 0 && ` ${count(Number(reads["different"]))} of ${count(Number(reads["compared"]))} read-backs differ from the recording.`}
      </p>
      {found.remarks && <ul className="soft">{found.remarks.map((row, i) => <li key={i}>{printable(`${row["where"] ?? ""} ${row["what"] ?? ""}`, 500)}</li>)}</ul>}
      <BufferContent key={buffer} run={run} buffer={buffer} argument={argument} row={launch.row ?? 0} failed={failed}>
        <select aria-label="Memory" value={buffer} onChange={(event) => setBuffer(Number(event.target.value))}>
          {kept.map(([number, name]) => <option key={number} value={number}>{printable(name, 60)}</option>)}
        </select>
      </BufferContent>
    </section>
  );
}

/** Elements of a row: those of an image, of the first dimension of the launch, or of a square. */
function widthOf(elements: number, argument: Argument | undefined, row: number): number {
  if (argument?.width !== undefined) return argument.width;
  if (row > 1 && row < elements && elements % row === 0) return row;
  return Math.max(1, 2 ** Math.floor(Math.log2(Math.sqrt(Math.max(1, elements)))));
}

/** `children`: the choice of the memory. */
function BufferContent({ run, buffer, argument, row, failed, children }: {
  run: number; buffer: number; argument: Argument | undefined; row: number; failed: ViewProps["failed"]; children: ReactNode;
}) {
  const [type, setType] = useState(argument?.type ?? "");
  const [form, setForm] = useState<Form>("numbers");
  const [from, setFrom] = useState(0);
  const [content, setContent] = useState<Content | null>(null);
  useEffect(() => {
    let wanted = true;
    recording.content(run, buffer, type, from, ROWS).then((found) => {
      if (wanted) setContent(found);
    }, (error: Error) => wanted && failed(error));
    return () => { wanted = false; };
  }, [run, buffer, type, from]);
  if (content === null) return <p>{children} <span className="soft">Reading the memory…</span></p>;
  const { difference: d } = content;
  return (
    <>
      <p>
        {children} {bytes(content.bytes)}{content.argument_type !== "" && `, ${printable(content.argument_type, 60)}`}:{" "}
        {d === null ? "it could not be read before and after the launch." : d.differing === 0 ? "the launch changed nothing."
          : `the launch changed ${count(d.differing)} of ${count(content.elements)} elements.`}
      </p>
      <div className="bar">
        <div role="group" aria-label="Form" className="choice">
          {Object.entries(FORMS).map(([key, title]) => <button key={key} aria-pressed={form === key} onClick={() => setForm(key as Form)}>{title}</button>)}
        </div>
        <label>Type <select value={content.type} onChange={(event) => { setType(event.target.value); setFrom(0); }}>{TYPES.map((t) => <option key={t}>{t}</option>)}</select></label>
        {form === "numbers" && <>
          <label>From <input type="number" min={0} max={Math.max(0, content.elements - 1)} value={from} onChange={(event) => setFrom(Math.min(Math.max(0, Math.floor(Number(event.target.value))), Math.max(0, content.elements - 1)))} /></label>
          <button disabled={from === 0} onClick={() => setFrom(Math.max(0, from - ROWS))} aria-label="Earlier elements">‹</button>
          <button disabled={from + ROWS >= content.elements} onClick={() => setFrom(from + ROWS)} aria-label="Later elements">›</button>
          {d !== null && d.differing > 0 && <button onClick={() => setFrom(d.first_element)}>First change</button>}
        </>}
      </div>
      {form === "numbers" ? <Numbers content={content} /> : (
        <Picture key={form} run={run} buffer={buffer} content={content} argument={argument} image={form === "image"} width={widthOf(content.elements, argument, row)} failed={failed} />
      )}
    </>
  );
}

function Numbers({ content }: { content: Content }) {
  const length = Math.max(content.before?.length ?? 0, content.after?.length ?? 0);
  return (
    <div className="scroll">
      <table>
        <thead><tr><th scope="col" className="number">Element</th><th scope="col" className="number">Before</th><th scope="col" className="number">After</th></tr></thead>
        <tbody>
          {Array.from({ length }, (_, i) => {
            const before = content.before?.[i], after = content.after?.[i];
            return (
              <tr key={i} className={before !== undefined && after !== undefined && before !== after ? "changed" : ""}>
                <td className="number">{count(content.from + i)}</td><td className="number">{before ?? "–"}</td><td className="number">{after ?? "–"}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Picture({ run, buffer, content, argument, image, width: first, failed }: {
  run: number; buffer: number; content: Content; argument: Argument | undefined; image: boolean; width: number; failed: ViewProps["failed"];
}) {
  const [side, setSide] = useState<Side>("after");
  const [channels, setChannels] = useState(image ? Math.min(argument?.channels ?? 1, 4) : 1);
  // A heat map has all values of a pixel beside each other.
  const [width, setWidth] = useState(image ? first : first * (argument?.channels ?? 1));
  const [drawn, setDrawn] = useState<{ cells: Cells; side: Side; width: number } | null>(null);
  useEffect(() => {
    let wanted = true;
    recording.cells(run, buffer, content.type, side, width, channels).then((cells) => wanted && setDrawn({ cells, side, width }), (error: Error) => wanted && failed(error));
    return () => { wanted = false; };
  }, [run, buffer, content.type, side, width, channels]);
  const sides = (Object.keys(SIDES) as Side[]).filter((key) => !image || key !== "difference");
  return (
    <>
      <div className="bar">
        <div role="group" aria-label="When" className="choice">
          {sides.map((key) => <button key={key} aria-pressed={side === key} onClick={() => setSide(key)}>{SIDES[key]}</button>)}
        </div>
        <label>{channels > 1 ? "Pixels of a row" : "Elements of a row"} <input type="number" min={1} value={width} onChange={(event) => setWidth(Math.max(1, Math.floor(Number(event.target.value))))} /></label>
        {image && <label>Channels <select value={channels} onChange={(event) => setChannels(Number(event.target.value))}><option value={1}>1 (grey)</option><option value={3}>3 (RGB)</option><option value={4}>4 (RGBA)</option></select></label>}
      </div>
      {drawn === null ? <p className="soft">Drawing…</p> : (
        <CellPicture cells={drawn.cells} image={image} diverging={drawn.side === "difference"} width={drawn.width} bytes={content.type === "uchar"}
          label={`${image ? "Image" : "Heat map"} of ${printable(content.memory, 60)}, ${SIDES[drawn.side].toLowerCase()}`} />
      )}
    </>
  );
}
