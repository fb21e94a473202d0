# SPDX-License-Identifier: Apache-2.0
"""Which libcupti works with this machine's driver. Candidates are tried in turn: a sample runs with
the comparison consumer, which names the candidate, and must have seen each of its kernels."""
import glob
import json
import os
import subprocess
import time

from result import Absent
from tools import Failed

TOOLKIT = ("extras/CUPTI/lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib64")
NAMES = ("libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so")
SECONDS_FOR_ONE = 20
# In a process of its own: where a library of this name is, for the loader.
ASK_LOADER = """
import ctypes, json, sys
for name in sys.argv[1:]:
    try:
        ctypes.CDLL(name)
    except OSError:
        continue
with open("/proc/self/maps") as maps:
    print(json.dumps(sorted({line.split(maxsplit=5)[5].strip() for line in maps if "/libcupti.so" in line})))
"""
ASK_VERSION = """
import ctypes, sys
version = ctypes.c_uint32()
ctypes.CDLL(sys.argv[1]).cuptiGetVersion(ctypes.byref(version))
print(version.value)
"""
ASK_PACKAGES = "import nvidia; print(*nvidia.__path__, sep=':')"


def newest_first(paths):
    """libcupti.so.13 before libcupti.so.12; of one file one path."""
    def version(path):
        return [int(part) for part in os.path.realpath(path).split(".so.")[-1].split(".") if part.isdigit()]
    return sorted(paths, key=version, reverse=True)


def of_toolkits():
    homes = [os.environ.get("CUDA_HOME"), "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)]
    for home in filter(None, homes):
        for below in TOOLKIT:
            yield from newest_first(glob.glob(os.path.join(home, below, "libcupti.so.*")))


def answer(command, env=None):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, timeout=20,
                              check=False).stdout.decode("utf-8", "replace").strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def of_packages(python):
    for package in filter(None, answer([python, "-c", ASK_PACKAGES]).split(":")):
        yield from newest_first(glob.glob(os.path.join(package, "*", "lib", "libcupti.so.*")))


def of_loader(tools):
    said = answer([tools.own_python, "-c", ASK_LOADER, *NAMES], tools.base)
    return newest_first(json.loads(said)) if said else []


def candidates(tools, given, folder):
    """Pairs of a path and where it is from, each file once."""
    places = [("named", [given] if given else [])]
    if not tools.stand_in:
        places += [("toolkit", of_toolkits()), ("Python's packages", of_packages(tools.python))]
    places += [("loader", of_loader(tools)),
               ("pack", newest_first(glob.glob(os.path.join(folder, "libcupti.so.*"))) if folder else [])]
    seen = set()
    for origin, paths in places:
        for path in map(os.path.abspath, paths):
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield path, origin


def try_one(tools, path, end):
    """What is known of a candidate that works; else Absent, Failed or TimeoutError says why not."""
    launches = 5
    tools.deadline = min(end, time.monotonic() + SECONDS_FOR_ONE)
    counted, ran = tools.count(tools.sample("vector_add", launches), TRACESMITH_CUPTI=path)
    kernels = ran.json()["kernels"]
    # One that drops records, and counts them, works; the steps will tell of it.
    if counted["kernels"] != kernels and not 0 < kernels - counted["kernels"] <= counted["dropped"]:
        why = f": {counted['refused']}" if counted["refused"] else ""
        raise Failed(f"it saw {counted['kernels']} of {kernels} kernels{why}")
    return {"version": counted["cupti_version"], "loaded": counted["cupti"]}


def choose(tools, given, folder):
    """The libcupti that works, or None; and what was tried."""
    tried, chosen, end = [], None, tools.deadline
    for path, origin in candidates(tools, given, folder):
        entry = {"path": path, "from": origin, "version": None}
        tried.append(entry)
        if chosen is not None:
            entry["result"] = "not tried: another one works"
            continue
        try:
            if not os.path.exists(path):
                raise Absent("there is no such file")
            entry.update(try_one(tools, path, end))
        except (Absent, Failed, TimeoutError, OSError, ValueError) as error:
            said = answer([tools.own_python, "-c", ASK_VERSION, path], tools.base)
            entry.update(result=str(error), version=int(said) if said.isdigit() else None)
            continue
        entry["result"] = "works"
        chosen = entry
    return chosen, tried
