# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer for some steps and says how long they took, as one line of JSON.
Usage: train_step.py [--steps N] [--profiler none|torch|proton] [--device cuda|cpu]
       [--count]          how many kernels PyTorch's profiler has seen; takes long after many steps
       [--pause SECONDS]  after each step
       [--marker FILE]    is made when the profiler has started"""
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
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--pause", type=float, default=0)
    parser.add_argument("--marker")
    return parser.parse_args()


def profiler(name, folder, torch):
    """What begins, what ends it, and how many of the device's kernels it has seen then, or None."""
    if name == "torch":
        from torch.profiler import ProfilerActivity, profile
        made = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        return made.__enter__, lambda: made.__exit__(None, None, None), lambda: kernels_seen(made.events())
    if name == "proton":
        import triton.profiler as proton
        return (lambda: proton.start(os.path.join(folder, "proton"))), proton.finalize, lambda: None
    return (lambda: None), (lambda: None), (lambda: None)


def kernels_seen(events):
    """Of the device's events, those that are neither copies nor fills nor annotations."""
    others = ("Memcpy", "Memset", "ProfilerStep", "Optimizer.")
    return sum(str(event.device_type).endswith("CUDA") and not getattr(event, "is_user_annotation", False)
               and not event.name.startswith(others) for event in events)


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
        begin_profile, end_profile, count_kernels = profiler(given.profiler, folder, torch)
        begin_profile()
        step()  # what a profiler does first is not what it costs
        wait()
        begin = time.monotonic_ns()
        if given.marker:
            with open(given.marker, "w", encoding="utf-8"):
                pass
        for _ in range(given.steps):
            step()
            if given.pause:
                wait()
                time.sleep(given.pause)
        wait()
        ns = time.monotonic_ns() - begin
        end_profile()
        kernels = count_kernels() if given.count else None
    print(json.dumps({"program": "train_step", "steps": given.steps, "loop_ns": ns,
                      "profiler": given.profiler, "loss": round(loss.item(), 4),
                      "profiler_kernels": kernels,
                      "reserved_bytes": torch.cuda.max_memory_reserved() if given.device == "cuda" else None,
                      "torch": torch.__version__, "cuda": torch.version.cuda,
                      "python": list(sys.version_info[:2])}))


if __name__ == "__main__":
    main()
