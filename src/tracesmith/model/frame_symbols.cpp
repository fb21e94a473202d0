// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/frame_symbols.hpp"

#include <fmt/format.h>

namespace tracesmith {

FrameSymbols::FrameSymbols(const Trace& trace) : trace_(trace) {
  const SymbolTable& symbols = trace.symbol;
  if (symbols.empty()) return;
  answers_.resize(trace.frame.size());
  for (size_t i = 0; i < symbols.size(); ++i) {
    const auto frame = static_cast<size_t>(symbols.frame[i]);
    if (frame == 0 || frame > answers_.size()) continue;
    Answer& answer = answers_[frame - 1];
    // An answer is a run of consecutive rows; a row that does not continue the last answer starts
    // another one.
    const bool goes_on = answer.count != 0 && answer.first + answer.count == i &&
                         symbols.inline_level[i] > symbols.inline_level[i - 1];
    if (!goes_on) answer = {static_cast<uint32_t>(i), 0};
    ++answer.count;
  }
}

void FrameSymbols::functions(FrameId id, std::vector<FrameFunction>& out) const {
  out.clear();
  const auto frame = static_cast<size_t>(id);
  if (frame == 0 || frame > trace_.frame.size()) return;
  const Answer answer = answerOf(id);
  const SymbolTable& symbols = trace_.symbol;
  for (size_t i = answer.first; i < answer.first + answer.count; ++i) {
    out.push_back(
        {trace_.text(symbols.function[i]), trace_.text(symbols.file[i]), symbols.line[i]});
  }
  if (!out.empty()) return;
  out.push_back({trace_.text(trace_.frame.function[frame - 1]),
                 trace_.text(trace_.frame.file[frame - 1]), trace_.frame.line[frame - 1]});
}

bool FrameSymbols::counts(size_t row) const {
  const Answer answer = answerOf(trace_.symbol.frame[row]);
  return row >= answer.first && row - answer.first < answer.count;
}

std::string FrameSymbols::place(FrameId id) const {
  const auto frame = static_cast<size_t>(id);
  if (frame == 0 || frame > trace_.frame.size()) return {};
  const FrameRow row = trace_.frame.row(frame - 1);
  std::string_view module = trace_.text(row.module);
  module.remove_prefix(module.rfind('/') + 1);  // npos + 1 is 0
  if (!module.empty() && row.module_offset != 0) {
    return fmt::format("{}+0x{:x}", module, row.module_offset);
  }
  return row.address == 0 && !module.empty() ? std::string(module)
                                             : fmt::format("0x{:x}", row.address);
}

}  // namespace tracesmith
