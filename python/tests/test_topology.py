# SPDX-License-Identifier: Apache-2.0
"""GPUTopology: files and this machine."""

import json
import os

import pytest

import tracesmith as ts


@pytest.fixture
def two_gpus(tmp_path):
    path = tmp_path / "topo.xml"
    path.write_text(
        '<system version="1"><cpu numaid="0">'
        + "".join(
            f'<pci busid="0000:0{gpu}:00.0" class="0x030200" vendor="0x10de" link_speed="16 GT/s" link_width="16">'
            f'<gpu dev="{gpu}" sm="90"><nvlink target="0000:0{1 - gpu}:00.0" count="6" tclass="0x030200"/></gpu></pci>'
            for gpu in (0, 1)
        )
        + "</cpu></system>",
        encoding="utf-8",
    )
    topology = ts.GPUTopology()
    topology.read(path)
    return topology


def test_connections(two_gpus):
    assert repr(two_gpus) == "GPUTopology(gpus=2)"
    assert two_gpus.is_discovered()
    assert two_gpus.problems == []
    assert two_gpus.get_link_type(0, 1) == ts.GPULinkType.NVLink4
    assert two_gpus.get_nvlink_count(0, 1) == 6
    assert two_gpus.get_bandwidth(0, 1) == 6 * ts.get_link_bandwidth(ts.GPULinkType.NVLink4) == 150
    assert two_gpus.is_directly_connected(0, 1)
    assert two_gpus.can_access_peer(0, 1)
    assert two_gpus.get_connected_gpus(1) == [0]
    assert two_gpus.get_optimal_path(1, 0) == [1, 0]
    assert two_gpus.estimate_transfer_time(0, 1, 150_000) == 1000
    assert two_gpus.estimate_transfer_time(0, 7, 150_000) is None
    assert two_gpus.get_device_info(7) is None
    assert two_gpus.get_device_info(1).pci_bus_id == "0000:01:00.0"
    (link,) = two_gpus.get_topology().links
    assert (link.gpu_a, link.gpu_b, link.link_count, link.bidirectional) == (0, 1, 6, True)
    assert ts.link_type_to_string(link.type) == "NVLink4"
    assert two_gpus.get_topology().link_matrix[0][0] == ts.GPULinkType.None_


def test_forms(two_gpus, capsys):
    assert json.loads(two_gpus.to_json())["summary"] == "2 GPUs, 1 NUMA node"
    assert two_gpus.to_graphviz().startswith("graph topology {")
    two_gpus.print_summary()
    assert capsys.readouterr().out.rstrip("\n") == two_gpus.to_ascii().rstrip("\n")


def test_this_machine():
    topology = ts.GPUTopology()
    assert topology.discover() == (topology.get_gpu_count() > 0)
    assert topology.is_discovered() == os.path.isdir("/sys")


def test_what_cannot_be_read_is_an_error(two_gpus, tmp_path):
    with pytest.raises(ts.NotFoundError, match="no such file or folder"):
        two_gpus.read(tmp_path / "nowhere")
    assert two_gpus.get_gpu_count() == 2
