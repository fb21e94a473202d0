# SPDX-License-Identifier: Apache-2.0
"""The command `tracesmith`: the C++ program, which is part of this package."""
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
    """Path of the program in this package. NotFoundError: the package was built without it."""
    path = Path(__file__).parent / "bin" / "tracesmith"
    if not path.exists():
        raise NotFoundError("this package was built without the command (TRACESMITH_BUILD_CLI)", str(path))
    return path


def find_xctrace() -> str | None:
    """Path of Apple's `xctrace`: from PATH, or of the selected Xcode. None: there is none."""
    found = shutil.which("xctrace")
    if found is None and sys.platform == "darwin":
        asked = subprocess.run(["xcrun", "--find", "xctrace"], capture_output=True, text=True, check=False)
        found = asked.stdout.strip() or None
    return found


def offer_cupti() -> None:
    """Tells the CUDA agent where NVIDIA's Python packages have CUPTI, in case it finds no other one. This
    holds for this process and for those that it starts."""
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
    """Replaces this process by that program, with the same arguments."""
    try:
        path = command_path()
    except NotFoundError as error:
        sys.exit(f"tracesmith: {error}")
    offer_cupti()
    os.execv(path, ["tracesmith", *sys.argv[1:]])
