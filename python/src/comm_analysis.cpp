// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cluster/comm_analysis.hpp"

#include <nanobind/stl/vector.h>

#include "events.hpp"
#include "text.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

namespace {

void bindOperation(nb::module_& m) {
  nb::enum_<NCCLOpType>(m, "NCCLOpType", "What an operation of a collective library does.")
      .value("Unknown", NCCLOpType::Unknown)
      .value("AllReduce", NCCLOpType::AllReduce)
      .value("AllGather", NCCLOpType::AllGather)
      .value("ReduceScatter", NCCLOpType::ReduceScatter)
      .value("Broadcast", NCCLOpType::Broadcast)
      .value("Reduce", NCCLOpType::Reduce)
      .value("AllToAll", NCCLOpType::AllToAll)
      .value("Send", NCCLOpType::Send)
      .value("Recv", NCCLOpType::Recv)
      .value("GroupStart", NCCLOpType::GroupStart)
      .value("GroupEnd", NCCLOpType::GroupEnd);
  nb::enum_<NCCLRedOp>(m, "NCCLRedOp", "How a reduction combines elements.")
      .value("Sum", NCCLRedOp::Sum)
      .value("Prod", NCCLRedOp::Prod)
      .value("Max", NCCLRedOp::Max)
      .value("Min", NCCLRedOp::Min)
      .value("Avg", NCCLRedOp::Avg);
  nb::enum_<NCCLDataType>(m, "NCCLDataType", "Type of the elements.")
      .value("Int8", NCCLDataType::Int8)
      .value("Uint8", NCCLDataType::Uint8)
      .value("Int32", NCCLDataType::Int32)
      .value("Uint32", NCCLDataType::Uint32)
      .value("Int64", NCCLDataType::Int64)
      .value("Uint64", NCCLDataType::Uint64)
      .value("Float16", NCCLDataType::Float16)
      .value("Float32", NCCLDataType::Float32)
      .value("Float64", NCCLDataType::Float64)
      .value("BFloat16", NCCLDataType::BFloat16);
  m.def("nccl_op_type_to_string", &ncclOpTypeToString, nb::arg("type"), "\"AllReduce\", ...");
  m.def("nccl_red_op_to_string", &ncclRedOpToString, nb::arg("op"), "\"Sum\", ...");
  m.def("nccl_data_type_to_string", &ncclDataTypeToString, nb::arg("type"), "\"Float32\", ...");
  m.def("nccl_data_type_size", &ncclDataTypeSize, nb::arg("type"), "Bytes of an element.");

  nb::class_<NCCLOperation>(m, "NCCLOperation", "One rank's operation of a collective library.")
      .def(nb::init<>())
      .def_rw("op_id", &NCCLOperation::op_id)
      .def_rw("op_type", &NCCLOperation::op_type)
      .def_rw("red_op", &NCCLOperation::red_op, "of reductions")
      .def_rw("data_type", &NCCLOperation::data_type)
      .def_rw("comm_id", &NCCLOperation::comm_id)
      .def_rw("rank", &NCCLOperation::rank, "that made it")
      .def_rw("world_size", &NCCLOperation::world_size, "ranks of the communicator")
      .def_rw("count", &NCCLOperation::count, "elements, as the caller gave them")
      .def_rw("data_size", &NCCLOperation::data_size,
              "bytes of the rank's buffer: of an AllToAll what it sends to all ranks together")
      .def_rw("start_time", &NCCLOperation::start_time)
      .def_rw("end_time", &NCCLOperation::end_time)
      .def_rw("duration_ns", &NCCLOperation::duration_ns)
      .def_rw("peer_rank", &NCCLOperation::peer_rank,
              "of Send and Recv the other rank, of Broadcast and Reduce the root; -1: none")
      .def_rw("cuda_stream", &NCCLOperation::cuda_stream)
      .def_rw("correlation_id", &NCCLOperation::correlation_id)
      .def_rw("completed", &NCCLOperation::completed, "end_time and duration_ns are known");
}

void bindResults(nb::module_& m) {
  using Matrix = CommAnalysis::CommMatrix;
  nb::class_<Matrix>(m, "CommMatrix", "From rank (first index) to rank.")
      .def_ro("bytes", &Matrix::bytes)
      .def_ro("count", &Matrix::count)
      .def_ro("avg_latency", &Matrix::avg_latency, "mean duration in ns, of those that have one")
      .def_ro("world_size", &Matrix::world_size);
  using Pattern = CommAnalysis::CommPattern;
  nb::enum_<Pattern>(m, "CommPattern", "The shape of who sends to whom.")
      .value("Unknown", Pattern::Unknown, "nothing was sent")
      .value("AllToAll", Pattern::AllToAll)
      .value("Ring", Pattern::Ring, "one way or both ways")
      .value("Tree", Pattern::Tree)
      .value("Butterfly", Pattern::Butterfly, "each rank r with r xor 1, r xor 2, r xor 4, ...")
      .value("PointToPoint", Pattern::PointToPoint,
             "no rank has more than two neighbours, and they are no circle")
      .value("Broadcast", Pattern::Broadcast, "one rank to all others")
      .value("Custom", Pattern::Custom);
  using Bottleneck = CommAnalysis::Bottleneck;
  nb::class_<Bottleneck>(m, "CommBottleneck", "A pair of ranks that is busy for much of the time.")
      .def_ro("rank_a", &Bottleneck::rank_a, "sends")
      .def_ro("rank_b", &Bottleneck::rank_b, "receives")
      .def_ro("utilization", &Bottleneck::utilization,
              "share of the time from the first start of any operation to the last end in which a "
              "message of the pair was on its way")
      .def_ro("reason", &Bottleneck::reason);
  using Imbalance = CommAnalysis::LoadImbalance;
  nb::class_<Imbalance>(m, "LoadImbalance", "How far a rank's load is from the mean.")
      .def_ro("rank", &Imbalance::rank)
      .def_ro("deviation", &Imbalance::deviation,
              "(value - mean) / mean of the time in operations; of the bytes if no operation has a "
              "time")
      .def_ro("total_bytes", &Imbalance::total_bytes)
      .def_ro("total_time_ns", &Imbalance::total_time_ns);
}

}  // namespace

void bindCommAnalysis(nb::module_& m) {
  bindOperation(m);
  bindResults(m);
  nb::class_<CommAnalysis>(m, "CommAnalysis",
                           "Who communicates with whom, from operations that a program has. For "
                           "traces there is trace.analyze(\"comm\").")
      .def(nb::init<>())
      .def("add_operations", &CommAnalysis::addOperations, nb::arg("operations"))
      .def("add_operation", &CommAnalysis::addOperation, nb::arg("operation"))
      .def("clear", &CommAnalysis::clear)
      .def(
          "get_comm_matrix", &CommAnalysis::getCommMatrix,
          "Messages count by their Send; by their Recv if the sender added nothing. AllToAll is an "
          "equal part to each other rank, Broadcast the buffer from the root. Other collectives "
          "are not in it. Empty for more than 2048 ranks.")
      .def("detect_pattern", &CommAnalysis::detectPattern)
      .def_static("pattern_to_string", &CommAnalysis::patternToString, nb::arg("pattern"))
      .def("find_bottlenecks", &CommAnalysis::findBottlenecks, nb::arg("threshold") = 0.5,
           "Pairs whose utilization is at least this, the busiest first.")
      .def("analyze_load_balance", &CommAnalysis::analyzeLoadBalance,
           "Each rank with operations, the one that deviates most first.")
      .def("matrix_to_ascii", &CommAnalysis::matrixToASCII)
      .def("matrix_to_heatmap_json", &CommAnalysis::matrixToHeatmapJSON)
      .def("get_total_bytes", &CommAnalysis::getTotalBytes)
      .def("get_total_operations", &CommAnalysis::getTotalOperations)
      .def("get_world_size", &CommAnalysis::getWorldSize);
}

}  // namespace tracesmith::python
