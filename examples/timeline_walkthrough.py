# SPDX-License-Identifier: Apache-2.0
"""The states of streams over time, a timeline, and a file for Perfetto.
timeline_walkthrough.py   writes timeline.sbt, timeline.pftrace; exits with 77 without OpenCL"""
import tracesmith as ts
from walkthrough import expect, profile

trace = profile("timeline.sbt")
events = ts.SBTReader("timeline.sbt").read_all()

machine = ts.GPUStateMachine()
machine.process_events(events)
for history in machine.export_history():
    print(f"device {history.device_id}, stream {history.stream_id}: "
          f"{len(history.transitions)} changes of state; the first:")
    for step in history.transitions[:6]:
        print(f"  {step.from_state.name:8} -> {step.to_state.name:8} {step.reason}")
statistics = machine.get_statistics()
expect(statistics.total_transitions > 0, "states change")
print(f"utilization {statistics.overall_utilization * 100:.1f}%")

timeline = ts.build_timeline(trace)
expect(len(timeline.spans) == len(trace.kernels) + len(trace.copies), "a span for each kernel and copy")
print(ts.TimelineViewer().render(timeline), end="")

ts.export_perfetto(trace, "timeline.pftrace")
print("timeline.pftrace: open it at https://ui.perfetto.dev")
