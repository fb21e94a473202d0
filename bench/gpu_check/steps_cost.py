# SPDX-License-Identifier: Apache-2.0
"""What recording costs: programs run alone, with the comparison consumer, with us and with others, by
turns; ratios of what ran side by side, with their spread."""
from result import Absent
from tools import try_python
from ways import (LEAST, LEAST_LATENCY, LEAST_WHOLE, LEAST_WITHOUT_CALLBACKS, NOTHING, OURS, OURS_LATENCY,
                  OURS_WHOLE, PROTON, STACKS, STACKS_LATENCY, TORCH, alternate, judge, judge_beside_torch, run_way,
                  show_ratios)


def compare(tools, step, ways, command, rounds, ns_of):
    """The times of a command in all ways, and whether they reach the goals."""
    run_way(tools, NOTHING, command)  # files are in memory from here on
    times = alternate(tools, step, ways, rounds, lambda way: ns_of(run_way(tools, way, command).json()))
    show_ratios(step, times)
    judge(step, times)


def launch_cost(tools, step):
    """Small kernels launched as fast as the program can: the worst that can be done to a tracer."""
    launches = step.value("launches", 5_000 if tools.light else 50_000)
    compare(tools, step, (NOTHING, LEAST, OURS, STACKS, LEAST_LATENCY, OURS_LATENCY, STACKS_LATENCY,
                          LEAST_WITHOUT_CALLBACKS),
            tools.sample("many_small_kernels", "-n", launches), 3 if tools.light else 11,
            lambda did: did["loop_ns"])


def graph_cost(tools, step):
    """Graphs of 1,000 kernels: one call, and a thousand records."""
    launches = step.value("launches", 20 if tools.light else 200)
    compare(tools, step, (NOTHING, LEAST, OURS, STACKS, LEAST_WHOLE, OURS_WHOLE),
            tools.sample("graphs", launches, 1000), 3 if tools.light else 11, lambda did: did["loop_ns"])


def steady_cost(tools, step):
    """Kernels that keep the device busy: what a program that is not launch-bound pays."""
    kernels = step.value("kernels", 100 if tools.light else 1000)

    def bracket(did):
        return did["brackets"][-1]["end_ns"] - did["brackets"][-1]["begin_ns"]

    compare(tools, step, (NOTHING, LEAST, OURS, STACKS), tools.sample("streams", "one", kernels, 200),
            3 if tools.light else 7, bracket)


def train_cost(tools, step):
    """A training loop of PyTorch, the PyTorch profiler and Triton's Proton among the ways."""
    steps = step.value("steps", 20 if tools.light else 100)
    command = tools.script("train_step.py", "--steps", steps)
    try_python(tools, "train_step.py", "--steps", 2)

    def measure(way):
        if way not in (TORCH, PROTON):
            return run_way(tools, way, command).json()["loop_ns"]
        name = "torch" if way == TORCH else "proton"
        ran = tools.run([*command, "--profiler", name], codes=None)
        if ran.code != 0:
            raise Absent(ran.last_line())
        return ran.json()["loop_ns"]

    times = alternate(tools, step, (NOTHING, LEAST, OURS, STACKS, TORCH, PROTON), 5, measure)
    show_ratios(step, times)
    judge(step, times)
    judge_beside_torch(step, times)


STEPS = (("overhead of launches", "Small kernels, launched as fast as can be", 60, launch_cost),)
LATER_STEPS = (("overhead of graphs", "Graphs of 1,000 kernels", 35, graph_cost),
               ("overhead of a busy device", "One stream that never runs dry", 25, steady_cost))
PYTHON_STEPS = (("overhead of training", "A training loop of PyTorch", 130, train_cost),)
