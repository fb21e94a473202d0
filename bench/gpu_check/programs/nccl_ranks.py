# SPDX-License-Identifier: Apache-2.0
"""Collectives of PyTorch's NCCL, a process for each GPU, and what they did as one line of JSON.
Usage: nccl_ranks.py [--calls N]       of each kind"""
import argparse
import json
import os
import socket
import time


def rank_main(rank, ranks, port, calls, answers):
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(rank)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    data = torch.ones(1 << 20, device="cuda")
    parts = torch.ones((1 << 20) * ranks, device="cuda")
    dist.all_reduce(data)  # makes the communicator
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(data)
        dist.all_gather_into_tensor(parts, data)
        dist.broadcast(data, src=0)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    version = ".".join(map(str, torch.cuda.nccl.version()))
    dist.destroy_process_group()
    answers.put((rank, seconds, version))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=100)
    chosen = parser.parse_args()
    import torch
    import torch.multiprocessing as processes
    if not torch.cuda.is_available() or not torch.distributed.is_nccl_available():
        raise SystemExit("PyTorch has no GPU here, or no NCCL")
    ranks = torch.cuda.device_count()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = processes.get_context("spawn")
    answers = context.SimpleQueue()
    children = [context.Process(target=rank_main, args=(rank, ranks, port, chosen.calls, answers))
                for rank in range(ranks)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    if any(child.exitcode != 0 for child in children):
        raise SystemExit(f"ranks ended with {[child.exitcode for child in children]}")
    results = [answers.get() for _ in children]
    print(json.dumps({"ranks": ranks, "nccl": results[0][2], "seconds": max(result[1] for result in results),
                      "calls": chosen.calls}))


if __name__ == "__main__":
    main()
