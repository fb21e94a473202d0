// SPDX-License-Identifier: Apache-2.0
// Allocated memory over time, and the blocks behind it.
import { useCallback, useMemo } from "react";
import type { ViewProps } from "../app/views.tsx";
import { Chart } from "../charts/chart.tsx";
import { server } from "../data/server.ts";
import type { MemoryAnswer } from "../data/types.ts";
import { useAnswer } from "../data/use_answer.ts";
import { bytes, duration, printable } from "../format/quantities.ts";
import { ReportTable } from "./report_table.tsx";

export function Memory({ trace, failed, go }: ViewProps) {
  const answer = useAnswer(server.memory, failed, [trace]);
  if (answer === null) return <p className="soft wait">Reading allocations…</p>;
  return <div className="page"><Places answer={answer} end={trace.duration_ns} go={go} /></div>;
}

function Places({ answer, end, go }: { answer: MemoryAnswer; end: number; go: ViewProps["go"] }) {
  const option = useMemo(() => ({
    legend: { type: "scroll", top: 0 },
    xAxis: { type: "value", min: 0, max: end, axisLabel: { formatter: (ns: number) => duration(ns) }, axisPointer: { label: { formatter: ({ value }: { value: number }) => duration(value) } } },
    yAxis: { type: "value", axisLabel: { formatter: (size: number) => bytes(size) } },
    dataZoom: [{ type: "inside" }],
    series: answer.places.map((place) => ({
      name: printable(place.label, 60), type: "line", step: "end", showSymbol: false, areaStyle: { opacity: 0.15 },
      data: place.curve, tooltip: { valueFormatter: (value: unknown) => bytes(Number(value)) },
      markLine: { silent: true, symbol: "none", label: { formatter: "peak", color: "inherit" }, data: [{ xAxis: answer.peak_ns }] },
    })),
  }), [answer, end]);
  const clicked = useCallback((series: number, index: number) => {
    const time = answer.places[series]?.curve[index]?.[0];
    if (time !== undefined) go(Math.max(0, time - end / 100), time + end / 100);
  }, [answer, end, go]);
  if (answer.places.length === 0) return <p>The trace has no allocations.</p>;
  return (
    <>
      <h2>Allocated memory</h2>
      <Chart label="Allocated bytes over time, by place" option={option} height={300} clicked={clicked} />
      <button onClick={() => go(Math.max(0, answer.peak_ns - end / 100), answer.peak_ns + end / 100)}>Show the peak, at {duration(answer.peak_ns)}, in the timeline</button>
      {answer.tables.map((table) => table.rows.length > 0 ? <ReportTable key={table.key} table={table} /> : <section key={table.key} className="table"><h2>{table.title}</h2><p className="soft">none</p></section>)}
    </>
  );
}
