# SPDX-License-Identifier: Apache-2.0
"""What annotate() costs, as a ratio to what Python itself takes in the same run; ns: bench/python_costs.sh."""
import time

import tracesmith


class Nothing:
    """The peer: a context manager of Python's own that does nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def annotated(calls):
    annotate = tracesmith.annotate
    begin = time.perf_counter()
    for _ in range(calls):
        with annotate("step"):
            pass
    return time.perf_counter() - begin


def peer(calls):
    begin = time.perf_counter()
    for _ in range(calls):
        with Nothing():
            pass
    return time.perf_counter() - begin


def test_annotate_costs_what_an_empty_context_manager_does():
    calls, turns = 5_000, 60  # a turn is shorter than what a busy machine takes from us at once
    with tracesmith.profile(platform=tracesmith.PlatformType.Unknown) as run:
        ours, pythons = (min(times) for times in zip(*((annotated(calls), peer(calls)) for _ in range(turns))))
    assert len(run.trace.ranges) == calls * turns
    assert ours < 1.5 * pythons, f"{ours / calls * 1e9:.0f} ns, Python's own {pythons / calls * 1e9:.0f} ns"
