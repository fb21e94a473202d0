#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes NAME.json.gz and NAME.key_averages.json with PyTorch: two training steps of a small model on the
CPU, as its profiler traces them, and the table that the same profiler prints. NAME is "training", or
"training_stack" with Python functions and modules (with_stack). There, PyTorch subtracts Python functions
from the self times of the ranges around them, although the table has no rows for Python functions.

    pip install torch numpy && python make_pytorch_golden.py [FOLDER]

The table's rows are sums by name, as `prof.key_averages()` makes them from the events in memory.
Times are kept in ns, because the trace has them so."""

import gzip
import json
import os
import sys
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

STEPS = 2


class Block(torch.nn.Module):
    """Attention and a feed-forward network, each around a residual connection."""

    def __init__(self, width):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm = torch.nn.LayerNorm(width)
        self.feed_forward = torch.nn.Sequential(torch.nn.Linear(width, 2 * width), torch.nn.GELU(),
                                                torch.nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return x + self.feed_forward(self.norm(x))


class Model(torch.nn.Module):
    """A convolution, a transformer block and a classifier."""

    def __init__(self, width=16):
        super().__init__()
        self.conv = torch.nn.Conv1d(4, width, 3, padding=1)
        self.block = Block(width)
        self.head = torch.nn.Linear(width, 5)

    def forward(self, x):
        x = torch.relu(self.conv(x)).transpose(1, 2)
        return self.head(self.block(x).mean(1))


def train(prof, model, optimizer):
    for _ in range(STEPS + 1):  # the first is the profiler's warm-up
        x, y = torch.randn(8, 4, 12), torch.randint(0, 5, (8,))
        with record_function("forward"):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        with record_function("backward"):
            loss.backward()
        with record_function("update"):
            optimizer.step()
            optimizer.zero_grad()
        prof.step()


def ns(microseconds):
    return round(microseconds * 1000)


def averages(prof):
    """By name: calls, self and total CPU time."""
    return {row.key: [row.count, ns(row.self_cpu_time_total), ns(row.cpu_time_total)] for row in prof.key_averages()}


def save(prof, folder, name):
    with tempfile.TemporaryDirectory() as scratch:
        plain = os.path.join(scratch, "trace.json")
        prof.export_chrome_trace(plain)
        with open(plain, "rb") as file:
            trace = file.read().replace(plain.encode(), name.encode() + b".json")
    with open(os.path.join(folder, name + ".json.gz"), "wb") as file:
        with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=9, mtime=0, filename="") as packed:
            packed.write(trace)
    golden = {"torch": torch.__version__, "steps": STEPS, "columns": ["calls", "self_ns", "total_ns"],
              "rows": averages(prof)}
    with open(os.path.join(folder, name + ".key_averages.json"), "w", encoding="utf-8") as file:
        json.dump(golden, file, indent=0, sort_keys=True)
        file.write("\n")


def run(folder, name, stack):
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1),
                 on_trace_ready=lambda prof: save(prof, folder, name), with_modules=stack, with_stack=stack) as prof:
        train(prof, model, optimizer)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    torch.set_num_threads(1)
    run(folder, "training", False)
    run(folder, "training_stack", True)


if __name__ == "__main__":
    main()
