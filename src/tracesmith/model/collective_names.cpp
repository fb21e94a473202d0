// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/collective_names.hpp"

#include <iterator>
#include <string>

namespace tracesmith {
namespace {

struct Word {
  std::string_view text;
  CollectiveOp op;
};
// Longer words stand before those that are a part of them.
constexpr Word kWords[] = {
    {"allreduce", CollectiveOp::kAllReduce},
    {"allgather", CollectiveOp::kAllGather},
    {"reducescatter", CollectiveOp::kReduceScatter},
    {"alltoall", CollectiveOp::kAllToAll},
    {"broadcast", CollectiveOp::kBroadcast},
    {"bcast", CollectiveOp::kBroadcast},
    {"sendrecv", CollectiveOp::kSendRecv},
    {"barrier", CollectiveOp::kBarrier},
    {"gather", CollectiveOp::kGather},
    {"scatter", CollectiveOp::kScatter},
    {"reduce", CollectiveOp::kReduce},
    {"send", CollectiveOp::kSend},
    {"recv", CollectiveOp::kRecv},
};

/// Up to the arguments, in lower case, without what stands between words.
std::string plainWords(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 128)) {
    if (c == '(' || c == '<') break;
    if (c >= 'A' && c <= 'Z') {
      out += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      out += c;
    }
  }
  return out;
}

}  // namespace

CollectiveOp collectiveOf(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  const std::string words = plainWords(name);
  const std::string_view text = words;
  if (!text.starts_with("nccl") && !text.starts_with("rccl")) return CollectiveOp::kNone;
  for (const Word& word : kWords) {
    if (text.find(word.text, 4) != std::string_view::npos) return word.op;
  }
  // A kernel that runs whatever was asked for; other names are functions that move no data.
  const std::string_view rest = text.substr(4);
  const bool kernel = rest.starts_with("devkernel") || rest.starts_with("kernel") ||
                      rest.starts_with("generickernel");
  return kernel ? CollectiveOp::kOther : CollectiveOp::kNone;
}

std::string_view toString(CollectiveOp op) {
  constexpr std::string_view kNames[] = {
      "none",   "other",  "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast",
      "reduce", "gather", "scatter",    "send_recv",  "send",           "recv",       "barrier"};
  const auto i = static_cast<size_t>(op);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

}  // namespace tracesmith
