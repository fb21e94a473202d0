# SPDX-License-Identifier: Apache-2.0
"""How far apart times may be that are compared, the same in every step, so that no two steps judge the
same clock differently."""

# The goal for the error of the trace's clock, in the step "clocks". Checks against the host's brackets have
# no tolerance: a kernel starts microseconds after its launch and ends microseconds before the wait returns.
CLOCK_NS = 5_000
# Two device times of one trace, which one clock gave.
ORDER_NS = 2_000


def overlap(earlier, later):
    """By how many nanoseconds the later one starts before the earlier one has ended."""
    return max(0, earlier["end_ns"] - later["start_ns"])


def check_overlaps(step, what, pairs):
    """`pairs`: of kernels that must not run at once, (earlier, later)."""
    overlaps = [overlap(earlier, later) for earlier, later in pairs]
    step.value(f"{what}: largest overlap in ns", max(overlaps, default=0))
    step.equal(f"{what}, by more than {ORDER_NS} ns", sum(ns > ORDER_NS for ns in overlaps), 0)
