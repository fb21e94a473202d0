// SPDX-License-Identifier: Apache-2.0
// The run that executes the recording: there is at most one.
import { useEffect, useRef, useState } from "react";
import { recording } from "./recording.ts";
import type { Run, RunRequest } from "./recording.ts";

const PAUSE_MS = 300;

export interface Runs {
  /** The newest run of each kind, by what it is. */
  of: (what: string) => Run<unknown> | undefined;
  running: Run<unknown> | null;
  start: (request: RunRequest) => void;
  cancel: () => void;
}

/** Takes over runs that were started before. `whats`: the kinds of runs. */
export function useRuns(whats: readonly string[], failed: (error: Error) => void): Runs {
  const [runs, setRuns] = useState<{ [what: string]: Run<unknown> }>({});
  const [running, setRunning] = useState<Run<unknown> | null>(null);
  const there = useRef(true);
  const fail = (error: Error) => { if (there.current) failed(error); };
  const take = (run: Run<unknown>) => {
    if (!there.current || run.id === 0) return;
    setRuns((before) => ({ ...before, [run.what]: run }));
    setRunning((before) => (run.state === "running" ? run : before?.id === run.id ? null : before));
    if (run.state === "running") setTimeout(() => void recording.job(run.id).then(take, fail), PAUSE_MS);
  };
  useEffect(() => {
    there.current = true;
    for (const what of whats) recording.newest(what).then(take, fail);
    return () => { there.current = false; };
  }, []);
  return {
    of: (what) => runs[what],
    running,
    start: (request) => void recording.run(request).then(({ id }) => recording.job(id)).then(take).catch(fail),
    // The next question for its state tells that it has ended.
    cancel: () => running && void recording.cancel(running.id).catch(fail),
  };
}
