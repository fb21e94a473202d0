# SPDX-License-Identifier: Apache-2.0
"""Launches a Triton kernel a known number of times, checks what it computed, and says so as JSON."""
import json
import sys

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as import_error:
    sys.exit(f"Triton: {import_error}")

LAUNCHES = 50


@triton.jit
def triton_scale_add(a, b, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(a + at, mask=inside) * 2 + tl.load(b + at, mask=inside), mask=inside)


def main():
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no CUDA device")
    n = 100_003
    a = torch.arange(n, device="cuda", dtype=torch.float32)
    b = torch.ones(n, device="cuda", dtype=torch.float32)
    out = torch.empty_like(a)
    for _ in range(LAUNCHES):
        triton_scale_add[(triton.cdiv(n, 1024),)](a, b, out, n, BLOCK=1024)
    torch.cuda.synchronize()
    if not torch.equal(out, a * 2 + b):
        sys.exit("the Triton kernel computed something else")
    print(json.dumps({"program": "triton_kernel", "kernel": "triton_scale_add", "launches": LAUNCHES,
                      "triton": triton.__version__, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
