// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/torch_collectives.hpp"

#include <algorithm>

namespace tracesmith::import {
namespace {

struct NamedCollective {
  std::string_view name;  // in lower case, without underscores
  TorchCollective meaning;
};

constexpr CommKind kAll = CommKind::kCollective;

constexpr NamedCollective kNamedCollectives[] = {
    {"allreduce", {"ncclAllReduce", kAll}},
    {"allreducebarrier", {"ncclAllReduce", kAll}},
    {"allreducecoalesced", {"ncclAllReduce", kAll}},
    {"broadcast", {"ncclBroadcast", kAll, true, false}},
    {"broadcastoop", {"ncclBroadcast", kAll, true, false}},
    {"reduce", {"ncclReduce", kAll, false, true}},
    {"reduceoop", {"ncclReduce", kAll, false, true}},
    {"allgather", {"ncclAllGather", kAll}},
    {"allgatherbase", {"ncclAllGather", kAll}},
    {"allgathersingle", {"ncclAllGather", kAll}},
    {"allgathercoalesced", {"ncclAllGather", kAll}},
    {"allgatherintotensorcoalesced", {"ncclAllGather", kAll}},
    {"reducescatter", {"ncclReduceScatter", kAll}},
    {"reducescatterbase", {"ncclReduceScatter", kAll}},
    {"reducescattersingle", {"ncclReduceScatter", kAll}},
    {"reducescattercoalesced", {"ncclReduceScatter", kAll}},
    {"reducescattertensorcoalesced", {"ncclReduceScatter", kAll}},
    {"send", {"ncclSend", CommKind::kSend}},
    {"recv", {"ncclRecv", CommKind::kReceive}},
    {"recvanysource", {"", CommKind::kReceive}},
    // Of several sends and receives.
    {"alltoall", {"", kAll}},
    {"alltoallbase", {"", kAll}},
    {"alltoallsingle", {"", kAll}},
    {"alltoallv", {"", kAll}},
    {"alltoallvsingle", {"", kAll}},
    {"allgatherv", {"", kAll}},
    {"reducescatterv", {"", kAll}},
    {"gather", {"", kAll, false, true}},
    {"scatter", {"", kAll, true, false}},
    {"barrier", {"", kAll}},
};

struct DataType {
  std::string_view torch, plain;
};

constexpr DataType kDataTypes[] = {
    {"Float", "float32"},
    {"Half", "float16"},
    {"BFloat16", "bfloat16"},
    {"Double", "float64"},
    {"Long", "int64"},
    {"Int", "int32"},
    {"Short", "int16"},
    {"Char", "int8"},
    {"Byte", "uint8"},
    {"Bool", "bool"},
    {"UInt16", "uint16"},
    {"UInt32", "uint32"},
    {"UInt64", "uint64"},
    {"Float8_e4m3fn", "float8_e4m3"},
    {"Float8_e5m2", "float8_e5m2"},
    {"Float8_e4m3fnuz", "float8_e4m3fnuz"},
    {"Float8_e5m2fnuz", "float8_e5m2fnuz"},
    {"Float8_e8m0fnu", "float8_e8m0fnu"},
    {"ComplexHalf", "complex32"},
    {"ComplexFloat", "complex64"},
    {"ComplexDouble", "complex128"},
};

}  // namespace

TorchCollective torchCollective(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  for (const NamedCollective& known : kNamedCollectives) {
    if (known.name == plain) return known.meaning;
  }
  return {.nccl = {}, .kind = CommKind::kOther};
}

std::string_view libraryOfBackend(std::string_view backend) {
  if (backend.starts_with("nccl")) return "NCCL";
  if (backend.starts_with("rccl")) return "RCCL";
  return backend;
}

std::string_view plainDataType(std::string_view torch_name) {
  for (const DataType& type : kDataTypes) {
    if (type.torch == torch_name) return type.plain;
  }
  return torch_name;
}

void setTensorBytes(CommRow& row, const TorchCollective& of, uint64_t in, uint64_t out,
                    bool is_root) {
  row.send_bytes = of.from_root && !is_root ? 0 : in;
  row.receive_bytes = of.to_root && !is_root ? 0 : out;
  if (of.kind == CommKind::kSend) {  // one tensor, which a source may name twice
    row.send_bytes = std::max(in, out);
    row.receive_bytes = 0;
  } else if (of.kind == CommKind::kReceive) {
    row.send_bytes = 0;
    row.receive_bytes = std::max(in, out);
  }
}

}  // namespace tracesmith::import
