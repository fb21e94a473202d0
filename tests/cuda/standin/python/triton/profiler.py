# SPDX-License-Identifier: Apache-2.0
"""A profiler that cannot be had, as Proton where its library is missing."""


def start(_):
    raise RuntimeError("Proton is not built in")


def finalize():
    pass
