# SPDX-License-Identifier: Apache-2.0
"""Whether a trace says what the program did: against the program's own account, and a counter's."""
from result import Absent
from tools import Failed, middle

COPIES = (("host_to_device", "htod"), ("device_to_host", "dtoh"), ("device_to_device", "dtod"))


def brackets_sql(brackets):
    rows = ", ".join(f"('{b['kernel']}', {b['kernels']}, {b['begin_ns']}, {b['end_ns']})"
                     for b in brackets)
    return f"WITH b(name, kernels, begin_ns, end_ns) AS (VALUES {rows}) "


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


def check_brackets(step, trace, did, who):
    brackets = did["brackets"]
    if not brackets:
        raise Failed("the program named no brackets")
    outside = trace.one(brackets_sql(brackets) + """SELECT count(*) FROM kernel k WHERE NOT EXISTS
        (SELECT 1 FROM b WHERE b.name = k.name AND k.start_ns >= b.begin_ns AND k.end_ns <= b.end_ns)""")
    step.equal(f"{who}: kernels outside of their launch..sync bracket", outside, 0)
    wrong = trace.one(brackets_sql(brackets) + """SELECT count(*) FROM b WHERE b.kernels <>
        (SELECT count(*) FROM kernel k WHERE k.name = b.name AND k.start_ns >= b.begin_ns
         AND k.end_ns <= b.end_ns)""")
    step.equal(f"{who}: brackets without just their kernels", wrong, 0)
    show_margins(step, trace, brackets, who)


def show_margins(step, trace, brackets, who):
    """How far kernels are from the ends of their brackets: below zero, how far outside."""
    begins, ends = [], []
    kernels = trace.rows("SELECT name, start_ns, end_ns FROM kernel ORDER BY start_ns")
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
    alone = trace.one("""SELECT count(*) FROM kernel k WHERE NOT EXISTS (SELECT 1 FROM host_call h
        WHERE h.process_id = k.process_id AND h.correlation_id = k.correlation_id
        AND h.kind = 'launch' AND h.start_ns <= k.start_ns)""")
    step.equal(f"{who}: kernels without a launch before them", alone, 0)


def counts_and_brackets(tools, step):
    for name in ("vector_add", "matrix_mul", "relu"):
        trace, ran = tools.profile(name + ".sbt", tools.sample(name))
        did = ran.json()
        check_counts(step, trace, did, name)
        check_brackets(step, trace, did, name)
        check_launches(step, trace, name)
        step.equal(f"{name}: the trace is sound", trace.whole(), True)


def independent_counter(tools, step):
    for name in ("vector_add", "many_small_kernels", "graphs"):
        counted, ran = tools.count(tools.sample(name))
        did = ran.json()
        trace, _ = tools.profile("counted.sbt", tools.sample(name))
        here = trace.one("SELECT count(*) FROM kernel")
        step.value(name, {"trace": here, "counter": counted["kernels"],
                          "program": did["kernels"] + did["graph_kernels"],
                          "counter_dropped": counted["dropped"]})
        step.equal(f"{name}: kernels, beside the counter's", here, counted["kernels"])


def saturated_stream(tools, step):
    trace, ran = tools.profile("saturated.sbt", tools.sample("streams", "one"))
    did = ran.json()
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
    trace, ran = tools.profile("overlap.sbt", tools.sample("streams", "many"))
    did = ran.json()
    begin = did["brackets"][-1]["begin_ns"]
    most = trace.one(f"""SELECT max(running) FROM (SELECT sum(edge) OVER (ORDER BY t, edge) AS running
        FROM (SELECT start_ns AS t, 1 AS edge FROM kernel WHERE start_ns >= {begin}
        UNION ALL SELECT end_ns, -1 FROM kernel WHERE start_ns >= {begin}))""")
    step.equal("kernels at once, as by the device's own clock", most, did["most_at_once"])
    step.check("they do run at once", did["most_at_once"], "> 1", did["most_at_once"] > 1)
    span = trace.one(f"SELECT max(end_ns) - min(start_ns) FROM kernel WHERE start_ns >= {begin}")
    step.value("span_ns", {"trace": span, "device": did["device_span_ns"]})
    check_brackets(step, trace, did, "streams many")


def graphs(tools, step):
    trace, ran = tools.profile("graphs.sbt", tools.sample("graphs"))
    did = ran.json()
    check_counts(step, trace, did, "graphs")
    check_brackets(step, trace, did, "graphs")
    step.equal("launches that the kernels have",
               trace.one("SELECT count(DISTINCT correlation_id) FROM kernel"), did["graph_launches"])
    check_launches(step, trace, "graphs")


def peer_copies(tools, step):
    did = tools.run(tools.sample("peer_copy")).json()
    if "absent" in did:
        raise Absent(did["absent"])
    trace, ran = tools.profile("peer.sbt", tools.sample("peer_copy"))
    did = ran.json()
    row = trace.row("SELECT count(*) AS n, sum(bytes) AS bytes FROM copy "
                    "WHERE kind NOT IN ('host_to_device', 'device_to_host')")
    step.equal("copies between devices, bytes", [row["n"], row["bytes"]],
               [did["peer"], did["peer_bytes"]])


def kernel_table(tools, step):
    """The request's table: vectorAdd and relu of a million numbers, matrixMul of 512 x 512."""
    table, total = [], 0.0
    for title, name, kernel in (("vectorAdd (1M elements)", "vector_add", "vectorAdd"),
                                ("matrixMul (512x512)", "matrix_mul", "matrixMul"),
                                ("relu (1M elements)", "relu", "relu")):
        trace, ran = tools.profile("table.sbt", tools.sample(name, 100))
        did = ran.json()
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


def memory_table(tools, step):
    trace, ran = tools.profile("memory.sbt", tools.sample("memory_phases"))
    did = ran.json()
    step.value("table", did["phases"])
    step.value("allocated", [did["allocations"], did["allocated_bytes"]])
    step.value("freed", [did["frees"], did["freed_bytes"]])
    step.value("test_ns", did["loop_ns"])
    calls = trace.row("""SELECT sum(name LIKE '%alloc%') AS allocations, sum(name LIKE '%free%') AS frees
        FROM host_call WHERE kind = 'memory' AND result = 0""")
    step.equal("calls that allocate, and that free", [calls["allocations"], calls["frees"]],
               [did["allocations"], did["frees"]])
    for kind, count, size in (("alloc", "allocations", "allocated_bytes"), ("free", "frees", "freed_bytes")):
        row = trace.row(f"SELECT count(*) AS n, sum(bytes) AS bytes FROM memory_event WHERE kind = '{kind}'")
        if row["n"] == 0:
            step.absent(f"memory events: {kind}", "this version records the calls, not their sizes")
        else:
            step.equal(f"memory events: {kind}, bytes", [row["n"], row["bytes"]], [did[count], did[size]])


STEPS = (("counts and brackets", "What the samples did is in their traces, when it happened", 40,
          counts_and_brackets),
         ("independent counter", "Kernel counts beside a counter that is not ours", 30,
          independent_counter),
         ("saturated stream", "A stream that never runs dry", 20, saturated_stream),
         ("overlap", "Kernels that run at once", 15, overlap),
         ("kernel table", "The table of kernels", 30, kernel_table),
         ("memory table", "The table of memory", 15, memory_table),
         ("graphs", "CUDA graphs", 20, graphs),
         ("peer copies", "Copies between devices", 20, peer_copies))
