# SPDX-License-Identifier: Apache-2.0
"""A program to profile: a small network on an OpenCL device, step by step.
workload.py [STEPS]   exits with 77 without OpenCL"""
import random
import sys

from opencl_device import OpenCLDevice, OpenCLError

SIZE = 64


def layer(values, weights):
    return (values @ weights).relu()


def train(device, steps):
    numbers = random.Random(1)
    weights = [device.array([numbers.gauss(0, 0.1) for _ in range(SIZE * SIZE)], (SIZE, SIZE)) for _ in range(3)]
    for _ in range(steps):
        values = device.array([numbers.random() for _ in range(SIZE * SIZE)], (SIZE, SIZE))
        for w in weights:
            values = layer(values, w)
    return sum(values.tolist())


def main():
    try:
        device = OpenCLDevice()
    except OpenCLError as error:
        print(error, file=sys.stderr)
        sys.exit(77)
    print(f"{train(device, int(sys.argv[1]) if len(sys.argv) > 1 else 4):.4f} on {device.name}")


if __name__ == "__main__":
    main()
