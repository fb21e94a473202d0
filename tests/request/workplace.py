# SPDX-License-Identifier: Apache-2.0
"""The folder that a case runs in: with what the documents take for granted."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE.parents[1]
# What stands for programs of a reader.
PROGRAMS = {"my_cuda_app": "opencl_demo", "my_maca_app": "opencl_demo", "app": "opencl_demo"}
SCRIPTS = ("train.py", "inference.py", "benchmark.py", "mps_benchmark.py")


def binaries():
    """The folder of the built programs; TRACESMITH_BIN names another."""
    return Path(os.environ.get("TRACESMITH_BIN", SOURCE / "build" / "test" / "bin")).resolve()


def link(target, place):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def checkout(folder):
    """The project's files as a clone has them, without what was built."""
    place = folder / "TraceSmith"
    place.mkdir()
    for path in SOURCE.iterdir():
        if not path.name.startswith(("build", ".")):
            link(path, place / path.name)
    link(place, folder / "tracesmith")


def give(folder, what):
    if what == "bin":
        link(binaries(), folder / "bin")
        link(binaries(), folder / "build" / "bin")
    elif what == "checkout":
        checkout(folder)
    elif what == "build":
        link(binaries(), folder / "TraceSmith" / "build" / "bin")
    elif what == "examples":
        link(SOURCE / "examples", folder / "examples")
    elif what == "programs":
        for name, program in PROGRAMS.items():
            link(binaries() / program, folder / name)
        for name in SCRIPTS:
            shutil.copy(HERE / "programs" / "train.py", folder / name)  # a link would look for modules where it points
        link(SOURCE / "examples", folder / "examples")
    elif what == "trace.sbt":
        subprocess.run([binaries() / "tracesmith", "profile", "-q", "--record", "-o", folder / what, "--",
                        binaries() / "opencl_demo"], cwd=folder, check=True, capture_output=True)
    else:
        raise ValueError(f"no case can be given '{what}'")


def environment(folder, package):
    """With `python` and `tracesmith-cli` on the path; `package`: where the Python package was installed."""
    tools = folder / ".tools"
    tools.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NO_COLOR", "OPENCL_LAYERS"))}
    path = [str(tools)]
    if package:
        installed = Path(package).resolve()
        env["PYTHONPATH"] = str(installed)
        if (installed / "bin" / "tracesmith-cli").exists():
            path.append(str(installed / "bin"))
        else:
            starter = tools / "tracesmith-cli"
            starter.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tracesmith "$@"\n', encoding="utf-8")
            starter.chmod(0o755)
    else:
        path.append(str(binaries()))
    for name in ("python", "python3"):
        starter = tools / name
        starter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        starter.chmod(0o755)
    env["PATH"] = os.pathsep.join([*path, env.get("PATH", "")])
    env["TRACESMITH_BIN"] = str(binaries())
    (folder / ".control").mkdir(mode=0o700)
    env["TRACESMITH_CONTROL"] = str(folder / ".control")  # nobody else's armed programs
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["MPLBACKEND"] = "Agg"
    if shutil.which("make") is None:
        env["CMAKE_GENERATOR"] = "Ninja"
    return env
