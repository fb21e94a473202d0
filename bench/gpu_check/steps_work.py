# SPDX-License-Identifier: Apache-2.0
"""Work of other kinds than plain launches: graphs, events between streams, values in streams, PTX that
is compiled when the program runs."""
from steps_truth import check_brackets, check_counts, check_launches
from tolerance import check_overlaps


def graphs(tools, step):
    for name, launches, nodes in (("graphs", 200, 16), ("graphs of 1,000 kernels", 50, 1000)):
        trace, did = tools.profile_sample(step, "graphs", launches, nodes)
        check_counts(step, trace, did, name)
        check_brackets(step, trace, did, name)
        step.equal(f"{name}: launches that the kernels have",
                   trace.one("SELECT count(DISTINCT correlation_id) FROM kernel"), did["graph_launches"])
        check_launches(step, trace, name)


def positions(trace, name):
    """Which number each call has among those of such a name, by correlation id."""
    rows = trace.rows(f"SELECT correlation_id AS id FROM host_call WHERE name LIKE '%{name}%' ORDER BY start_ns")
    return {row["id"]: i for i, row in enumerate(rows)}


def check_order(step, trace, first, second, rounds, who):
    """In each round the second kernel begins when the first has ended, and the next first one after it."""
    starts = {name: trace.rows(f"SELECT start_ns, end_ns FROM kernel WHERE name = '{name}' ORDER BY start_ns")
              for name in (first, second)}
    step.equal(f"{who}: kernels of both streams", [len(rows) for rows in starts.values()], [rounds, rounds])
    a, b = starts[first], starts[second]
    check_overlaps(step, f"{who}: kernels that begin before the one that they wait for has ended",
                   [*zip(a, b), *zip(b, a[1:])])


def events(tools, step):
    """Each wait has an edge from the recording that it was for, and from no other."""
    trace, did = tools.profile_sample(step, "events")
    check_counts(step, trace, did, "events")
    check_launches(step, trace, "events")
    check_order(step, trace, "produce", "consume", did["rounds"], "events")
    records, waits = positions(trace, "EventRecord"), positions(trace, "StreamWaitEvent")
    step.equal("recordings, and waits", [len(records), len(waits)], [did["records"], did["waits"]])
    reason = trace.lacks("recorded events") or trace.lacks("synchronisation")
    if reason:
        step.absent("edges of waits", reason)
        return
    edges = sorted([records[row["a"]], waits[row["b"]]] for row in trace.rows(
        "SELECT from_correlation_id AS a, to_correlation_id AS b FROM flow") if row["a"] in records
        and row["b"] in waits)
    step.value("edges", len(edges))
    wrong = [edge for edge in edges if edge not in did["edges"]]
    missing = [edge for edge in did["edges"] if edge not in edges]
    step.equal("edges to a recording that the wait was not for", len(wrong), 0)
    step.equal("waits without an edge", len(missing), 0)


def stream_values(tools, step):
    trace, did = tools.profile_sample(step, "stream_values")
    check_counts(step, trace, did, "stream_values")
    check_launches(step, trace, "stream_values")
    check_order(step, trace, "stepProduce", "stepConsume", did["rounds"], "stream_values")
    calls = [len(positions(trace, name)) for name in ("StreamWriteValue", "StreamWaitValue")]
    step.equal("calls that write values, and that wait for them", calls, [did["value_writes"], did["value_waits"]])


def ptx(tools, step):
    trace, did = tools.profile_sample(step, "ptx")
    check_counts(step, trace, did, "ptx")
    check_brackets(step, trace, did, "ptx")
    check_launches(step, trace, "ptx")
    step.equal("launches by cuLaunchKernelEx", len(positions(trace, "cuLaunchKernelEx")), did["launches_ex"])
    calls = len(positions(trace, "ModuleLoadData"))
    step.check("calls that load a module", calls, f">= {did['modules']}", calls >= did["modules"])


STEPS = (("graphs", "CUDA graphs, small and large", 20, graphs),
         ("events", "Streams that wait for each other's events", 10, events),
         ("stream values", "Streams that wait for values in memory", 10, stream_values),
         ("PTX", "A program of the driver's API that loads PTX", 10, ptx))
