# SPDX-License-Identifier: Apache-2.0
"""Clocks of others: a time server in this process, another host's clock server, points by hand."""

import re
import socket
import struct
import subprocess
import threading
import time

import pytest

import tracesmith as ts

AHEAD_NS = 250_000_000


class TimeServer:
    """NTP (RFC 5905, figure 8), ahead of this host."""

    def __init__(self, stratum=1, leap=0, answers=100):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.name = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.stratum, self.leap, self.left = stratum, leap, answers
        threading.Thread(target=self.serve, daemon=True).start()

    @staticmethod
    def now():
        seconds, ns = divmod(time.time_ns() + AHEAD_NS, 10**9)
        return struct.pack(">II", seconds + 2208988800, (ns << 32) // 10**9)

    def serve(self):
        while self.left > 0:
            question, client = self.socket.recvfrom(1024)
            received = self.now()
            self.left -= 1
            foreign = b"\x24" + bytes(47)  # of someone who does not know the question
            self.socket.sendto(foreign, client)
            head = struct.pack(">BBbbII4s", self.leap << 6 | 4 << 3 | 4, self.stratum, 6, -20, 131, 65, b"RATE")
            self.socket.sendto(head + received + question[40:48] + received + self.now(), client)


def synced(**config):
    sync = ts.TimeSync(ts.TimeSyncConfig(sync_interval_ms=0, **config))
    return sync, sync.synchronize()


def test_a_time_server():
    server = TimeServer()
    sync, result = synced(method=ts.TimeSyncMethod.NTP, ntp_server=server.name)
    assert result.success, result.error_message
    truth = time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC) + AHEAD_NS
    assert abs(result.offset_ns - truth) <= result.uncertainty_ns + 1_000_000
    # Half of a root delay of 2 ms, and a dispersion of 1 ms, are in it.
    assert 1_900_000 < result.uncertainty_ns < 50_000_000
    assert result.round_trip_ns > 0
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    there = sync.to_synchronized_time(now)
    assert abs(there - now - truth) <= sync.uncertainty_at(now) + 1_000_000
    assert abs(sync.to_local_time(there) - now) < 1_000_000


def test_an_offset_that_is_not_known_well_enough_is_a_failure():
    # Two milliseconds of the server's bound are more than one.
    sync, result = synced(method=ts.TimeSyncMethod.NTP, ntp_server=TimeServer().name,
                          max_acceptable_offset_ns=1_000_000)
    assert not result
    assert "max_acceptable_offset_ns is 1000000" in result.error_message
    assert sync.get_sync_count() == 0 and sync.to_synchronized_time(7) == 7


@pytest.mark.parametrize("server, why", [({"stratum": 0}, "gives no time (RATE)"),
                                         ({"leap": 3}, "does not know the time itself"),
                                         ({"stratum": 16}, "does not know the time itself")])
def test_a_time_server_without_the_time(server, why):
    sync, result = synced(method=ts.TimeSyncMethod.NTP, ntp_server=TimeServer(**server).name)
    assert not result
    assert why in result.error_message
    assert sync.get_sync_count() == 0


def test_another_host():
    server = subprocess.Popen([ts.command_path(), "clock", "serve", "--bind", "127.0.0.1", "--port", "0"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        port = re.search(r"answers at port (\d+)", server.stdout.readline())[1]
        result = ts.TimeSync().synchronize_with_node(f"127.0.0.1:{port}")
    finally:
        server.terminate()
        server.wait()
    assert result.success, result.error_message
    assert abs(result.offset_ns) <= result.uncertainty_ns  # it is this host's own clock
    assert result.uncertainty_ns < 5_000_000


def test_names_and_offsets_by_hand():
    assert ts.is_time_sync_available() and ts._TIME_SYNC_AVAILABLE
    for method in ts.TimeSyncMethod:
        assert ts.string_to_time_sync_method(ts.time_sync_method_to_string(method)) == method
    assert ts.string_to_time_sync_method("sundial") is None
    sync, result = synced(method=ts.TimeSyncMethod.Custom)
    assert "setManualOffset" in repr(result)
    sync.set_manual_offset(5)
    assert sync.synchronize() and sync.to_synchronized_time(10) == 15
    assert sync.correlate_gpu_timestamps(0, [(1, 101), (2, 102)]) and sync.get_gpu_offset(0) == 100


def test_correlated_points():
    correlator = ts.ClockCorrelator()
    for t in range(10):
        correlator.add_correlation_point("gpu", t * 1000, 5_000 + t * 1010)
    assert correlator.calculate_drift_model("gpu").drift_rate == pytest.approx(0.01)
    assert correlator.apply_drift_correction("gpu", 20_000) == 25_200
    assert correlator.correct_timestamps("gpu", [0]) == [correlator.calculate_offset("gpu")]
    correlator.clear()
    assert correlator.get_correlation_points("gpu") == []


@pytest.mark.parametrize("adapter, why", [("", "set ptp_interface"), ("lo", "lo: has no hardware clock"),
                                          ("no-such-adapter", "there is no such network adapter")])
def test_an_adapter_without_a_clock(adapter, why):
    sync, result = synced(method=ts.TimeSyncMethod.PTP, ptp_interface=adapter)
    assert not result
    assert why in result.error_message
    assert sync.get_sync_count() == 0 and sync.to_synchronized_time(7) == 7
