# SPDX-License-Identifier: Apache-2.0
"""The time and memory of `tracesmith analyze` and of Holistic Trace Analysis (HTA) for the same questions about the
same trace, as PyTorch's profiler writes it: utilization, overlap, idle times, kernels, launches, queues.
Usage: analyze_bench.py BIN_DIR FOLDER EVENTS"""
import json
import os
import random
import subprocess
import sys
import time

PARTS = ["--gpu-util", "--overlap", "--idle", "--kernels", "--launch", "--queue"]

HTA = """
import sys, time, logging, warnings
logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
begin = time.perf_counter()
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
read = time.perf_counter()
row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
analysis.get_comm_comp_overlap(visualize=False)
analysis.get_idle_time_breakdown(visualize=False, ranks=[0])
analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=15, duration_ratio=0.8, include_memory_kernels=True)
analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)
analysis.get_queue_length_summary(ranks=[0])
print(read - begin, time.perf_counter() - read, int(row["compute_time(us)"]))
"""


def write_trace(path, events):
    """Operators, each with a launch of a kernel on one of four streams: a training loop, without anything special."""
    random.seed(1)
    names = [f"void kernel_{i}<float, {i % 7}>(float*, int)" for i in range(200)]
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU", "totalGlobalMem": 80000000000, '
                  '"computeMajor": 9, "computeMinor": 0, "numSms": 132}], "traceEvents": [\n')
        at, device = 1000, [1000] * 4
        for i in range(events // 3):
            name, stream, length = random.choice(names), random.randrange(4), random.randrange(2, 40)
            device[stream] = max(device[stream], at + 8) + random.randrange(0, 3)
            out.write(f'{{"ph":"X","cat":"cpu_op","name":"aten::op_{i % 50}","pid":100,"tid":100,"ts":{at},"dur":8,'
                      f'"args":{{"External id":{i + 1}}}}},\n'
                      f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":100,"tid":100,"ts":{at + 2},"dur":4,'
                      f'"args":{{"External id":{i + 1},"cbid":211,"correlation":{i + 1}}}}},\n'
                      f'{{"ph":"X","cat":"kernel","name":{json.dumps(name)},"pid":0,"tid":{7 + stream},"ts":{device[stream]},'
                      f'"dur":{length},"args":{{"External id":{i + 1},"device":0,"context":1,"stream":{7 + stream},'
                      f'"correlation":{i + 1},"grid":[64,1,1],"block":[256,1,1]}}}},\n')
            device[stream] += length
            at += random.randrange(9, 14)
        out.write('{"ph":"M","name":"process_name","pid":100,"tid":0,"ts":0,"args":{"name":"python"}}]}\n')


def run(command):
    """Seconds, MiB and output."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        return None
    return time.perf_counter() - begin, usage.ru_maxrss / 1024, said


def main():
    binary, folder, events = os.path.join(sys.argv[1], "tracesmith"), sys.argv[2], int(sys.argv[3])
    source, imported = os.path.join(folder, f"{events}.json"), os.path.join(folder, f"{events}.sbt")
    write_trace(source, events)
    reads = run([binary, "import", "-q", "-o", imported, source])
    ours = min((run([binary, "analyze", "--json", *PARTS, imported]) for _ in range(3)), key=lambda each: each[0])
    compute_ns = json.loads(ours[2])["gpu_util"][0]["compute_ns"]
    print(f"{events} events, {os.path.getsize(source) / 1e6:.0f} MB of JSON")
    print(f"  tracesmith  import {reads[0]:7.2f} s {reads[1]:6.0f} MiB   analyze {ours[0]:7.2f} s {ours[1]:6.0f} MiB")
    peer = run([sys.executable, "-c", HTA, source])
    if peer is None:
        print("  HTA         failed")
        return
    read, analyze, compute_us = peer[2].split()[-3:]
    print(f"  HTA         read   {float(read):7.2f} s                analyze {float(analyze):7.2f} s {peer[1]:6.0f} MiB")
    print(f"  analyze {float(analyze) / ours[0]:.0f} times faster with 1/{peer[1] / ours[1]:.0f} of the memory; with reading "
          f"{(float(read) + float(analyze)) / (reads[0] + ours[0]):.0f} times faster")
    if compute_ns != 1000 * int(compute_us):
        sys.exit(f"compute differs: {compute_ns} ns and HTA's {int(compute_us)} us")
    os.unlink(source)
    os.unlink(imported)


if __name__ == "__main__":
    main()
