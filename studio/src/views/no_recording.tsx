// SPDX-License-Identifier: Apache-2.0
// What the views of a recording show of a trace that has none.
import { printable } from "../format/quantities.ts";

export function NoRecording({ why }: { why: string }) {
  return (
    <div className="findings">
      {why === ""
        ? <p className="verdict">This trace has no recording of the program's commands.</p>
        : <p className="verdict">The recording cannot be read: {printable(why, 500)}</p>}
      <p>A recording has every command with its data. Record the program again (OpenCL):</p>
      <div className="command"><code>tracesmith profile --record -o run.sbt -- PROGRAM</code></div>
      <p className="soft">The recording lies beside the trace, as run.sbr. Then open run.sbt again.</p>
    </div>
  );
}
