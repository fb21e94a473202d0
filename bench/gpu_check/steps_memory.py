# SPDX-License-Identifier: Apache-2.0
"""Memory in a trace against the programs' own accounts: allocations, managed memory, pools, virtual
memory, copies between devices."""
from result import Absent
from steps_truth import check_brackets, check_counts, check_launches


def check_memory_events(step, trace, expected, who):
    """`expected`: (kind, how many, bytes)."""
    reason = trace.lacks("allocations")
    for kind, count, size in expected:
        what = f"{who}: memory events {kind}, bytes"
        if reason:
            step.absent(what, reason)
            continue
        row = trace.row(f"SELECT count(*) AS n, sum(bytes) AS bytes FROM memory_event WHERE kind = '{kind}'")
        step.equal(what, [row["n"], row["bytes"] or 0], [count, size])


def of_account(did):
    return (("alloc", did["allocations"], did["allocated_bytes"]), ("free", did["frees"], did["freed_bytes"]))


def memory_table(tools, step):
    trace, did = tools.profile_sample(step, "memory_phases")
    step.value("table", did["phases"])
    step.value("allocated", [did["allocations"], did["allocated_bytes"]])
    step.value("freed", [did["frees"], did["freed_bytes"]])
    step.value("test_ns", did["loop_ns"])
    calls = trace.row("""SELECT sum(name LIKE '%alloc%') AS allocations, sum(name LIKE '%free%') AS frees
        FROM host_call WHERE kind = 'memory' AND result = 0""")
    step.equal("calls that allocate, and that free", [calls["allocations"], calls["frees"]],
               [did["allocations"], did["frees"]])
    check_memory_events(step, trace, of_account(did), "memory_phases")


def managed(tools, step):
    """Alone for the counts; with faults and migrations for what moved."""
    trace, did = tools.profile_sample(step, "managed")
    check_counts(step, trace, did, "managed")
    check_brackets(step, trace, did, "managed")
    check_memory_events(step, trace, of_account(did), "managed")
    what = "managed: bytes that moved, with --unified-memory"
    if not did["moves_by_faults"]:
        step.absent(what, "this device moves managed memory without faults")
        return
    trace, did = tools.profile_sample(step, "managed", options=["--unified-memory"])
    reason = trace.lacks("unified memory")
    if reason:
        step.absent(what, reason)
        return
    row = trace.row("SELECT count(*) AS n, coalesce(sum(bytes), 0) AS bytes FROM copy WHERE kind = 'migrate'")
    # In the first round all of it comes to the device; later the driver may leave pages where they are.
    least = did["managed_bytes"]
    step.check(what, row, f"bytes >= {least}", row["bytes"] >= least)


def pools(tools, step):
    trace, did = tools.profile_sample(step, "pools")
    check_counts(step, trace, did, "pools")
    check_brackets(step, trace, did, "pools")
    check_memory_events(step, trace, of_account(did), "pools")
    reason = trace.lacks("memory pools")
    if reason:
        step.absent("pools: events of pools", reason)
        return
    rows = {row["name"]: row["n"] for row in trace.rows(
        "SELECT name, count(*) AS n FROM range WHERE category = 'memory pools' GROUP BY name")}
    # The driver also trims a pool by itself, where the program waits for its stream.
    trimmed = rows.get("pool trimmed", 0)
    step.check("pools: trims", trimmed, f">= {did['trims']}", trimmed >= did["trims"])
    step.equal("pools: pools destroyed", rows.get("pool destroyed", 0), did["pools_destroyed"])
    created = rows.get("pool created", 0)  # the device's own may be as old as the context
    step.check("pools: pools created", created, f"{did['pools_created']} or, with the device's, one more",
               0 <= created - did["pools_created"] <= 1)


def virtual_memory(tools, step):
    """Physical memory that is created, mapped into a range of addresses, and given back."""
    trace, did = tools.profile_sample(step, "virtual_memory")
    check_counts(step, trace, did, "virtual_memory")
    check_brackets(step, trace, did, "virtual_memory")
    check_launches(step, trace, "virtual_memory")
    calls = {row["name"]: row["n"] for row in trace.rows(
        "SELECT name, count(*) AS n FROM host_call WHERE kind = 'memory' GROUP BY name")}
    for name in ("cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemRelease"):
        expected = did["physical_created"]
        step.equal(f"calls of {name}", sum(n for call, n in calls.items() if call.startswith(name)), expected)
    events = trace.rows("""SELECT m.kind AS kind, m.bytes AS bytes FROM memory_event m JOIN host_call h ON
        h.process_id = m.process_id AND h.correlation_id = m.correlation_id
        WHERE h.name LIKE 'cuMemCreate%' OR h.name LIKE 'cuMemRelease%' OR h.name LIKE 'cuMemUnmap%'
        ORDER BY m.time_ns""")
    what = "physical memory"
    if not events and not any(name.startswith("cuMemCreate") for name in calls):
        step.absent(what, "the trace has no calls of cuMemCreate that could have memory events")
        return
    if not step.check(f"{what}: memory events", len(events), "> 0", len(events) > 0):
        return
    live = peak = 0
    totals = {"alloc": [0, 0], "free": [0, 0]}
    for event in events:
        totals[event["kind"]][0] += 1
        totals[event["kind"]][1] += event["bytes"]
        live += event["bytes"] if event["kind"] == "alloc" else -event["bytes"]
        peak = max(peak, live)
    step.equal(f"{what}: created, bytes", totals["alloc"], [did["physical_created"], did["physical_created_bytes"]])
    step.equal(f"{what}: given back, bytes", totals["free"], [did["physical_freed"], did["physical_freed_bytes"]])
    step.equal(f"{what}: bytes at the peak", peak, did["physical_peak_bytes"])
    step.equal(f"{what}: bytes at the end", live, did["physical_created_bytes"] - did["physical_freed_bytes"])


def peer_copies(tools, step):
    did = tools.run(tools.sample("peer_copy")).json()
    if "absent" in did:
        raise Absent(did["absent"])
    trace, did = tools.profile_sample(step, "peer_copy")
    row = trace.row("SELECT count(*) AS n, sum(bytes) AS bytes FROM copy "
                    "WHERE kind NOT IN ('host_to_device', 'device_to_host')")
    step.equal("copies between devices, bytes", [row["n"], row["bytes"]], [did["peer"], did["peer_bytes"]])
    step.equal("kernels that read the other device's memory", trace.one("SELECT count(*) FROM kernel"),
               did["kernels"])


STEPS = (("memory table", "The table of memory", 10, memory_table),
         ("managed memory", "Managed memory that host and device write by turns", 15, managed),
         ("memory pools", "Memory of pools, in the order of a stream", 10, pools),
         ("virtual memory", "Physical memory mapped into a range of addresses", 10, virtual_memory),
         ("peer copies", "Copies between devices", 10, peer_copies))
