# SPDX-License-Identifier: Apache-2.0
"""Programs of other languages load the library while they run. Usage: load_test.py LIBRARY"""
import ctypes
import sys
import threading

library = ctypes.CDLL(sys.argv[1])
library.tracesmith_last_error.restype = ctypes.c_char_p
library.tracesmith_version.restype = ctypes.c_char_p
assert library.tracesmith_abi() == 1
assert library.tracesmith_version().count(b".") == 2


def ask(path):
    trace = ctypes.c_void_p()
    assert library.tracesmith_open(path, ctypes.byref(trace)) == 2, path  # TRACESMITH_NOT_FOUND
    assert path in library.tracesmith_last_error()


threads = [threading.Thread(target=ask, args=(b"/nowhere%d.sbt" % number,)) for number in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert library.tracesmith_last_error() == b"", "each thread has its own"
