// SPDX-License-Identifier: Apache-2.0
// What `tracesmith determinism` found: each launch whose results vary, by how much, and why.
import type { ViewProps } from "../app/views.tsx";
import { Chart } from "../charts/chart.tsx";
import { partOf, recording } from "../data/recording.ts";
import type { Determinism } from "../data/recording.ts";
import type { Value } from "../data/types.ts";
import { count, printable, share } from "../format/quantities.ts";

type Row = { [key: string]: Value };
const text = (value: Value | undefined) => printable(String(value ?? ""), 1000);
const number = (value: Value | undefined) => (typeof value === "number" ? value : 0);

export function Divergences({ found, go, failed }: { found: Determinism; go: ViewProps["go"]; failed: ViewProps["failed"] }) {
  const totals = found.determinism[0] ?? {};
  const list = found.divergences ?? [];
  return (
    <section aria-label="Determinism">
      <h2>Determinism</h2>
      <p>
        {list.length === 0 ? "No launch varied" : `${count(list.length)} of ${count(number(totals["launches"]))} launches vary`}: each ran {count(number(totals["runs"]))} times
        from equal inputs, and the recording in {count(number(totals["orders"]))} legal orders.
        A launch that differs in {share(number(totals["share_found"]))} of its runs is missed with a probability of 0.0001.
      </p>
      {list.map((row, i) => <DivergenceCard key={i} row={row} ulps={(found.ulps ?? []).filter((u) => u["launch"] === row["launch"] && u["kernel"] === row["kernel"])} go={go} failed={failed} />)}
      {(found.remarks ?? []).length > 0 && <ul className="soft">{found.remarks!.map((row, i) => <li key={i}>{text(row["where"])} {text(row["what"])}</li>)}</ul>}
    </section>
  );
}

function DivergenceCard({ row, ulps, go, failed }: { row: Row; ulps: Row[]; go: ViewProps["go"]; failed: ViewProps["failed"] }) {
  const launch = row["launch"];
  const show = () => void recording.launchPlace(Number(launch)).then((place) => go(...partOf(place)), failed);
  return (
    <article className="finding wrong divergence">
      <h2>{launch === null ? "" : `launch ${text(launch)} of `}{text(row["kernel"])}: {text(row["cause"])}</h2>
      <dl>
        <dt>Where</dt>
        <dd>
          {row["argument"] !== null && `argument ${text(row["argument"])} `}{row["type"] ? `(${text(row["type"])}) ` : ""}{text(row["memory"])}
          {typeof launch === "number" && <> <button onClick={show}>Show in the timeline</button></>}
        </dd>
        {typeof row["differing"] === "number" && <>
          <dt>Values</dt>
          <dd>
            {count(row["differing"])} {row["differing"] === 1 ? "element differs" : "elements differ"}; the first is element {text(row["element"])} (byte {text(row["byte"])}):{" "}
            <code>{text(row["one"])}</code> and <code>{text(row["other"])}</code>
            {number(row["nan_in_one"]) > 0 && `; ${count(number(row["nan_in_one"]))} are NaN in one of them`}
          </dd>
        </>}
        {typeof row["most_ulps"] === "number" && <>
          <dt>Distance</dt><dd>{row["ulps"] !== null && `${count(number(row["ulps"]))} ulp at the first element; `}at most {count(row["most_ulps"])} ulp</dd>
        </>}
        <dt>Evidence</dt><dd>{text(row["evidence"])}</dd>
      </dl>
      {ulps.length > 1 && (
        <Chart label="Elements by distance in ulp" height={190} option={{
          xAxis: { type: "category", name: "ulp, at most", nameLocation: "middle", nameGap: 26, data: ulps.map((u) => count(number(u["up_to_ulps"]))) },
          yAxis: { type: "value", name: "elements" },
          series: [{ type: "bar", name: "elements", data: ulps.map((u) => number(u["elements"])) }],
        }} />
      )}
    </article>
  );
}
