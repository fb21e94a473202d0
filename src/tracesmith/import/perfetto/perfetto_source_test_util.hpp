// SPDX-License-Identifier: Apache-2.0
// For tests: builds Perfetto traces packet by packet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tracesmith/import/common/proto_message_test_util.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith::test {

inline std::string packet(const Message& message) { return Message().of(1, message).bytes(); }

inline Message interned(uint64_t iid, std::string_view name) {
  return Message().number(1, iid).text(2, name);
}
inline Message trackEvent(uint64_t type, uint64_t track, std::string_view name = "") {
  Message m;
  m.number(9, type).number(11, track);
  if (!name.empty()) m.text(23, name);
  return m;
}
/// A packet of a sequence with a time.
inline Message at(uint64_t time, uint64_t sequence = 1) {
  return Message().number(8, time).number(10, sequence);
}

/// Process 4242 (track 100) with its thread 77 (track 200).
inline std::string process() {
  return packet(Message().of(
             60, Message().number(1, 100).of(3, Message().number(1, 4242).text(6, "train")))) +
         packet(Message().of(60, Message().number(1, 200).of(
                                     4, Message().number(1, 4242).number(2, 77).text(5, "main"))));
}

inline std::string nameOf(const Trace& t, size_t range) {
  return std::string(t.text(t.range.name[range]));
}

}  // namespace tracesmith::test
