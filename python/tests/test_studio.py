# SPDX-License-Identifier: Apache-2.0
"""trace.report() and trace.studio(): the command's, from Python."""
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import tracesmith as ts


@pytest.fixture(scope="module")
def trace(simulated):
    return ts.open(simulated)


def ask(studio, target):
    """A request with the token of the address, as a browser makes it."""
    origin, token = studio.url.split("/?token=")
    cookie = f"tracesmith_{origin.rsplit(':', 1)[1]}={token}"
    with urllib.request.urlopen(urllib.request.Request(origin + target, headers={"Cookie": cookie}), timeout=60) as answer:
        return json.loads(answer.read())


def test_a_report_is_the_commands(trace, tmp_path):
    report = trace.report(tmp_path / "r.html")
    by_command = tmp_path / "c.html"
    subprocess.run([ts.command_path(), "report", trace.path, "-o", by_command], check=True, capture_output=True)
    assert report.path.read_bytes() == by_command.read_bytes()
    assert os.fspath(report) == str(tmp_path / "r.html")
    shown = report._repr_mimebundle_()
    assert 'sandbox="allow-scripts"' in shown["text/html"] and "<script" not in shown["text/html"]
    markdown = trace.report(tmp_path / "r.txt", "md")
    assert markdown._repr_mimebundle_()["text/markdown"].startswith("# ")


def test_what_cannot_be_reported_is_an_error(trace, tmp_path):
    with pytest.raises(ts.InvalidArgumentError, match="html, md"):
        trace.report(tmp_path / "r.html", "pdf")
    with pytest.raises(ts.InvalidArgumentError, match=r"\.html nor in \.md"):
        trace.report(tmp_path / "r.txt")
    with pytest.raises(ts.Error, match="nowhere"):
        trace.report(tmp_path / "nowhere" / "r.html")


def test_studio_serves_until_it_is_stopped(trace):
    with trace.studio(browser=False) as studio:
        assert ask(studio, "/api/trace")["name"] == trace.path
        assert studio.running and studio.url in repr(studio)
        assert ask(studio, "/api/trace")["before"] == ""
    assert not studio.running
    with pytest.raises(urllib.error.URLError):
        ask(studio, "/api/trace")
    studio.stop()


def test_studio_compares(trace):
    with trace.studio(trace.path, browser=False) as studio:
        assert ask(studio, "/api/trace")["before"] == trace.path
        assert ask(studio, "/api/compare")["tables"]


def test_studio_ends_with_the_process(trace):
    program = f"import tracesmith; print(tracesmith.open({trace.path!r}).studio(browser=False)._process.pid)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not os.path.exists(f"/proc/{done.stdout.strip()}")


def test_a_port_in_use_is_an_error(trace):
    with trace.studio(browser=False) as studio:
        port = int(studio.url.split(":")[2].split("/")[0])
        with pytest.raises(ts.Error, match="another program has this port"):
            trace.studio(browser=False, port=port)
    with pytest.raises(ts.InvalidArgumentError):
        trace.studio(port=0)
