# SPDX-License-Identifier: Apache-2.0
"""A profiler that does nothing."""
import contextlib
import types

ProfilerActivity = types.SimpleNamespace(CPU=0, CUDA=1)


def profile(**_):
    return contextlib.nullcontext()
