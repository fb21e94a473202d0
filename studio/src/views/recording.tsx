// SPDX-License-Identifier: Apache-2.0
// Every recorded command in order; a launch with its arguments and its source; on request a run up to it, with the
// memory before and after it.
import { useEffect, useState } from "react";
import type { ViewProps } from "../app/views.tsx";
import { partOf, recording } from "../data/recording.ts";
import type { Argument, Command, CommandDetails, ProgramText, RecordingInfo, Replay, Run, Shown } from "../data/recording.ts";
import { useAnswer } from "../data/use_answer.ts";
import { useRuns } from "../data/use_run.ts";
import type { Runs } from "../data/use_run.ts";
import { bytes, count, duration, printable } from "../format/quantities.ts";
import "../style/recording.css";
import { CommandList } from "./command_list.tsx";
import { MemoryContent } from "./memory_content.tsx";
import { NoRecording } from "./no_recording.tsx";
import { RunEnd, RunPanel, Source } from "./run_panel.tsx";

const SHOWN: { [key in Shown]: string } = { all: "All commands", commands: "What a queue executes, and waits", launches: "Launches" };

export function Recording({ trace, go, failed }: ViewProps) {
  const info = useAnswer(recording.info, failed, [trace]);
  if (info === null) return <p className="soft wait">Reading the recording…</p>;
  if (info.path === null) return <NoRecording why={info.why ?? ""} />;
  return <RecordingView key={trace.generation} info={info} trace={trace} go={go} failed={failed} />;
}

function RecordingView({ info, go, failed }: ViewProps & { info: RecordingInfo }) {
  const [show, setShow] = useState<Shown>("commands");
  const [text, setText] = useState("");
  const [selected, setSelected] = useState<Command | null>(null);
  const runs = useRuns(["replay", "races --confirm", "determinism"], failed);
  return (
    <div className="recording">
      <section className="command-side" aria-label="Commands">
        <div className="bar">
          <select aria-label="Which commands" value={show} onChange={(event) => setShow(event.target.value as Shown)}>
            {Object.entries(SHOWN).map(([key, title]) => <option key={key} value={key}>{title}</option>)}
          </select>
          <input type="search" placeholder="Kind or name" aria-label="Kind or name" value={text} onChange={(event) => setText(event.target.value)} />
        </div>
        <CommandList show={show} text={text} selected={selected} select={setSelected} failed={failed} />
      </section>
      <section className="command-details" aria-label="Command">
        {selected ? <Details command={selected} info={info} runs={runs} go={go} failed={failed} /> : (
          <p className="soft">
            Process {info.pid}: {printable(info.command, 200)}. {count(info.commands)} commands, {count(info.launches)} launches, in {duration(info.recorded_ns)}.
            Select a launch to see its arguments and source, and to run the recording up to it.
          </p>
        )}
      </section>
    </div>
  );
}

function Details({ command, info, runs, go, failed }: { command: Command; info: RecordingInfo; runs: Runs; go: ViewProps["go"]; failed: ViewProps["failed"] }) {
  const details = useAnswer(() => recording.command(command.step), failed, [command.step]);
  if (details === null) return <p className="soft">Reading the command…</p>;
  const [begin, end] = partOf(details.place);
  return (
    <>
      <h2>{command.launch !== null ? `launch ${count(command.launch)}: ` : `${command.kind}${command.name === "" ? "" : ": "}`}{printable(command.name, 200)}</h2>
      <dl className="facts">
        <div><dt>Command</dt><dd>{count(command.sequence)}, by thread {command.thread}{command.queue !== null && `, in queue ${command.queue}`}{command.result !== 0 && `; it failed (${command.result})`}</dd></div>
        {command.shape !== "" && <div><dt>Size</dt><dd>{command.shape}{command.group !== "" && ` in groups of ${command.group}`}</dd></div>}
        {command.bytes !== null && <div><dt>Bytes</dt><dd>{count(command.bytes)}</dd></div>}
        {command.waits.length > 0 && <div><dt>Waits for</dt><dd>{command.waits.map((w) => (w === null ? "an event that is not recorded" : `command ${count(w)}`)).join(", ")}</dd></div>}
        <div>
          <dt>Time</dt>
          <dd>
            called at {duration(details.place.at_ns)}{details.place.work && `, ran from ${duration(begin)} for ${duration(end - begin)}`}{" "}
            <button onClick={() => go(begin, end)}>Show in the timeline</button>
          </dd>
        </div>
      </dl>
      {details.arguments && <Launch key={details.step} launch={details} info={info} runs={runs} failed={failed} />}
    </>
  );
}

const isMemory = (argument: Argument): argument is Argument & { memory: number; memory_bytes: number } => argument.memory !== undefined;

function Launch({ launch, info, runs, failed }: { launch: CommandDetails; info: RecordingInfo; runs: Runs; failed: ViewProps["failed"] }) {
  const list = launch.arguments ?? [];
  const [kept, setKept] = useState(() => new Set(list.filter(isMemory).map((a) => a.memory)));
  const run = runs.of("replay") as Run<Replay> | undefined;
  const done = run?.state === "finished" ? run.result : null;
  const reached = done?.dumps?.[0]?.["launch"];
  const toggle = (memory: number) => setKept((before) => {
    const next = new Set(before);
    if (!next.delete(memory)) next.add(memory);
    return next;
  });
  return (
    <>
      {list.length > 0 && <table>
        <thead><tr><th scope="col" className="number">Argument</th><th scope="col">Value</th><th scope="col">Keep</th></tr></thead>
        <tbody>
          {list.map((argument) => (
            <tr key={argument.index}>
              <td className="number">{argument.index}</td>
              <td>{valueOf(argument)}</td>
              <td>{isMemory(argument) && <input type="checkbox" aria-label={`Keep ${argument.object} of argument ${argument.index}`} checked={kept.has(argument.memory)} onChange={() => toggle(argument.memory)} />}</td>
            </tr>
          ))}
        </tbody>
      </table>}
      {typeof launch.program === "number" && launch.program > 0 && <KernelSource program={launch.program} kernel={launch.name} failed={failed} />}
      {launch.launch !== null && <>
        <RunPanel info={info} until={launch.launch} runs={runs} failed={failed}>
          <button className="main-button" disabled={runs.running !== null} onClick={() => runs.start({ what: "replay", launch: launch.launch!, buffers: [...kept] })}>Run up to here</button>
          <span className="soft">One command at a time. Kept memory is shown as it is before and after the launch.</span>
        </RunPanel>
        {run && <RunEnd run={run} />}
        {run && done && reached === launch.launch && <MemoryContent key={run.id} run={run.id} launch={launch} found={done} failed={failed} />}
        {run && done && reached === undefined && run.state === "finished" && <p className="soft">The last run kept no memory.</p>}
        {typeof reached === "number" && reached !== launch.launch && <p className="soft">The last run stopped at launch {count(reached)}: select it to see its memory.</p>}
      </>}
    </>
  );
}

function valueOf(argument: Argument): string {
  if (argument.object !== undefined) return `${argument.object}${isMemory(argument) ? `, ${bytes(argument.memory_bytes)}` : ""}`;
  if (argument.value) return printable(argument.value, 100);
  return argument.bytes === undefined ? argument.form : `${argument.form}, ${bytes(argument.bytes)}`;
}

function KernelSource({ program, kernel, failed }: { program: number; kernel: string; failed: ViewProps["failed"] }) {
  const [whole, setWhole] = useState(false);
  const [text, setText] = useState<ProgramText | null>(null);
  useEffect(() => {
    let wanted = true;
    recording.program(program, whole ? undefined : kernel).then((found) => wanted && setText(found), failed);
    return () => { wanted = false; };
  }, [program, kernel, whole]);
  if (text === null) return <p className="soft">Reading the source…</p>;
  if (text.source === "") return <p className="soft">{text.name} is a {text.form}: the recording has no source of it.</p>;
  return (
    <div className="kernel-source">
      <Source text={whole ? text : { ...text, source: text.source.replace(/^(\s*\n)+/, "") }} />
      <label className="soft"><input type="checkbox" checked={whole} onChange={(event) => setWhole(event.target.checked)} /> Whole program</label>
    </div>
  );
}
