// SPDX-License-Identifier: Apache-2.0
// What PyTorch's names of collectives and of data types mean for columns of the table comm. Its
// Flight Recorder and its profiler use the same ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tracesmith/model/tables.hpp"

namespace tracesmith::import {

/// A name of c10d, such as "all_reduce", "_allgather_base" or "send".
struct TorchCollective {
  /// The function of NCCL that PyTorch calls for it; "" if it calls several, or none.
  std::string_view nccl;
  CommKind kind{};
  bool from_root = false;  ///< only the root sends
  bool to_root = false;    ///< only the root receives
};
TorchCollective torchCollective(std::string_view name);

/// The library of a c10d backend: "NCCL" for "nccl". Others have their own names.
std::string_view libraryOfBackend(std::string_view backend);

/// "float32" for "Float". Unknown names stay.
std::string_view plainDataType(std::string_view torch_name);

/// Sets the numbers of bytes of a row from those of the tensors that the call read and wrote.
/// PyTorch names tensors on all ranks, also where only the root sends or receives. `is_root`: this
/// rank is known to be it.
void setTensorBytes(CommRow& row, const TorchCollective& of, uint64_t in, uint64_t out,
                    bool is_root);

}  // namespace tracesmith::import
