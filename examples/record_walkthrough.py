# SPDX-License-Identifier: Apache-2.0
"""Record a program, and examine its kernels: launch, stream, start and end.
record_walkthrough.py   writes record.sbt; exits with 77 without OpenCL"""
from walkthrough import expect, profile, tracesmith

trace = profile("record.sbt")
kernels = trace.kernels
print(f"{len(kernels)} kernels on {len(trace.devices)} device, {len(trace.streams)} stream, "
      f"{len(trace.host_calls)} host calls, {len(trace.copies)} copies")
expect(len(kernels) == 4 * 6, "four steps of three layers, two kernels each")
expect((kernels.duration_ns > 0).all(), "each kernel takes time")

# All times are nanoseconds of the host's clock, including device times; the trace states their accuracy.
for name, launched, started, ended in trace.query(
        "SELECT k.name, h.start_ns, k.start_ns, k.end_ns FROM kernel k JOIN host_call h USING (correlation_id) "
        "ORDER BY k.start_ns LIMIT 6"):
    print(f"  {name:8} launched, {started - launched:8} ns later begun, {ended - started:8} ns long")

print(tracesmith("view", "record.sbt", "-n", 5), end="")
