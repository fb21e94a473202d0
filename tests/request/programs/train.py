# SPDX-License-Identifier: Apache-2.0
"""Stands for a reader's program in the cases: multiplies matrices on an OpenCL device."""
import argparse
import random

from examples.opencl_device import OpenCLDevice

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
device = OpenCLDevice()
left, right = (device.array([random.random() for _ in range(64 * 64)], (64, 64)) for _ in range(2))
for _ in range(parser.parse_args().epochs):
    left = left @ right
print(f"{device.name}: {left.tolist()[0]:.3g}")
