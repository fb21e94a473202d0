// SPDX-License-Identifier: Apache-2.0
// What a run of the recording would execute, said before it is started; its progress; its end.
import { useState } from "react";
import type { ReactNode } from "react";
import { recording } from "../data/recording.ts";
import type { ProgramText, RecordedProgram, RecordingInfo, Run } from "../data/recording.ts";
import type { Runs } from "../data/use_run.ts";
import { bytes, count, duration, printable } from "../format/quantities.ts";

const things = (n: number, what: string) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;

function textOf(info: RecordingInfo, until: number): string {
  const kernels = info.programs.reduce((n, program) => n + program.kernels.length, 0);
  const launches = things(info.launches, "launch").replace(/launchs$/, "launches");
  return `${until < info.launches ? `the first ${until === 1 ? "" : `${count(until)} `}of ` : ""}${launches} of ${things(kernels, "kernel")}, from ${things(info.program_count, "program")}`;
}

/** `until`: the last launch of a run; `children`: the buttons that start runs. */
export function RunPanel({ info, until = info.launches, runs, failed, children }: {
  info: RecordingInfo;
  until?: number;
  runs: Runs;
  failed: (error: Error) => void;
  children: ReactNode;
}) {
  return (
    <section className="run-panel" aria-label="Run the recorded commands">
      <h2>Run the recorded commands again</h2>
      <p>
        A run executes {textOf(info, until)}, on {printable(info.devices.join(", ") || "the first device", 200)} or what this machine has instead.
        It runs on this machine as you. Do it only with recordings that you trust as you trust the program. Nothing runs before you click.
      </p>
      <details>
        <summary>Recorded from {printable(info.command, 120)} ({duration(info.recorded_ns)})</summary>
        <ul className="programs">{info.programs.map((program) => <Program key={program.program} program={program} failed={failed} />)}</ul>
        {info.programs.length < info.program_count && <p className="soft">{count(info.program_count - info.programs.length)} more programs are not listed.</p>}
      </details>
      {info.warnings.map((warning, i) => <p key={i} className="warning">{printable(warning, 500)}</p>)}
      <div className="bar">
        {children}
        {runs.running && (
          <span role="status" className="running">
            Running <code>{printable(runs.running.command, 160)}</code> {Math.floor(runs.running.seconds)} s <button onClick={runs.cancel}>Cancel</button>
          </span>
        )}
      </div>
    </section>
  );
}

function Program({ program, failed }: { program: RecordedProgram; failed: (error: Error) => void }) {
  const [text, setText] = useState<ProgramText | null>(null);
  const size = program.lines > 0 ? things(program.lines, "line") : bytes(program.bytes);
  return (
    <li>
      {program.name}: {program.form}, {size}; kernels: {program.kernels.map((k) => printable(k.name, 80)).join(", ") || "none is launched"}{" "}
      {program.lines > 0 && (text
        ? <button onClick={() => setText(null)}>Hide the source</button>
        : <button onClick={() => void recording.program(program.program).then(setText, failed)}>Show the source</button>)}
      {text && <Source text={text} />}
    </li>
  );
}

export function Source({ text }: { text: ProgramText }) {
  return (
    <>
      {text.options !== "" && <p className="soft">Build options: <code>{printable(text.options, 500)}</code></p>}
      <pre className="source" tabIndex={0} aria-label={`Source of ${text.name}`}>{text.source.split("\n").map((line) => printable(line.replaceAll("\t", "  "), 1000)).join("\n")}</pre>
      {text.cut && <p className="soft">The source is longer.</p>}
    </>
  );
}

/** How a run ended, if not with a result. */
export function RunEnd({ run }: { run: Run<unknown> }) {
  if (run.state === "running" || (run.state === "finished" && run.result !== null)) return null;
  return (
    <div className="run-end" role="status">
      {run.state === "cancelled" ? `Cancelled after ${run.seconds.toFixed(1)} s.`
        : !run.output_whole ? "The result is larger than Studio shows. Run the command in a terminal."
          : run.signal !== 0 ? `The run was ended by signal ${run.signal}.` : `The run failed with exit code ${run.exit_code}.`}
      {run.messages !== "" && run.state === "finished" && <pre>{run.messages.trim().split("\n").map((line) => printable(line, 500)).join("\n")}</pre>}
    </div>
  );
}
