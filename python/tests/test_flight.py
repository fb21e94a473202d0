# SPDX-License-Identifier: Apache-2.0
"""A flight recorder: TracingSession with flight_recorder_ms, and the command around a Python program."""
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tracesmith as ts
from tracesmith import fleet

TRACESMITH = str(Path(os.environ.get("TRACESMITH_BIN", "")) / "tracesmith")
STEPS = """
import sys, time
import tracesmith as ts
for i in range(250):
    with ts.annotate(f"step {i}"):
        time.sleep(0.12 if i == 150 else 0.004)
"""


def steps_of(path):
    """The numbers of its ranges "step N", which must be consecutive."""
    trace = ts.open(path)
    numbers = [int(name.split()[1]) for (name,) in trace.query(
        "SELECT name FROM range WHERE name LIKE 'step %' ORDER BY start_ns")]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    return numbers


def test_a_session(tmp_path):
    config = ts.TracingConfig()
    config.output_file = tmp_path / "app.sbt"
    config.flight_recorder_ms = 300
    config.flush_interval_ms = 20
    session = ts.TracingSession()
    with pytest.raises(ts.InvalidArgumentError, match="flight_recorder_ms"):
        session.save_window()
    session.start(config)
    for i in range(400):
        begin = session.stamp()
        time.sleep(0.002)
        session.span(session.span_name(f"step {i}"), begin, session.stamp())
    saved = session.save_window("a test")
    assert saved == str(tmp_path / "app.trigger-1.sbt")
    session.stop()
    assert ts.open(saved).metadata["flight_recorder.reason"] == "a test"
    assert steps_of(saved)[-1] == 399
    assert 100 < len(steps_of(tmp_path / "app.sbt")) < 300
    jobs = fleet.analyze([tmp_path])
    assert [file.state for file in jobs.files] == ["stored"]  # the summary of all, and not of the windows
    assert re.search(r"events: range +400\n", str(jobs.report()))


@pytest.mark.skipif(not os.path.exists(TRACESMITH), reason="TRACESMITH_BIN has no command")
def test_a_slow_step_of_a_program(tmp_path):
    done = subprocess.run(
        [TRACESMITH, "profile", "--flight-recorder", "400ms", "--trigger-step", "5", "-o", "t.sbt", "--",
         sys.executable, "-c", STEPS], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "t.trigger-1.sbt: saved (step 150 took 12" in done.stderr
    assert "times the median of 4" in done.stderr
    saved = steps_of(tmp_path / "t.trigger-1.sbt")
    assert 150 in saved and saved[0] > 20
    assert steps_of(tmp_path / "t.sbt")[-1] == 249
