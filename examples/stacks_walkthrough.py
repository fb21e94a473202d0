# SPDX-License-Identifier: Apache-2.0
"""Which code launched each kernel, and what each kernel had to wait for.
stacks_walkthrough.py   writes stacks.sbt, stacks.dot; exits with 77 without OpenCL"""
from pathlib import Path

import tracesmith as ts
from walkthrough import expect, profile

trace = profile("stacks.sbt", "--stacks")

# Stacks of C, C++ and Python: one row per call path.
events = ts.SBTReader("stacks.sbt").read_all()
launches = [event for event in events if event.type == ts.EventType.KernelLaunch and event.call_stack]
expect(len(launches) == 4 * 6, "a stack for each launch")
print(f"{launches[0].name} was launched by:")
for frame in launches[0].call_stack.frames:
    print(f"  {frame.function_name or hex(frame.address)}  {Path(frame.file_name).name}:{frame.line_number}")
functions = {frame.function_name for event in launches for frame in event.call_stack.frames}
expect({"layer", "train", "main"} <= functions, "workload.py's functions are in the stacks")

# The operations as a graph: which operations had to end before each one started.
builder = ts.InstructionStreamBuilder()
builder.add_events(events)
builder.analyze()
statistics = builder.get_statistics()
print(f"{statistics.total_operations} operations, {statistics.total_dependencies} dependencies")
expect(len(builder.get_execution_order()) == statistics.total_operations, "an order that keeps all dependencies")
Path("stacks.dot").write_text(builder.export_to_dot(), encoding="utf-8")
print("stacks.dot: dot -Tsvg stacks.dot")
