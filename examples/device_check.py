# SPDX-License-Identifier: Apache-2.0
"""Checks a device's results against NumPy, and measures its speed: device_check.py [--device KIND]
Exits with 1 if results differ."""
import argparse
import sys

import numpy

from device_utils import DEVICES, DeviceManager, benchmark


def values_of(tensor):
    """Converts to a NumPy array, in row order."""
    if hasattr(tensor, "get"):  # CuPy
        tensor = tensor.get()
    if hasattr(tensor, "cpu"):  # PyTorch
        tensor = tensor.cpu().numpy()
    flat = tensor.reshape(-1) if isinstance(tensor, numpy.ndarray) else tensor.tolist()
    return numpy.asarray(flat, dtype=numpy.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=DEVICES)
    dm = DeviceManager(parser.parse_args().device)
    print(dm.get_device_name())
    numbers = numpy.random.default_rng(7)
    a, b = (numbers.standard_normal((48, 48)).astype(numpy.float32) for _ in range(2))
    before = dm.memory_allocated()
    x, y = dm.tensor(a), dm.tensor(b)
    if dm.memory_allocated() - before < 2 * a.nbytes:
        sys.exit("the two tensors are not in the memory's count")
    for name, here, there in (("+", x + y, a + b), ("*", x * y, a * b), ("@", x @ y, a @ b)):
        dm.synchronize()
        worst = float(numpy.abs(values_of(here) - there.reshape(-1)).max())
        print(f"  {name}  differs by {worst:.2g} at most")
        if worst > 1e-3:
            sys.exit(f"{name} is wrong on {dm.device}")
    result = benchmark(lambda: x @ y, warmup=3, iterations=20, dm=dm)
    print(f"  @  median {result['median_ms']:.3f} ms, p05 {result['p05_ms']:.3f}, p95 {result['p95_ms']:.3f}")
    if not result["min_ms"] <= result["p05_ms"] <= result["median_ms"] <= result["p95_ms"] <= result["max_ms"]:
        sys.exit("the quantiles are not in order")


if __name__ == "__main__":
    main()
