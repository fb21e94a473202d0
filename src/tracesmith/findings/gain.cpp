// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/findings/gain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/base/shell_words.hpp"
#include "tracesmith/emulate/emulator_check.hpp"
#include "tracesmith/emulate/what_if.hpp"

namespace tracesmith::findings {
namespace {

/// Below this error, a small prediction is as certain as a large one.
constexpr double kLeastError = 0.005;

std::string optionsOf(const Change& change) {
  std::string out;
  for (const std::string& what : change.remove) out += " --remove " + shellQuoted(what);
  for (const std::string& what : change.scale) out += " --scale " + shellQuoted(what);
  if (change.streams) out += fmt::format(" --streams {}", *change.streams);
  return out;
}

Result<WhatIf> parse(const Change& change) {
  WhatIf out;
  for (const std::string& text : change.remove) {
    TS_TRY(NameSelector what, NameSelector::parse(text));
    out.remove.push_back(std::move(what));
  }
  for (const std::string& text : change.scale) {
    TS_TRY(WhatIf::Scale scale, WhatIf::parseScale(text));
    out.scale.push_back(std::move(scale));
  }
  out.streams = change.streams;
  return out;
}

}  // namespace

GainPredictor::GainPredictor(const Trace& trace, std::string file)
    : trace_(trace), file_(std::move(file)) {}

void GainPredictor::prepare() {
  if (std::exchange(prepared_, true)) return;
  const size_t events = trace_.kernel.size() + trace_.copy.size() + trace_.fill.size() +
                        trace_.sync.size() + trace_.host_call.size();
  if (is_refused_ || events > kMostEvents) {
    why_not_ =
        fmt::format("the trace has {} operations and calls, so the prediction takes long", events);
    return;
  }
  Result<EmulatorGraph> graph = emulatorGraph(trace_);
  if (!graph) {
    why_not_ = graph.error().message;
    return;
  }
  const Result<Emulation> unchanged = emulate(*graph);
  const EmulatorGraph typical = withTypicalHost(trace_, *graph, nullptr);
  const Result<Emulation> rederived = emulate(typical);
  if (!unchanged || !rederived) {
    why_not_ = unchanged ? rederived.error().message : unchanged.error().message;
    return;
  }
  unchanged_ns_ = unchanged->makespan();
  error_ = std::max(std::abs(errorsOf(*graph, *unchanged).makespanError()),
                    std::abs(errorsOf(typical, *rederived).makespanError()));
  graph_ = std::move(*graph);
}

Gain GainPredictor::predict(const Change& change) {
  Gain out;
  out.change = change.words;
  out.removes = change.scale.empty();
  out.command = fmt::format("tracesmith whatif {}{}", shellWord(file_), optionsOf(change));
  prepare();
  if (!graph_) {
    out.why_not = why_not_;
    return out;
  }
  const Result<WhatIf> what = parse(change);
  std::vector<WhatIfEffect> effects;
  const Result<EmulatorGraph> other =
      what ? changed(trace_, *graph_, *what, effects) : tl::unexpected(what.error());
  const Result<Emulation> after = other ? emulate(*other) : tl::unexpected(other.error());
  if (!after) {
    out.why_not = after.error().message;
    return out;
  }
  if (unchanged_ns_ <= 0) {
    out.why_not = "the run has no length";
    return out;
  }
  const double share =
      static_cast<double>(unchanged_ns_ - after->makespan()) / static_cast<double>(unchanged_ns_);
  if (error_ > kLeastError && std::abs(share) <= error_) {
    out.why_not = fmt::format("the model's error for this trace, {}, exceeds its prediction, {}",
                              formatPercent(error_), formatPercent(share));
    return out;
  }
  out.share = share;
  out.error = error_;
  return out;
}

}  // namespace tracesmith::findings
