// SPDX-License-Identifier: Apache-2.0
// The display name of a call stack frame: the last answer in `symbol`; else the frame's own row
// (imported traces, interpreters); else the location of its address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// One function of a frame; the views live as long as the trace.
struct FrameFunction {
  std::string_view function;  ///< "": unknown
  std::string_view file;
  uint32_t line = 0;
};

class FrameSymbols {
 public:
  /// Refers to `trace`, which must outlive this object and whose frames and symbols must not
  /// change.
  explicit FrameSymbols(const Trace& trace);

  /// The functions at a frame, innermost first: the inlined ones, then the function that has the
  /// code. One entry without a name if nothing is known; no entry for an invalid id.
  void functions(FrameId id, std::vector<FrameFunction>& out) const;
  /// The row of `symbol` with the innermost function; nothing if the frame's own row has the name.
  std::optional<size_t> innermostRow(FrameId id) const {
    const Answer answer = answerOf(id);
    return answer.count == 0 ? std::nullopt : std::optional<size_t>(answer.first);
  }
  /// Whether a row of `symbol` belongs to its frame's current answer.
  bool counts(size_t row) const;

  /// "library.so+0x1234"; "0x7f…" outside all modules; "" if even the address is unknown.
  std::string place(FrameId id) const;
  /// The function's name, else the frame's place().
  std::string label(FrameId id, const FrameFunction& function) const {
    return function.function.empty() ? place(id) : std::string(function.function);
  }

 private:
  struct Answer {
    uint32_t first = 0;  // row of `symbol`
    uint32_t count = 0;
  };
  Answer answerOf(FrameId id) const {
    const auto i = static_cast<size_t>(id);
    return i == 0 || i > answers_.size() ? Answer{} : answers_[i - 1];
  }

  const Trace& trace_;
  std::vector<Answer> answers_;  // by frame; empty if the trace has no symbols
};

}  // namespace tracesmith
