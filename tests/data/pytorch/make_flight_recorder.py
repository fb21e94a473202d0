"""Makes the dumps in flight_recorder/, with PyTorch 2.15: two ranks, of which rank 1 never comes to
the last all_reduce. As /srv/job/train.py, with PyTorch in /opt/pytorch:

    export MASTER_ADDR=127.0.0.1 MASTER_PORT=29781 WORLD_SIZE=2 TORCH_FR_BUFFER_SIZE=2000
    for rank in 0 1; do RANK=$rank python train.py flight_recorder & done; wait
"""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d


def reduce_gradients(gradients):
    dist.all_reduce(gradients)


def exchange(rank, world):
    parts = [torch.empty(16, dtype=torch.int64) for _ in range(world)]
    dist.all_gather(parts, torch.full((16,), rank, dtype=torch.int64))
    whole = torch.empty(32 * world)
    dist.all_gather_into_tensor(whole, torch.ones(32))
    dist.broadcast(torch.arange(64, dtype=torch.bfloat16).reshape(8, 8), src=1)


def main():
    rank, world, folder = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), sys.argv[1]
    dist.init_process_group("gloo", rank=rank, world_size=world)
    gradients = torch.ones(1000) * rank
    for _ in range(3):
        reduce_gradients(gradients)
    exchange(rank, world)
    dist.reduce(gradients, dst=0)
    dist.barrier()
    pair = dist.new_group([0, 1], group_desc="pair")
    dist.all_reduce(torch.ones(2, 3, dtype=torch.float16), group=pair)
    if rank == 0:
        dist.all_reduce(gradients, async_op=True)
    time.sleep(0.5)
    with open(f"{folder}/gloo_trace_rank_{rank}", "wb") as file:
        file.write(c10d._dump_fr_trace())
    text = c10d._dump_fr_trace_json()
    with open(f"{folder}/gloo_trace_rank_{rank}.json", "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    time.sleep(1)
    os._exit(0)


main()
