// SPDX-License-Identifier: Apache-2.0
// A chart of a query's result: one column along the axis, others as series.
import { useMemo, useState } from "react";
import { Chart } from "../charts/chart.tsx";
import type { Table } from "../data/types.ts";
import { printable } from "../format/quantities.ts";

const MOST_BARS = 60;
const MOST_POINTS = 10_000;

export function ResultChart({ table }: { table: Table }) {
  const numeric = useMemo(() => table.columns.map((_, i) => table.rows.length > 0 && table.rows.every((row) => typeof row[i] === "number" || row[i] === null)), [table]);
  const named = numeric.findIndex((is) => !is);
  const [along, setAlong] = useState(named >= 0 ? named : 0);
  const [value, setValue] = useState(numeric.findIndex((is, i) => is && i !== along));
  const option = useMemo(() => {
    const rows = table.rows.filter((row) => typeof row[value] === "number").slice(0, numeric[along] ? MOST_POINTS : MOST_BARS);
    const name = (i: number) => printable(table.columns[i]?.title ?? "", 40);
    if (numeric[along]) {
      return {
        xAxis: { type: "value", name: name(along), nameLocation: "middle", nameGap: 26, scale: true },
        yAxis: { type: "value", name: name(value), scale: true },
        dataZoom: [{ type: "inside" }],
        series: [{ type: "scatter", name: name(value), symbolSize: 5, data: rows.map((row) => [row[along], row[value]]) }],
      };
    }
    return {
      grid: { left: 80, right: 20, top: 34, bottom: 110 },
      xAxis: { type: "category", data: rows.map((row) => printable(String(row[along] ?? ""), 24)), axisLabel: { rotate: 40, interval: 0 } },
      yAxis: { type: "value", name: name(value) },
      series: [{ type: "bar", name: name(value), data: rows.map((row) => row[value]) }],
    };
  }, [table, along, value, numeric]);
  if (!numeric.some((is) => is) || table.columns.length < 2) return <p className="soft">A chart needs two columns, one of them with numbers.</p>;
  const columns = (is: (i: number) => boolean) => table.columns.flatMap((column, i) => (is(i) ? [<option key={i} value={i}>{printable(column.title, 60)}</option>] : []));
  return (
    <section>
      <div className="bar">
        <label>along <select value={along} onChange={(e) => setAlong(Number(e.target.value))}>{columns(() => true)}</select></label>
        <label>values <select value={value} onChange={(e) => setValue(Number(e.target.value))}>{columns((i) => numeric[i] === true)}</select></label>
        {!numeric[along] && table.rows.length > MOST_BARS && <span className="soft">the first {MOST_BARS} rows</span>}
      </div>
      <Chart label="Chart of the result" option={option} height={340} />
    </section>
  );
}
