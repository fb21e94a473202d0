# SPDX-License-Identifier: Apache-2.0
"""Studio and report files, made by the command of this package."""
from __future__ import annotations

import html
import os
import signal
import subprocess
import weakref
from pathlib import Path
from typing import Any

from tracesmith._command import command_path
from tracesmith._errors import Error, InvalidArgumentError, NotFoundError, UnsupportedError

__all__ = ["ReportFile", "Studio"]

_INLINE_HEIGHT = 700


def _failure(code: int, said: str) -> Error:
    """The error that the command reported."""
    lines = [line.removeprefix("tracesmith: ") for line in said.strip().splitlines()]
    message = lines[-1] if lines else f"the command ended with exit code {code}"
    if "No such file" in message or "not found" in message:
        return NotFoundError(message)
    if "script/studio" in message:
        return UnsupportedError(message)
    return InvalidArgumentError(message) if code == 2 else Error(message)


class ReportFile(os.PathLike[str]):
    """A report of a trace, as `trace.report()` wrote it; a notebook shows it.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<report {self.path}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        del include, exclude
        text = self.path.read_text(encoding="utf-8")
        if not text.startswith("<!doctype html>"):
            return {"text/markdown": text, "text/plain": repr(self)}
        # Without the rights of the notebook's page.
        frame = (f'<iframe sandbox="allow-scripts" width="100%" height="{_INLINE_HEIGHT}" frameborder="0" '
                 f'title="{html.escape(self.path.name)}" srcdoc="{html.escape(text)}"></iframe>')
        return {"text/html": frame, "text/plain": repr(self)}


def write_report(trace: str, path: str, file_format: str | None) -> ReportFile:
    if file_format not in (None, "html", "md"):
        raise InvalidArgumentError(f"'{file_format}' is none of html, md", "format")
    chosen = ["-f", file_format] if file_format else []
    done = subprocess.run([command_path(), "report", trace, "-o", path, *chosen], capture_output=True,
                          text=True, check=False)
    if done.returncode not in (0, 3):  # 3: written, of a trace that is not complete
        raise _failure(done.returncode, done.stderr)
    return ReportFile(Path(path))


class Studio:
    """A running `tracesmith studio`. It ends with `stop()`, with the `with` block, or with this process.

    Attributes:
        url: the address of the page. Its token is what gives access.
    """

    def __init__(self, files: list[str], browser: bool, port: int | None) -> None:
        options = [] if browser else ["--no-browser"]
        if port is not None:
            options += ["--port", str(port)]
        self._process = subprocess.Popen([command_path(), "studio", *files, *options], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                         start_new_session=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            _, said = self._process.communicate()
            raise _failure(self._process.returncode, said)
        self._stop = weakref.finalize(self, _end, self._process)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Ends the server. Does nothing if it has ended."""
        self._stop()

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<studio {self.url if self.running else '(ended)'}>"

    def _repr_html_(self) -> str:
        return f'<a href="{html.escape(self.url)}" target="_blank" rel="noreferrer">Open Studio</a>'


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    process.communicate()
