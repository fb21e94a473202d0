// SPDX-License-Identifier: Apache-2.0
// One operation of a collective library as a value, for C++ programs. Traces have them as rows of
// the table `comm`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tracesmith/model/trace_event.hpp"

namespace tracesmith {

enum class NCCLOpType : uint8_t {
  Unknown,
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
  Reduce,
  AllToAll,
  Send,
  Recv,
  GroupStart,
  GroupEnd,
};
enum class NCCLRedOp : uint8_t { Sum, Prod, Max, Min, Avg };
enum class NCCLDataType : uint8_t {
  Int8,
  Uint8,
  Int32,
  Uint32,
  Int64,
  Uint64,
  Float16,
  Float32,
  Float64,
  BFloat16,
};

/// "AllReduce", "Sum", "Float32"; "Unknown" for a value that is none.
std::string_view ncclOpTypeToString(NCCLOpType type);
std::string_view ncclRedOpToString(NCCLRedOp op);
std::string_view ncclDataTypeToString(NCCLDataType type);
/// Bytes of an element; 0 for a value that is none.
size_t ncclDataTypeSize(NCCLDataType type);

struct NCCLOperation {
  uint64_t op_id = 0;
  NCCLOpType op_type = NCCLOpType::Unknown;
  NCCLRedOp red_op = NCCLRedOp::Sum;  ///< of reductions
  NCCLDataType data_type = NCCLDataType::Float32;
  uint64_t comm_id = 0;
  uint32_t rank = 0;        ///< that made it
  uint32_t world_size = 1;  ///< ranks of the communicator
  uint64_t count = 0;       ///< elements, as the caller gave them
  /// Bytes of the rank's buffer: of an AllToAll what it sends to all ranks together.
  uint64_t data_size = 0;
  Timestamp start_time = 0;
  Timestamp end_time = 0;
  uint64_t duration_ns = 0;
  int32_t peer_rank = -1;  ///< of Send and Recv the other rank, of Broadcast and Reduce the root
  uint64_t cuda_stream = 0;
  uint64_t correlation_id = 0;
  bool completed = false;  ///< end_time and duration_ns are known
};

}  // namespace tracesmith
