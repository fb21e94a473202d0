# SPDX-License-Identifier: Apache-2.0
"""What bench/gpu_check calls Triton for: a kernel of a function's name is launched, no more."""
import torch

__version__ = "stand-in"


def cdiv(a, b):
    return (a + b - 1) // b


class jit:  # pylint: disable=invalid-name
    def __init__(self, function):
        self.name = function.__name__

    def __getitem__(self, grid):
        return lambda *_, **__: torch.launch(self.name, grid[0])
