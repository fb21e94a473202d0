# SPDX-License-Identifier: Apache-2.0
"""Runs a Python snippet of the request as it is written: python_snippet.py CASE
What a snippet leaves to its reader is done here: while it captures, this process computes on OpenCL. A
platform that the machine does not have is replaced by one that it has, and that is printed;
REQUEST_AS_WRITTEN in the environment: it is not replaced."""
import os
import sys
import threading
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))  # for the package `examples`

import tracesmith  # pylint: disable=wrong-import-position
from examples.opencl_device import OpenCLDevice  # pylint: disable=wrong-import-position


class Working:
    """A profiler of this process, which computes while it captures."""

    def __init__(self, profiler):
        self._profiler = profiler
        self._done = threading.Event()
        self._worker = None

    def __getattr__(self, name):
        return getattr(self._profiler, name)

    def _work(self):
        device = OpenCLDevice()
        a = device.array([0.5] * 4096, (64, 64))
        while True:
            a @ a  # pylint: disable=pointless-statement
            device.finish()
            if self._done.wait(0.01):
                return

    def start_capture(self):
        self._profiler.start_capture()
        self._worker = threading.Thread(target=self._work)
        self._worker.start()

    def stop_capture(self):
        self._done.set()
        self._worker.join()
        self._profiler.stop_capture()


def stand_in():
    make = tracesmith.create_profiler

    def create_profiler(platform):
        profiler = make(platform)
        if not profiler.is_available():
            other = tracesmith.detect_platform()
            print(f"there is no {tracesmith.platform_type_to_string(platform)} here: "
                  f"{tracesmith.platform_type_to_string(other)} instead")
            profiler = make(other)
        return Working(profiler)

    tracesmith.create_profiler = create_profiler
    tracesmith._api.create_profiler = create_profiler  # which capture_trace() calls


def main():
    path = Path(sys.argv[1])
    as_written = "REQUEST_AS_WRITTEN" in os.environ
    if not as_written:
        stand_in()
    names = {"__name__": "__main__", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)  # pylint: disable=exec-used
    events = names.get("events")
    if events is not None and not as_written:
        kernels = sum(event.type == tracesmith.EventType.KernelComplete for event in events)
        print(f"{kernels} kernels among {len(events)} events")
        sys.exit(kernels == 0)


if __name__ == "__main__":
    main()
