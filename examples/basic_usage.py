# SPDX-License-Identifier: Apache-2.0
"""Records this program and examines the trace: basic_usage.py [--device cuda|mps|rocm|cpu|opencl]
If the device is missing, another one is used, and this is printed. On CUDA and OpenCL every kernel is captured;
on other devices (and on the CPU) the program's own annotations are."""
import argparse

import tracesmith as ts
from device_utils import DEVICES, DeviceManager, benchmark

PLATFORMS = {"cuda": ts.PlatformType.CUDA, "opencl": ts.PlatformType.OpenCL}


def work(device, rounds=5):
    """Multiplies matrices; its phases are annotated."""
    dm = DeviceManager(device)
    print(f"device    {dm.get_device_name()}")
    with ts.annotate("make tensors"):
        x, y = dm.randn(128, 128), dm.randn(128, 128)
        dm.synchronize()
    for _ in range(rounds):
        with ts.annotate("multiply"):
            z = x @ y
            dm.synchronize()
    with ts.annotate("benchmark"):
        times = benchmark(lambda: z + y, warmup=2, iterations=20, dm=dm)
    print(f"add       {times['median_ms'] * 1000:.1f} us, p95 {times['p95_ms'] * 1000:.1f} us")
    return dm.device


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=DEVICES, help="default: the best that is there")
    device = parser.parse_args().device

    # Capturing must be set up before the driver is loaded. If that fails (no such platform, or no agent),
    # the annotations are still recorded.
    platform = PLATFORMS.get(device, ts.PlatformType.Unknown)
    if not ts.create_profiler(platform).is_available():
        platform = ts.PlatformType.Unknown
    with ts.profile("basic_usage.sbt", platform=platform) as p:
        used = work(device)
    trace = p.trace
    print(f"recorded  {len(trace.ranges)} ranges, {len(trace.kernels)} kernels, {len(trace.copies)} copies")
    for name, count, total in trace.query("SELECT name, count(*), sum(duration_ns) FROM range "
                                          "WHERE name IS NOT NULL GROUP BY name"):
        print(f"  {name:14} {count:3} times, {ts.format_duration(int(total))}")
    if platform == ts.PlatformType.Unknown:
        print(f"          work on {used} is not captured in kernels; its times are those of the annotations")
    else:
        timeline = ts.build_timeline(trace)
        print(f"GPU utilization: {timeline.gpu_utilization * 100:.1f}%")
        print(ts.TimelineViewer().render(timeline), end="")
        result = ts.replay_trace(trace)
        print(f"replay    {result.summary().splitlines()[0]}")
    ts.export_perfetto(trace, "basic_usage.pftrace")
    print("basic_usage.pftrace: open it at https://ui.perfetto.dev")


if __name__ == "__main__":
    main()
