# SPDX-License-Identifier: Apache-2.0
"""CommAnalysis, and trace.analyze("comm") of a trace with calls of a communication library."""
import json

import tracesmith as ts


def send(rank, peer, size, start=0, duration=0):
    operation = ts.NCCLOperation()
    operation.op_type = ts.NCCLOpType.Send
    operation.rank, operation.peer_rank, operation.data_size = rank, peer, size
    operation.start_time, operation.duration_ns, operation.end_time = start, duration, start + duration
    operation.world_size = 4
    return operation


def test_a_ring_is_found_and_its_slow_pair():
    analysis = ts.CommAnalysis()
    analysis.add_operations([send(rank, (rank + 1) % 4, 1000, 0, 900 if rank == 2 else 10) for rank in range(4)])
    analysis.add_operation(send(0, 1, 1000, 900, 100))
    assert analysis.detect_pattern() == ts.CommPattern.Ring
    assert ts.CommAnalysis.pattern_to_string(analysis.detect_pattern()) == "Ring"
    (slow,) = analysis.find_bottlenecks()
    assert (slow.rank_a, slow.rank_b, slow.utilization) == (2, 3, 0.9)
    assert "90.0 % of the time" in slow.reason
    matrix = analysis.get_comm_matrix()
    assert matrix.bytes == [[0, 2000, 0, 0], [0, 0, 1000, 0], [0, 0, 0, 1000], [1000, 0, 0, 0]]
    assert matrix.count[0][1] == 2 and matrix.avg_latency[0][1] == 55 and matrix.world_size == 4
    assert json.loads(analysis.matrix_to_heatmap_json())["bytes"] == matrix.bytes
    assert "1000 B" in analysis.matrix_to_ascii()
    assert analysis.analyze_load_balance()[0].rank == 2
    assert (analysis.get_total_bytes(), analysis.get_total_operations(), analysis.get_world_size()) == (5000, 5, 4)
    analysis.clear()
    assert analysis.detect_pattern() == ts.CommPattern.Unknown


def test_names_of_types_and_operations():
    assert ts.nccl_op_type_to_string(ts.NCCLOpType.AllReduce) == "AllReduce"
    assert ts.nccl_red_op_to_string(ts.NCCLRedOp.Avg) == "Avg"
    assert ts.nccl_data_type_to_string(ts.NCCLDataType.BFloat16) == "BFloat16"
    assert ts.nccl_data_type_size(ts.NCCLDataType.Float64) == 8
