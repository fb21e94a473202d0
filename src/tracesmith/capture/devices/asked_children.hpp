// SPDX-License-Identifier: Apache-2.0
// Asks vendors' libraries in child processes, all at the same time: they crash, hang, print and
// start threads of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/bytes.hpp"

namespace tracesmith {

/// A text in a reply.
inline void putText(Bytes& out, std::string_view text) {
  putFixed(out, static_cast<uint32_t>(text.size()));
  out.insert(out.end(), text.begin(), text.end());
}
inline std::string takeText(ByteReader& in) {
  return std::string(asText(in.take(in.fixed<uint32_t>())));
}

/// What a child process answered.
struct ChildReply {
  Bytes bytes;          ///< whether all of them came, their end has to say
  std::string problem;  ///< why some may be missing, to be put after "the X library"
  std::string failure;  ///< why no process could be started; empty else
};

/// Runs each function in a child process and returns what it returned, in order.
/// `timeout_ms`: for all of them together.
std::vector<ChildReply> askInChildren(const std::vector<std::function<Bytes()>>& questions,
                                      int64_t timeout_ms);

}  // namespace tracesmith
