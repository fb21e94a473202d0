// SPDX-License-Identifier: Apache-2.0
// The parts of `tracesmith analyze`, one at a time.
import { useEffect, useState } from "react";
import { noteAddress, readAddress } from "../app/address.ts";
import { server } from "../data/server.ts";
import type { Table } from "../data/types.ts";
import { ReportTable } from "./report_table.tsx";

const TITLES: Record<string, string> = {
  "gpu-util": "Utilization", memcpy: "Copies", comm: "Communication", "critical-path": "Critical path",
};

function titleOf(part: { key: string; title: string }): string {
  return TITLES[part.key] ?? part.title.charAt(0).toUpperCase() + part.title.slice(1);
}

export function Tables({ failed }: { failed: (error: Error) => void }) {
  const [parts, setParts] = useState<{ key: string; title: string }[]>([]);
  const [part, setPart] = useState(readAddress(location.hash).part ?? "kernels");
  const [tables, setTables] = useState<Table[] | null>(null);
  useEffect(() => void server.parts().then(setParts, failed), [failed]);
  useEffect(() => {
    let wanted = true;
    setTables(null);
    noteAddress({ part });
    server.analysis(part).then((found) => wanted && setTables(found), failed);
    return () => { wanted = false; };
  }, [part, failed]);
  return (
    <div className="sides">
      <nav aria-label="Parts of the analysis">
        {parts.map((p) => <button key={p.key} aria-current={p.key === part} onClick={() => setPart(p.key)}>{titleOf(p)}</button>)}
      </nav>
      <div className="main">
        {tables === null ? <p className="soft">Analyzing…</p> : tables.map((t) => <ReportTable key={t.key} table={t} />)}
      </div>
    </div>
  );
}
