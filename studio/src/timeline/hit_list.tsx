// SPDX-License-Identifier: Apache-2.0
// The matches of a search, by time.
import { useEffect, useState } from "react";
import { server } from "../data/server.ts";
import type { Lane, Names, SearchResult } from "../data/types.ts";
import { count, duration, printable } from "../format/quantities.ts";

const MOST_SHOWN = 200;

export function HitList({ result, at, lanes, go }: { result: SearchResult; at: number; lanes: readonly Lane[]; go: (at: number) => void }) {
  const [names, setNames] = useState<Names>({});
  // The part of the list around the current match.
  const first = Math.max(0, Math.min(at - MOST_SHOWN / 2, result.hits.length - MOST_SHOWN));
  const shown = result.hits.slice(first, first + MOST_SHOWN);
  useEffect(() => {
    let wanted = true;
    server.names([...new Set(result.hits.map((hit) => hit.name))]).then((found) => wanted && setNames(found), () => undefined);
    return () => { wanted = false; };
  }, [result]);
  return (
    <section className="hits">
      <h2>{count(result.total)} matches</h2>
      {first > 0 && <p className="soft">{count(first)} before</p>}
      <ol start={first + 1}>
        {shown.map((hit, i) => (
          <li key={i} aria-current={first + i === at}>
            <button className="name" onClick={() => go(first + i)}>{printable(names[hit.name]?.short ?? "…", 60)}</button>{" "}
            <span className="soft">{duration(hit.duration_ns)} at {duration(hit.begin_ns)}, {printable(lanes[hit.lane]?.label ?? "", 30)}</span>
          </li>
        ))}
      </ol>
      {first + shown.length < result.total && <p className="soft">{count(result.total - first - shown.length)} more</p>}
    </section>
  );
}
