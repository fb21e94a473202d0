# SPDX-License-Identifier: Apache-2.0
"""Whether a trace says what the program did: against the program's own account, and a counter's."""
import bisect

from result import Absent
from tools import Failed
from ways import middle

COPIES = (("host_to_device", "htod"), ("device_to_host", "dtoh"), ("device_to_device", "dtod"))


def check_counts(step, trace, did, who):
    """Counts and bytes, as the program has counted them."""
    kernels = did["kernels"] + did["graph_kernels"]
    step.equal(f"{who}: kernels", trace.one("SELECT count(*) FROM kernel"), kernels)
    for kind, name in COPIES:
        if did[name]:
            row = trace.row(f"SELECT count(*) AS n, sum(bytes) AS bytes FROM copy WHERE kind = '{kind}'")
            step.equal(f"{who}: copies {kind.replace('_', ' ')}, bytes",
                       [row["n"], row["bytes"] or 0], [did[name], did[name + "_bytes"]])
    if did["fills"]:
        row = trace.row("SELECT count(*) AS n, sum(bytes) AS bytes FROM fill")
        step.equal(f"{who}: fills, bytes", [row["n"], row["bytes"] or 0],
                   [did["fills"], did["fill_bytes"]])
    step.equal(f"{who}: records lost", trace.lost(), 0)


def check_limits(step, trace, did, who):
    """The device's limits, from which occupancy is computed, as the runtime says them."""
    row = trace.row("""SELECT compute_units, warp_size, max_threads_per_unit, registers_per_unit,
        shared_bytes_per_unit FROM device WHERE backend = 'CUDA' AND ordinal = 0""")
    step.equal(f"{who}: multiprocessors, threads of a warp; threads, registers, shared bytes of a multiprocessor",
               list(row.values()), did["limits"])


def check_brackets(step, trace, did, who):
    brackets = did["brackets"]
    if not brackets:
        raise Failed("the program named no brackets")
    kernels = trace.rows("SELECT name, start_ns, end_ns FROM kernel ORDER BY start_ns")
    outside = wrong = 0
    for name in {b["kernel"] for b in brackets}:
        of_name = [b for b in brackets if b["kernel"] == name]
        within, beyond = put_into_brackets([k for k in kernels if k["name"] == name], of_name)
        outside += sum(ns > 0 for ns in beyond)
        wrong += sum(b["kernels"] != n for b, n in zip(of_name, within))
    step.equal(f"{who}: kernels outside of their launch..sync bracket", outside, 0)
    step.equal(f"{who}: brackets without just their kernels", wrong, 0)
    show_margins(step, kernels, brackets, who)


def put_into_brackets(kernels, brackets):
    """Each kernel goes to the bracket that is nearest to its middle. How many kernels each bracket
    contains, and by how many nanoseconds each kernel is outside of its bracket."""
    within, beyond = [0] * len(brackets), []
    order = sorted(range(len(brackets)), key=lambda i: brackets[i]["begin_ns"])
    begins = [brackets[i]["begin_ns"] for i in order]
    for kernel in kernels:
        at = (kernel["start_ns"] + kernel["end_ns"]) / 2
        after = bisect.bisect(begins, at)
        near = order[max(after - 1, 0):after + 1]
        nearest = min(near, key=lambda i: max(brackets[i]["begin_ns"] - at, at - brackets[i]["end_ns"], 0))
        ns = max(0, brackets[nearest]["begin_ns"] - kernel["start_ns"],
                 kernel["end_ns"] - brackets[nearest]["end_ns"])
        within[nearest] += ns <= 0
        beyond.append(ns)
    return within, beyond


def show_margins(step, kernels, brackets, who):
    """How far kernels are from the ends of their brackets: below zero, how far outside."""
    begins, ends = [], []
    kernels = [k for k in kernels if k["name"] == brackets[0]["kernel"]]
    if len(kernels) != sum(b["kernels"] for b in brackets):
        return
    at = 0
    for bracket in brackets:
        of_it = kernels[at:at + bracket["kernels"]]
        at += bracket["kernels"]
        begins += [k["start_ns"] - bracket["begin_ns"] for k in of_it]
        ends += [bracket["end_ns"] - k["end_ns"] for k in of_it]
    step.value(f"{who}: margins in ns", {
        "after the launch began": {"least": min(begins), "median": middle(begins)},
        "before the wait was over": {"least": min(ends), "median": middle(ends)}})


def check_launches(step, trace, who):
    """Each kernel has the call that launched it, which started no later than the kernel."""
    alone = trace.one("""SELECT count(*) FROM kernel k WHERE NOT EXISTS (SELECT 1 FROM host_call h
        WHERE h.process_id = k.process_id AND h.correlation_id = k.correlation_id
        AND h.kind = 'launch' AND h.start_ns <= k.start_ns)""")
    step.equal(f"{who}: kernels without a launch before them", alone, 0)


def counts_and_brackets(tools, step):
    for name in ("vector_add", "matrix_mul", "relu"):
        trace, did = tools.profile_sample(step, name)
        check_counts(step, trace, did, name)
        check_brackets(step, trace, did, name)
        check_launches(step, trace, name)
        check_limits(step, trace, did, name)
        step.equal(f"{name}: the trace is sound", trace.whole(), True)


def independent_counter(tools, step):
    """The counts of the comparison consumer, which shares no code with the agent but its lists."""
    for name in ("vector_add", "matrix_mul", "relu", "graphs"):
        counted, ran = tools.count(tools.sample(name))
        did = ran.json()
        if counted["refused"]:
            raise Absent(counted["refused"])
        step.value(name, counted)
        step.equal(f"{name}: the program's own count, beside the counter's", did["kernels"] + did["graph_kernels"],
                   counted["kernels"])
        trace, _ = tools.profile_sample(step, name)
        step.equal(f"{name}: kernels, beside the counter's", trace.one("SELECT count(*) FROM kernel"),
                   counted["kernels"])
        row = trace.row("SELECT (SELECT count(*) FROM copy) AS copies, (SELECT count(*) FROM fill) AS fills")
        step.equal(f"{name}: copies and fills, beside the counter's", [row["copies"], row["fills"]],
                   [counted["copies"], counted["fills"]])


def saturated_stream(tools, step):
    trace, did = tools.profile_sample(step, "streams", "one")
    begin = did["brackets"][-1]["begin_ns"]
    row = trace.row(f"""SELECT count(*) AS kernels, sum(duration_ns) AS busy,
        max(end_ns) - min(start_ns) AS span FROM kernel WHERE start_ns >= {begin}""")
    step.equal("kernels", row["kernels"], did["brackets"][-1]["kernels"])
    if not row["span"]:
        raise Failed("no kernels in the trace")
    busy = round(row["busy"] / row["span"], 5)
    step.value("by the device's own clock", round(did["device_busy_ns"] / did["device_span_ns"], 5))
    step.check("busy ratio of a saturated stream", busy, ">= 0.99", 0.99 <= busy <= 1.001)
    check_brackets(step, trace, did, "streams one")


def overlap(tools, step):
    trace, did = tools.profile_sample(step, "streams", "many")
    begin = did["brackets"][-1]["begin_ns"]
    most = trace.one(f"""SELECT max(running) FROM (SELECT sum(edge) OVER (ORDER BY t, edge) AS running
        FROM (SELECT start_ns AS t, 1 AS edge FROM kernel WHERE start_ns >= {begin}
        UNION ALL SELECT end_ns, -1 FROM kernel WHERE start_ns >= {begin}))""")
    step.equal("kernels at once, as by the device's own clock", most, did["most_at_once"])
    step.check("they do run at once", did["most_at_once"], "> 1", did["most_at_once"] > 1)
    span = trace.one(f"SELECT max(end_ns) - min(start_ns) FROM kernel WHERE start_ns >= {begin}")
    step.value("span_ns", {"trace": span, "device": did["device_span_ns"]})
    check_brackets(step, trace, did, "streams many")


def kernel_table(tools, step):
    """A table: vectorAdd and relu of a million numbers, matrixMul of 512 x 512."""
    table, total = [], 0.0
    for title, name, kernel in (("vectorAdd (1M elements)", "vector_add", "vectorAdd"),
                                ("matrixMul (512x512)", "matrix_mul", "matrixMul"),
                                ("relu (1M elements)", "relu", "relu")):
        trace, did = tools.profile_sample(step, name, 100)
        durations = sorted(row["duration_ns"] for row in trace.rows(
            f"SELECT duration_ns FROM kernel WHERE name = '{kernel}'"))
        step.equal(f"{title}: kernels", len(durations), did["kernels"])
        if not durations:
            continue
        bracket = middle([b["end_ns"] - b["begin_ns"] for b in did["brackets"]])
        ns = middle(durations)
        total += ns
        table.append({"kernel": title, "ns": ns, "us": round(ns / 1e3, 2), "ms": round(ns / 1e6, 4),
                      "least_ns": durations[0], "most_ns": durations[-1], "bracket_ns": bracket})
        step.check(f"{title}: median duration, within its bracket's", ns, f"1 .. {bracket:.0f}",
                   0 < ns <= bracket)
    step.value("table", table)
    step.value("total_ns", total)


STEPS = (("counts and brackets", "What the samples did is in their traces, when it happened", 15,
          counts_and_brackets),
         ("independent counter", "Counts beside those of a counter that is not ours", 20,
          independent_counter),
         ("saturated stream", "A stream that never runs dry", 10, saturated_stream),
         ("overlap", "Kernels that run at once", 10, overlap),
         ("kernel table", "The table of kernels", 15, kernel_table))
