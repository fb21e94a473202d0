// SPDX-License-Identifier: Apache-2.0
// The races of the recording, as `tracesmith races` finds them without executing anything; on request the runs
// that confirm them and check determinism.
import { useMemo, useState } from "react";
import type { ViewProps } from "../app/views.tsx";
import { partOf, recording } from "../data/recording.ts";
import type { CallPlace, Determinism, ProcessRaces, RaceGroup, Races as Found, RecordingInfo, Run } from "../data/recording.ts";
import { useAnswer } from "../data/use_answer.ts";
import { useRuns } from "../data/use_run.ts";
import { count, duration, printable } from "../format/quantities.ts";
import "../style/recording.css";
import { Divergences } from "./divergences.tsx";
import { NoRecording } from "./no_recording.tsx";
import { RacePicture } from "./race_picture.tsx";
import { RunEnd, RunPanel } from "./run_panel.tsx";

const CONFIRM = "races --confirm", DETERMINISM = "determinism";
const FIRST_SHOWN = 25;

export function Races({ trace, go, failed }: ViewProps) {
  const info = useAnswer(recording.info, failed, [trace]);
  if (info === null) return <p className="soft wait">Reading the recording…</p>;
  if (info.path === null) return <NoRecording why={info.why ?? ""} />;
  return <RaceView info={info} trace={trace} go={go} failed={failed} />;
}

function RaceView({ info, trace, go, failed }: ViewProps & { info: RecordingInfo }) {
  const [all, setAll] = useState(false);
  const found = useAnswer(() => recording.races(all), failed, [trace, all]);
  const runs = useRuns([CONFIRM, DETERMINISM], failed);
  const confirm = runs.of(CONFIRM) as Run<Found> | undefined;
  const check = runs.of(DETERMINISM) as Run<Determinism> | undefined;
  const races = found?.processes.reduce((n, p) => n + p.races, 0) ?? 0;
  return (
    <div className="findings races">
      {found === null ? <p className="verdict">Looking for races…</p> : <Summary found={found} races={races} all={all} />}
      <label><input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} /> Also races that are only possible: it is not known what a kernel reads and writes</label>
      <RunPanel info={info} runs={runs} failed={failed}>
        <button className="main-button" disabled={runs.running !== null || races === 0} onClick={() => runs.start({ what: "confirm", all })}>Run the commands of each race in both orders</button>
        <button className="main-button" disabled={runs.running !== null} onClick={() => runs.start({ what: "determinism" })}>Check determinism</button>
      </RunPanel>
      {confirm && <RunEnd run={confirm} />}
      {found && <RaceList found={found} confirmed={confirm?.state === "finished" ? confirm.result : null} go={go} />}
      {check && <RunEnd run={check} />}
      {check?.state === "finished" && check.result && <Divergences found={check.result} go={go} failed={failed} />}
    </div>
  );
}

function Summary({ found, races, all }: { found: Found; races: number; all: boolean }) {
  const launches = found.processes.reduce((n, p) => n + p.launches, 0);
  const groups = found.processes.reduce((n, p) => n + p.groups.length, 0);
  const guessed = found.processes.flatMap((p) => p.guessed_kernels);
  const sum = (key: "unsupported" | "unknown_events" | "stalled") => found.processes.reduce((n, p) => n + p[key], 0);
  return (
    <>
      <p className="verdict">
        {races === 0 ? `No race in the commands of ${count(launches)} launches` : `${count(races)} ${races === 1 ? "race" : "races"} in the commands of ${count(launches)} launches`}
        {groups < races && `, in ${count(groups)} groups of the same kernels and memory`}. Nothing was executed to find {races === 1 ? "it" : "them"}.
      </p>
      <ul className="soft">
        {guessed.length > 0 && !all && <li>It is not known what {count(guessed.length)} {guessed.length === 1 ? "kernel reads and writes" : "kernels read and write"} ({guessed.slice(0, 5).map((name) => printable(name, 60)).join(", ")}{guessed.length > 5 && ", …"}): their races are only possible.</li>}
        {sum("unsupported") > 0 && <li>{count(sum("unsupported"))} calls use memory in ways that are not recorded.</li>}
        {sum("unknown_events") > 0 && <li>{count(sum("unknown_events"))} waits for events that nothing in the recording made are left out.</li>}
        {sum("stalled") > 0 && <li>{count(sum("stalled"))} calls wait for an event that never ended.</li>}
      </ul>
    </>
  );
}

interface Shown {
  process: ProcessRaces;
  group: RaceGroup;
  first: CallPlace;
  second: CallPlace;
}

/** Verdicts belong to groups of the same place: both lists are made by one function. */
function RaceList({ found, confirmed, go }: { found: Found; confirmed: Found | null; go: ViewProps["go"] }) {
  const [more, setMore] = useState(false);
  const list = useMemo(() => {
    let at = 0;
    return found.processes.flatMap((process, p) => process.groups.map((group, g): Shown => {
      const tried = confirmed?.processes[p]?.groups[g];
      const place = at;
      at += 2;
      return {
        process,
        group: tried?.text === group.text && tried.confirm ? { ...group, confirm: tried.confirm } : group,
        first: found.places[place]!,
        second: found.places[place + 1]!,
      };
    }));
  }, [found, confirmed]);
  const shown = more ? list : list.slice(0, FIRST_SHOWN);
  return (
    <>
      {confirmed && <p className="soft">{confirmed.processes.map((p) => `${count(p.replays ?? 0)} replays on ${printable(p.device ?? "no device", 100)}`).join("; ")}</p>}
      <ol>{shown.map((race, i) => <RaceCard key={i} race={race} several={found.processes.length > 1} go={go} />)}</ol>
      {shown.length < list.length && <button onClick={() => setMore(true)}>Show all {count(list.length)}</button>}
    </>
  );
}

function RaceCard({ race: { process, group, first, second }, several, go }: { race: Shown; several: boolean; go: ViewProps["go"] }) {
  const parts = [partOf(first), partOf(second)] as const;
  const verdict = group.confirm;
  return (
    <li className={`finding ${group.grade === "possible" ? "" : "wrong"}`}>
      <h2>{printable(group.text, 300)}</h2>
      <RacePicture group={group} />
      <dl>
        <dt>First</dt><dd><Side text={group.first.text} place={first} go={go} /></dd>
        <dt>Second</dt><dd><Side text={group.second.text} place={second} go={go} /></dd>
        <dt>Missing</dt><dd>{printable(group.missing, 300)} <button onClick={() => go(Math.min(parts[0][0], parts[1][0]), Math.max(parts[0][1], parts[1][1]))}>Show both</button></dd>
        <dt>Fix</dt><dd>{printable(group.fix, 500)}</dd>
        {verdict && <><dt>Run</dt><dd className={`outcome ${verdict.verdict === "confirmed" ? "confirmed" : ""}`}>{printable(verdict.text, 1000)}</dd></>}
      </dl>
      {several && <p className="soft">process {process.pid}: {printable(process.command, 100)}</p>}
    </li>
  );
}

function Side({ text, place, go }: { text: string; place: CallPlace; go: ViewProps["go"] }) {
  const [begin, end] = partOf(place);
  const when = place.work ? `ran from ${duration(begin)} for ${duration(end - begin)}` : `called at ${duration(place.at_ns)}`;
  return <>{printable(text, 300)}; {when} <button onClick={() => go(begin, end)} aria-label={`Show in the timeline: ${printable(text, 100)}`}>Show</button></>;
}
