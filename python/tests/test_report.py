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


def inspector_line(rank, number, start_us, end_us):
    return json.dumps({
        "header": {"id": "0xe62dedaa97644a", "rank": rank, "n_ranks": 4, "nnodes": 1},
        "metadata": {"inspector_output_format_version": "v4.0", "rec_mechanism": "nccl_profiler_interface",
                     "dump_timestamp_us": end_us + 100, "hostname": "node", "pid": 1000 + rank},
        "coll_perf": {"coll": "AllReduce", "coll_sn": number, "coll_msg_size_bytes": 4096,
                      "coll_exec_time_us": end_us - start_us, "coll_timing_source": "kernel_gpu",
                      "event_trace_ts": {"coll_start_ts": start_us, "coll_stop_ts": start_us + 2, "kernel_events": [
                          {"channel_id": 0, "kernel_start_ts": start_us, "kernel_stop_ts": end_us}]}}})


def test_stragglers(tmp_path):
    """Rank 2 takes 3 ms to each all-reduce, the others 1 ms. Without device work nobody knows why."""
    files = [tmp_path / f"rank-{rank}.log" for rank in range(4)]
    begin = 1_752_867_229_000_000
    for rank, file in enumerate(files):
        arrival = 3000 if rank == 2 else 1000 + rank
        file.write_text("\n".join(inspector_line(rank, step, begin + 3500 * step + arrival, begin + 3500 * step + 3400)
                                  for step in range(30)))
    job = tmp_path / "job.sbt"
    subprocess.run([tracesmith.command_path(), "merge", "-q", *files, "-o", job], check=True)
    with tracesmith.open(job) as trace:
        found = trace.stragglers()
        assert list(found) == ["stragglers", "job_time"]
        assert found["stragglers"]["rank"] == ["2"]
        assert found["stragglers"]["kind"] == ["slow rank"]
        assert found["stragglers"]["excess_ns"][0] == pytest.approx(2e6, rel=0.05)
        verdict = trace.findings()["verdict"]["text"][0]
        assert verdict.startswith("Other ranks wait for rank 2 (slow rank)")
        assert "not compared" in verdict
