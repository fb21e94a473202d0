# SPDX-License-Identifier: Apache-2.0
"""Files that URLs name, through fsspec: object stores, HTTP servers and the like."""
from __future__ import annotations

import atexit
from typing import Any

from tracesmith._core import set_remote_files
from tracesmith._errors import needs


class RemoteFiles:
    """What the reader of traces calls, on several threads. Exceptions become errors of the file."""

    def size(self, url: str) -> int:
        fs, path = self._find(url)
        fs.invalidate_cache(path)  # a listing may be older than the file
        return int(fs.info(path)["size"])

    def read(self, url: str, offset: int, size: int) -> bytes:
        fs, path = self._find(url)
        content = bytes(fs.cat_file(path, start=offset, end=offset + size))
        if len(content) > size:
            raise OSError("its server reads no ranges of files")
        return content

    def write(self, url: str, content: bytes) -> None:
        fs, path = self._find(url)
        fs.pipe_file(path, content)

    def list(self, url: str) -> list[str]:
        fs, path = self._find(url)
        fs.invalidate_cache(path)
        found = fs.find(path)
        if not found and not fs.exists(path):
            raise FileNotFoundError(url)
        return [fs.unstrip_protocol(name) for name in found]

    def _find(self, url: str) -> tuple[Any, str]:
        fsspec = needs("fsspec", "a URL")
        fs, path = fsspec.core.url_to_fs(url)
        return fs, path


def use_remote_files() -> None:
    """Makes URLs readable, from now on until the program ends."""
    if not _in_use:
        needs("fsspec", "a URL")
        set_remote_files(RemoteFiles())
        atexit.register(set_remote_files, None)
        _in_use.append(True)


_in_use: list[bool] = []
