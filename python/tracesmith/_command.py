# SPDX-License-Identifier: Apache-2.0
"""The command `tracesmith`: the C++ program, which lies in this package."""
from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tracesmith._errors import NotFoundError

__all__ = ["command_path", "find_xctrace", "main", "offer_cupti"]

_FALLBACK = "TRACESMITH_CUPTI_FALLBACK"


def command_path() -> Path:
    """The program that this package brings. NotFoundError: it was built without."""
    path = Path(__file__).parent / "bin" / "tracesmith"
    if not path.exists():
        raise NotFoundError("this package was built without the command (TRACESMITH_BUILD_CLI)", str(path))
    return path


def find_xctrace() -> str | None:
    """Apple's `xctrace`: on the path, or of the Xcode that is chosen."""
    found = shutil.which("xctrace")
    if found is None and sys.platform == "darwin":
        asked = subprocess.run(["xcrun", "--find", "xctrace"], capture_output=True, text=True, check=False)
        found = asked.stdout.strip() or None
    return found


def offer_cupti() -> None:
    """Tells the CUDA agent where NVIDIA's packages have CUPTI, for want of another one: in this process
    and in those that it starts."""
    spec = importlib.util.find_spec("nvidia")
    if spec is None or _FALLBACK in os.environ:
        return
    found = []
    for place in spec.submodule_search_locations or ():
        for package in ("cu13", "cuda_cupti"):  # of CUDA 13; of CUDA 12 or 11
            found += sorted(map(str, Path(place, package, "lib").glob("libcupti.so*")), reverse=True)
    if found:
        os.environ[_FALLBACK] = ":".join(found)


def main() -> None:
    """Becomes that program, with the arguments of this one."""
    try:
        path = command_path()
    except NotFoundError as error:
        sys.exit(f"tracesmith: {error}")
    offer_cupti()
    os.execv(path, ["tracesmith", *sys.argv[1:]])
