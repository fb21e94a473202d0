# SPDX-License-Identifier: Apache-2.0
"""Writes what the released Holistic Trace Analysis says of traces, for analyze_golden_test.py:

    python -m venv hta && hta/bin/pip install HolisticTraceAnalysis==0.5.0
    hta/bin/python tests/cli/hta_golden.py FOLDER >tests/cli/hta_0_5_0.json

FOLDER has the traces; names in the output are paths below it. What HTA ends with an error of is in it as null.
"""
import json
import logging
import sys
import warnings
from pathlib import Path

KERNELS = 12  # the longest of a trace
MOST_BYTES = 3_000_000  # of a packed trace: larger ones take minutes


def tables(analysis):
    """Each of HTA's tables of one rank, in µs, as plain lists."""
    def temporal():
        row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
        return [float(row[f"{name}(us)"]) for name in ("idle_time", "compute_time", "non_compute_time", "kernel_time")]

    def overlap():
        share = float(analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"])
        return None if share != share else share

    def idle():
        rows = analysis.get_idle_time_breakdown(visualize=False, ranks=[0])[0]
        return [[int(row.stream), row.idle_category, float(row.idle_time)] for row in rows.itertuples()]

    def breakdown():
        return analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=10**6, duration_ratio=2.0,
                                                 include_memory_kernels=True)

    def classes():
        return [[row.kernel_type, float(row.sum)] for row in breakdown()[0].itertuples(name="Row")]

    def kernels():
        rows = breakdown()[1]
        rows = rows[rows["kernel_type"] != "MEMORY"].sort_values("sum (us)", ascending=False, kind="stable")
        return [len(rows), [[row["name"], *(float(row[f"{of} (us)"]) for of in ("sum", "mean", "min", "max"))]
                            for _, row in rows.head(KERNELS).iterrows()]]

    def launch():
        frame = analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
        stats = frame[["cpu_duration", "gpu_duration", "launch_delay"]].describe()
        return {column: [float(value) if value == value else None for value in stats[column]] for column in stats}

    def queue():
        rows = analysis.get_queue_length_summary(ranks=[0])
        return None if rows is None else [[int(row[0][1]), *map(float, row[1:])] for row in rows.itertuples()]

    return {name: make for name, make in locals().items() if callable(make) and name not in ("analysis", "breakdown")}


def main(folder):
    from hta.trace_analysis import TraceAnalysis

    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    out = {}
    for path in sorted(Path(folder).rglob("*.json.gz")):
        if path.stat().st_size > MOST_BYTES:
            continue
        try:
            analysis = TraceAnalysis(trace_files={0: str(path)}, trace_dir=str(path.parent))
        except Exception:  # pylint: disable=broad-exception-caught  # it is no trace that HTA reads
            continue
        of_trace = out.setdefault(str(path.relative_to(folder)), {})
        for name, make in tables(analysis).items():
            try:
                of_trace[name] = make()
            except Exception:  # pylint: disable=broad-exception-caught
                of_trace[name] = None
        print(path.name, file=sys.stderr, flush=True)
    print("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(of)}" for name, of in out.items()) + "\n}")


if __name__ == "__main__":
    main(sys.argv[1])
