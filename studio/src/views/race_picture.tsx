// SPDX-License-Identifier: Apache-2.0
// A race as a picture: both commands in their lanes, the memory that both use, and the missing wait.
import type { RaceGroup, RaceSide } from "../data/recording.ts";
import { printable } from "../format/quantities.ts";

const WIDTH = 740, LANE = 46, TOP = 10, LABEL = 110, BOX = 220, BOX_HEIGHT = 30;
const FIRST = LABEL + 20, SECOND = FIRST + BOX + 130;
const MEMORY = (FIRST + SECOND + BOX) / 2, MEMORY_WIDTH = 130;

const laneOf = (side: RaceSide) => (side.queue === null ? `thread ${side.thread}` : `queue ${side.queue}`);
const labelOf = (side: RaceSide) => (side.launch === null ? printable(side.name, 24) : `launch ${side.launch}: ${printable(side.name, 20)}`);

export function RacePicture({ group }: { group: RaceGroup }) {
  const { first, second, memory } = group;
  const lanes = laneOf(first) === laneOf(second) ? [laneOf(first)] : [laneOf(first), laneOf(second)];
  const height = TOP + lanes.length * LANE + 40;
  const middle = (lane: number) => TOP + lane * LANE + LANE / 2;
  const secondY = middle(lanes.length - 1);
  const down = TOP + lanes.length * LANE + 22;
  return (
    <svg className="race-picture" viewBox={`0 0 ${WIDTH} ${height}`} role="img"
      aria-label={`${printable(first.text, 200)}; ${printable(second.text, 200)}; ${group.missing}`}>
      <defs>
        <marker id="race-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path className="head" d="M0 0 L8 4 L0 8 z" /></marker>
        <marker id="race-use" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto-start-reverse"><path className="use-head" d="M0 0 L8 4 L0 8 z" /></marker>
      </defs>
      {lanes.map((lane, i) => (
        <g key={lane}>
          <text className="lane" x={LABEL} y={middle(i) + 4} textAnchor="end">{lane}</text>
          <line className="rail" x1={LABEL + 8} x2={WIDTH} y1={middle(i)} y2={middle(i)} />
        </g>
      ))}
      <Use x={FIRST + BOX / 2} y={middle(0) + BOX_HEIGHT / 2} end={MEMORY - MEMORY_WIDTH / 2} down={down} writes={first.writes} />
      <Use x={SECOND + BOX / 2} y={secondY + BOX_HEIGHT / 2} end={MEMORY + MEMORY_WIDTH / 2} down={down} writes={second.writes} />
      <Box x={FIRST} y={middle(0)} text={labelOf(first)} />
      <Box x={SECOND} y={secondY} text={labelOf(second)} />
      <path className="missing" markerEnd="url(#race-arrow)" d={lanes.length === 1
        ? `M${FIRST + BOX + 2} ${middle(0)} L${SECOND - 3} ${secondY}`
        : `M${FIRST + BOX + 2} ${middle(0)} C${FIRST + BOX + 60} ${middle(0)} ${SECOND - 60} ${secondY} ${SECOND - 3} ${secondY}`} />
      <text className="missing-text" x={(FIRST + BOX + SECOND) / 2 + (lanes.length === 1 ? 0 : 12)} y={middle(0) + (lanes.length === 1 ? -8 : 12)} textAnchor={lanes.length === 1 ? "middle" : "start"}>missing wait</text>
      <rect className="memory" x={MEMORY - MEMORY_WIDTH / 2} y={down - 13} width={MEMORY_WIDTH} height={26} rx={13} />
      <text className="memory-text" x={MEMORY} y={down + 4} textAnchor="middle">{printable(memory.name, 20)}</text>
    </svg>
  );
}

function Box({ x, y, text }: { x: number; y: number; text: string }) {
  return (
    <g>
      <rect className="command-box" x={x} y={y - BOX_HEIGHT / 2} width={BOX} height={BOX_HEIGHT} rx={5} />
      <text className="command-text" x={x + BOX / 2} y={y + 4} textAnchor="middle">{text}</text>
    </g>
  );
}

/** From a command down to its memory; an arrow at the memory: it writes, at the command: it reads. */
function Use({ x, y, end, down, writes }: { x: number; y: number; end: number; down: number; writes: boolean }) {
  const gap = end > x ? -3 : 3;
  return (
    <g>
      <path className="use" d={writes ? `M${x} ${y} L${x} ${down} L${end + gap} ${down}` : `M${end} ${down} L${x} ${down} L${x} ${y + 3}`} markerEnd="url(#race-use)" />
      <text className="use-text" x={end > x ? x + 8 : x - 8} y={down - 6} textAnchor={end > x ? "start" : "end"}>{writes ? "writes" : "reads"}</text>
    </g>
  );
}
