# SPDX-License-Identifier: Apache-2.0
"""trace.analyze() says what the command says."""
import json
import subprocess

import pytest

import tracesmith


def test_as_the_command(simulated):
    command = [tracesmith.command_path(), "analyze", "--json", simulated]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    with tracesmith.open(simulated) as trace:
        report = {**trace.findings(), **trace.analyze(limit=0)}
        compared = 0
        for name, expected in said.items():
            if not isinstance(expected, list):
                continue
            table = report[name]
            if name not in ("longest_ops", "critical_pieces"):  # of which the command shows a few
                assert len(table) == len(expected), name
            for row, wanted in zip(table.rows, expected):
                for key, value in zip(table.columns, row):
                    if value is not None and key in wanted:
                        assert value == pytest.approx(wanted[key]) if isinstance(value, float) else value == wanted[key]
                        compared += 1
        assert compared > 500


def test_findings(simulated):
    with tracesmith.open(simulated) as trace:
        found = trace.findings()
        assert list(found) == ["verdict", "findings", "not_checked"]
        assert "busy" in found["verdict"]["text"][0]
        assert len(found["findings"]["rule"]) == len(found["findings"])
        assert all(gain is None for gain in trace.findings(predict=False)["findings"]["gain"])


def test_a_part(simulated):
    with tracesmith.open(simulated) as trace:
        report = trace.analyze("kernels", limit=2)
        kernels = next(iter(report.values()))
        assert len(kernels) == 2
        assert kernels["name"] == [row[0] for row in kernels.rows]
        assert list(kernels.to_pandas().name) == kernels["name"]
        assert kernels.title in repr(report) and "<table" in report._repr_html_()
        assert "total" in repr(kernels) and '<th title="total_ns">total</th>' in kernels._repr_html_()
        with pytest.raises(tracesmith.InvalidArgumentError, match="nothing: there is no such part.*gpu-util"):
            trace.analyze("nothing")
        with pytest.raises(KeyError, match="there are"):
            report["nothing"]
        with pytest.raises(KeyError, match="there are"):
            kernels["nothing"]
