# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer for some steps and says how long they took, as one line of JSON.
Usage: train_step.py [--steps N] [--profiler none|torch|proton] [--device cuda|cpu]"""
import argparse
import json
import os
import sys
import tempfile
import time


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--profiler", choices=("none", "torch", "proton"), default="none")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def profiler(name, folder, torch):
    """What begins, and what ends it."""
    if name == "torch":
        from torch.profiler import ProfilerActivity, profile
        made = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        return made.__enter__, lambda: made.__exit__(None, None, None)
    if name == "proton":
        import triton.profiler as proton
        return (lambda: proton.start(os.path.join(folder, "proton"))), proton.finalize
    return (lambda: None), (lambda: None)


def main():
    given = options()
    try:
        import torch
    except ImportError as error:
        sys.exit(f"PyTorch: {error}")
    if given.device == "cuda" and not torch.cuda.is_available():
        sys.exit("PyTorch finds no CUDA device")
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = False
    wait = torch.cuda.synchronize if given.device == "cuda" else (lambda: None)
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).to(given.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    data = torch.randn(16, 64, 256, device=given.device)
    loss = None

    def step():
        nonlocal loss
        optimizer.zero_grad(set_to_none=True)
        loss = (model(data) - data).square().mean()
        loss.backward()
        optimizer.step()

    for _ in range(5):
        step()
    wait()
    with tempfile.TemporaryDirectory() as folder:
        begin_profile, end_profile = profiler(given.profiler, folder, torch)
        begin_profile()
        step()  # what a profiler does first is not what it costs
        wait()
        begin = time.monotonic_ns()
        for _ in range(given.steps):
            step()
        wait()
        ns = time.monotonic_ns() - begin
        end_profile()
    print(json.dumps({"program": "train_step", "steps": given.steps, "loop_ns": ns,
                      "profiler": given.profiler, "loss": round(float(loss), 4),
                      "torch": torch.__version__, "cuda": torch.version.cuda}))


if __name__ == "__main__":
    main()
