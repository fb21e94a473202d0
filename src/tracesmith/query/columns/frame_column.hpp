// SPDX-License-Identifier: Apache-2.0
// Columns of frames with the results of `symbolize`.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/model/trace.hpp"
#include "tracesmith/query/columns/dictionary_column.hpp"

namespace tracesmith {

/// Names of frames, including those whose text is not stored in the trace.
struct FrameLabels {
  explicit FrameLabels(const Trace& of) : trace(of), symbols(of) {}

  std::string_view at(uint64_t row) {
    std::call_once(once, [&] { fill(); });
    return texts[row];
  }
  void fill() {
    std::vector<FrameFunction> functions;
    texts.resize(trace.frame.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      symbols.functions(idAt<FrameId>(i), functions);
      texts[i] = symbols.label(idAt<FrameId>(i), functions.front());
    }
  }

  const Trace& trace;
  const FrameSymbols symbols;
  std::once_flag once;
  std::vector<std::string> texts;
};

/// The name or file of a frame's innermost function, from the frame's answer in `symbol`, else from
/// its own row.
class PlaceColumn final : public DictionaryColumn {
 public:
  PlaceColumn(std::string name, std::string meaning, const SqlTable& table, const Trace& trace,
              std::shared_ptr<const FrameLabels> labels, const Column<StringId>& of_symbols,
              const Column<StringId>& of_frames)
      : DictionaryColumn(std::move(name), std::move(meaning), table),
        strings_(trace.strings),
        labels_(std::move(labels)),
        of_symbols_(of_symbols),
        of_frames_(of_frames) {}

 protected:
  uint32_t count() const override { return static_cast<uint32_t>(strings_.size()); }
  std::string_view textOf(uint32_t number) const override {
    return strings_.at(static_cast<StringId>(number));
  }
  void numbers(const uint64_t* rows, size_t n, uint32_t* out) const override {
    for (size_t i = 0; i < n; ++i) {
      const auto symbol = labels_->symbols.innermostRow(idAt<FrameId>(rows[i]));
      out[i] = static_cast<uint32_t>(symbol ? of_symbols_[*symbol] : of_frames_[rows[i]]);
    }
  }

 private:
  const StringTable& strings_;
  std::shared_ptr<const FrameLabels> labels_;
  const Column<StringId>& of_symbols_;
  const Column<StringId>& of_frames_;
};

}  // namespace tracesmith
