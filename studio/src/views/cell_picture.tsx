// SPDX-License-Identifier: Apache-2.0
// Cells of memory on a canvas, with the scale of their colours. A missing value (NaN) is pink.
import { useEffect, useRef, useState } from "react";
import type { Cells } from "../data/recording.ts";
import { colourOf } from "./cell_colours.ts";
import type { Scale } from "./cell_colours.ts";

interface Props {
  cells: Cells;
  /** As grey or coloured pixels; else as a heat map. */
  image: boolean;
  diverging: boolean;
  /** Elements, or pixels, of a row of the memory. */
  width: number;
  /** Values are bytes, which an image shows as they are. */
  bytes: boolean;
  label: string;
}

const SIZE = 440; // pixels of the longer side
const shown = (value: number) => (Number.isNaN(value) ? "NaN" : String(Number(value.toPrecision(6))));

export function CellPicture({ cells, image, diverging, width, bytes, label }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [under, setUnder] = useState("");
  const most = Math.max(Math.abs(cells.low), Math.abs(cells.high));
  const scale: Scale = {
    low: diverging ? -most : image && bytes ? 0 : cells.low,
    high: diverging ? most : image && bytes ? 255 : cells.high,
    colours: diverging ? "diverging" : image ? "grey" : "heat",
  };
  useEffect(() => {
    const to = canvas.current?.getContext("2d");
    if (!to || cells.columns === 0 || cells.rows === 0) return;
    const picture = to.createImageData(cells.columns, cells.rows);
    for (let i = 0; i < Math.ceil((cells.values.length - cells.empty) / cells.channels); ++i) {
      picture.data.set(colourOf(cells.values.subarray(i * cells.channels, (i + 1) * cells.channels), scale), 4 * i);
    }
    to.putImageData(picture, 0, 0);
  }, [cells, image, diverging, bytes]);
  if (cells.columns === 0 || cells.rows === 0) return <p className="soft">There is nothing to draw.</p>;
  const zoom = Math.max(1, SIZE / Math.max(cells.columns, cells.rows));
  const move = (event: React.PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const column = Math.min(cells.columns - 1, Math.floor(((event.clientX - box.left) / box.width) * cells.columns));
    const row = Math.min(cells.rows - 1, Math.floor(((event.clientY - box.top) / box.height) * cells.rows));
    const at = (row * cells.columns + column) * cells.channels;
    if (at >= cells.values.length - cells.empty) return setUnder("");
    const values = [...cells.values.subarray(at, at + cells.channels)].map(shown).join(", ");
    const whole = cells.columns === width;
    setUnder(`${whole ? "element" : "cell"} ${column} of row ${row}: ${values}`);
  };
  return (
    <figure className="cells">
      <canvas ref={canvas} width={cells.columns} height={cells.rows} role="img" aria-label={`${label}: values from ${shown(cells.low)} to ${shown(cells.high)}`}
        style={{ width: cells.columns * zoom, height: cells.rows * zoom }} onPointerMove={move} onPointerLeave={() => setUnder("")} />
      <figcaption className="soft">
        {cells.channels === 1 && <><span>{shown(scale.low)}</span> <ScaleBar scale={scale} /> <span>{shown(scale.high)}</span></>}
        <span className="under">{under || `${label}; values from ${shown(cells.low)} to ${shown(cells.high)}${cells.columns < width ? "; a cell is the mean of its elements" : ""}`}</span>
      </figcaption>
    </figure>
  );
}

function ScaleBar({ scale }: { scale: Scale }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const to = canvas.current?.getContext("2d");
    if (!to) return;
    const picture = to.createImageData(128, 1);
    for (let i = 0; i < 128; ++i) {
      picture.data.set(colourOf(new Float32Array([i]), { ...scale, low: 0, high: 127 }), 4 * i);
    }
    to.putImageData(picture, 0, 0);
  }, [scale.colours]);
  return <canvas ref={canvas} className="scale" width={128} height={1} aria-hidden="true" />;
}
