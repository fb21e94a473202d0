// SPDX-License-Identifier: Apache-2.0
// The parts of `tracesmith analyze`, one at a time.
import { useEffect, useState } from "react";
import { noteAddress, readAddress } from "../app/address.ts";
import type { ViewProps } from "../app/views.tsx";
import { server } from "../data/server.ts";
import type { Table } from "../data/types.ts";
import { KernelTimes } from "./kernel_times.tsx";
import { ReportTable } from "./report_table.tsx";

const TITLES: Record<string, string> = {
  "gpu-util": "Utilization", memcpy: "Copies", comm: "Communication", "critical-path": "Critical path",
};

function titleOf(part: { key: string; title: string }): string {
  return TITLES[part.key] ?? part.title.charAt(0).toUpperCase() + part.title.slice(1);
}

export function Tables({ trace, failed, go }: ViewProps) {
  const [kernel, setKernel] = useState("");
  const [parts, setParts] = useState<{ key: string; title: string }[]>([]);
  const [part, setPart] = useState(readAddress(location.hash).part ?? "kernels");
  const [tables, setTables] = useState<Table[] | null>(null);
  useEffect(() => void server.parts().then(setParts, failed), [failed]);
  useEffect(() => {
    let wanted = true;
    setTables(null);
    setKernel("");
    noteAddress({ part });
    server.analysis(part).then((found) => wanted && setTables(found), failed);
    return () => { wanted = false; };
  }, [trace, part, failed]);
  return (
    <div className="sides">
      <nav aria-label="Parts of the analysis">
        {parts.map((p) => <button key={p.key} aria-current={p.key === part} onClick={() => setPart(p.key)}>{titleOf(p)}</button>)}
      </nav>
      <div className="main">
        {tables === null ? <p className="soft">Analyzing…</p> : tables.map((t) => <ReportTable key={t.key} table={t} {...(t.key === "kernels" ? { open: setKernel, canOpen: server.hasKernel } : {})} />)}
        {kernel !== "" && <KernelTimes name={kernel} compared={trace.before !== ""} failed={failed} go={go} />}
      </div>
    </div>
  );
}
