// SPDX-License-Identifier: Apache-2.0
// The comparison of two traces: what `tracesmith diff` says.
import type { ViewProps } from "../app/views.tsx";
import { server } from "../data/server.ts";
import { useAnswer } from "../data/use_answer.ts";
import { printable } from "../format/quantities.ts";
import { ReportTable } from "./report_table.tsx";

export function Compare({ trace, failed }: ViewProps) {
  const tables = useAnswer(server.compare, failed, [trace]);
  if (tables === null) return <p className="soft wait">Comparing…</p>;
  return (
    <div className="page">
      <p>From <strong>{printable(trace.before, 200)}</strong> to <strong>{printable(trace.name, 200)}</strong></p>
      {tables.map((table) => <ReportTable key={table.key} table={table} />)}
    </div>
  );
}
