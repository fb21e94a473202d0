// SPDX-License-Identifier: Apache-2.0
// How long the launches of one kernel take: as a histogram, and over time; before and after a change.
import { useCallback, useMemo } from "react";
import { Chart } from "../charts/chart.tsx";
import { server } from "../data/server.ts";
import type { KernelAnswer } from "../data/types.ts";
import { useAnswer } from "../data/use_answer.ts";
import { count, duration, printable } from "../format/quantities.ts";

interface Props {
  name: string;
  compared: boolean;
  failed: (error: Error) => void;
  go: (begin: number, end: number) => void;
}

export function KernelTimes({ name, compared, failed, go }: Props) {
  const after = useAnswer(() => server.kernel(name), failed, [name]);
  const nothing = useCallback(() => undefined, []);
  const before = useAnswer(() => (compared ? server.kernel(name, true) : Promise.resolve(null)), nothing, [name, compared]);
  if (after === null) return <p className="soft">Reading launches…</p>;
  return <Charts name={name} after={after} before={before} go={go} />;
}

function bars(of: KernelAnswer, name: string) {
  // The middle of a bin on a logarithmic axis.
  return { name, type: "line", step: "middle", showSymbol: false, areaStyle: { opacity: 0.25 }, data: of.histogram.map(([from, to, n]) => [Math.sqrt(from * to), n]) };
}

function Charts({ name, after, before, go }: { name: string; after: KernelAnswer; before: KernelAnswer | null; go: Props["go"] }) {
  const axis = { axisLabel: { formatter: (ns: number) => duration(ns) }, axisPointer: { label: { formatter: ({ value }: { value: number }) => duration(value) } } };
  const histogram = useMemo(() => ({
    legend: before ? { top: 0 } : undefined,
    xAxis: { type: "log", name: "duration", nameLocation: "middle", nameGap: 26, min: "dataMin", max: "dataMax", ...axis },
    yAxis: { type: "value", name: "launches", minInterval: 1 },
    series: before ? [bars(before, "before"), bars(after, "after")] : [bars(after, "launches")],
  }), [after, before]);
  const times = useMemo(() => ({
    tooltip: { renderMode: "richText", trigger: "item", formatter: ({ value }: { value: [number, number] }) => `${duration(value[1])} at ${duration(value[0])}` },
    xAxis: { type: "value", name: "start", nameLocation: "middle", nameGap: 26, ...axis },
    yAxis: { type: "value", name: "duration", scale: true, axisLabel: { formatter: (ns: number) => duration(ns) } },
    dataZoom: [{ type: "inside" }],
    series: [{ type: "scatter", symbolSize: 5, data: after.points }],
  }), [after]);
  const clicked = useCallback((_: number, index: number) => {
    const point = after.points[index];
    if (point) go(point[0], point[0] + point[1]);
  }, [after, go]);
  return (
    <section className="charts">
      <h2>{printable(name, 200)}</h2>
      <p className="soft">{count(after.count)} launches{!after.all_points && "; over time, the shortest and longest of neighbours are shown"}. A click on a point shows the launch.</p>
      <div className="pair">
        <Chart label={`Histogram of the durations of ${printable(name, 80)}`} option={histogram} />
        <Chart label={`Durations of ${printable(name, 80)} over time`} option={times} clicked={clicked} />
      </div>
    </section>
  );
}
