// SPDX-License-Identifier: Apache-2.0
// What a frame of a call stack is called, for all who show one: the last answer in `symbol`, or
// what the frame's own row says (imported traces, interpreters), or where the address lies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// One function at a frame; views live as long as the trace.
struct FrameFunction {
  std::string_view function;  ///< "": not known
  std::string_view file;
  uint32_t line = 0;
};

class FrameSymbols {
 public:
  /// Refers to `trace`, which must outlive this and whose frames and symbols must stay as they are.
  explicit FrameSymbols(const Trace& trace);

  /// The functions at a frame, innermost first: those inlined there, then the one that has the
  /// code. One without a name where nothing is known; none for a frame that is not there.
  void functions(FrameId id, std::vector<FrameFunction>& out) const;
  /// The row of `symbol` with the first of those; nothing where the frame's own row says what it
  /// is.
  std::optional<size_t> innermostRow(FrameId id) const {
    const Answer answer = answerOf(id);
    return answer.count == 0 ? std::nullopt : std::optional<size_t>(answer.first);
  }
  /// Whether a row of `symbol` is a part of the answer that counts for its frame.
  bool counts(size_t row) const;

  /// "library.so+0x1234", or "0x7f…" in no module, or "" where not even that is known.
  std::string place(FrameId id) const;
  /// The name of a function at the frame, or else the frame's place.
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
  std::vector<Answer> answers_;  // of each frame; empty where the trace has no symbols
};

}  // namespace tracesmith
