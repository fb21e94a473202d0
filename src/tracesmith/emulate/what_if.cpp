// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/emulate/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "tracesmith/emulate/copy_bandwidth.hpp"
#include "tracesmith/emulate/stream_change.hpp"

namespace tracesmith {
namespace {

constexpr double kMostFactor = 1e6;
constexpr uint32_t kMostStreams = 1024;

Result<double> parseFactor(std::string_view text, std::string_view whole) {
  std::string_view digits = text;
  if (digits.ends_with('x')) digits.remove_suffix(1);
  double factor = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), factor);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(factor) ||
      factor < 0 || factor > kMostFactor) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' in '{}' is not a factor from 0 to 1000000, such as 0.5 or 2x",
                            text, whole));
  }
  return factor;
}

class Changes {
 public:
  Changes(const Trace& trace, EmulatorGraph& graph, std::vector<WhatIfEffect>& effects)
      : trace_(trace), graph_(graph), effects_(effects) {}

  Status remove(const NameSelector& what) {
    WhatIfEffect effect{.change = "remove " + what.text()};
    if (!what.device()) {
      removeCalls(what, effect);
    } else {
      for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
        if (!graph_.ops[i].gone && what.matches(trace_, graph_.ops[i].table, graph_.ops[i].name)) {
          count(effect, i);
          removeOperations(i);
        }
      }
      effect.calls = dropCalls();
    }
    return finish(std::move(effect));
  }

  Status fuse(const NameSelector& what) {
    WhatIfEffect effect{.change = "fuse " + what.text()};
    if (!what.device()) {
      return fail(ErrorCode::kInvalidArgument, "only device work can be fused", what.text());
    }
    // An operation that has edges to others than its neighbours in the stream must not be fused.
    std::vector<bool> waits(graph_.ops.size(), false);
    std::vector<bool> waited_for(graph_.ops.size(), false);
    for (const EmulatedEdge& edge : graph_.edges) {
      const bool plain = edge.kind == EmulatedEdgeKind::kStreamOrder ||
                         edge.kind == EmulatedEdgeKind::kLaunch ||
                         edge.kind == EmulatedEdgeKind::kQueueFull;
      if (plain) continue;
      if (graph_.isOp(edge.to)) waits[graph_.opOf(edge.to)] = true;
      if (graph_.isOp(edge.from)) waited_for[graph_.opOf(edge.from)] = true;
    }
    // Last operation of each stream.
    std::vector<uint32_t> last(graph_.streams, EmulatedOp::kNone);
    // First operation of the current run.
    std::vector<uint32_t> first(graph_.streams, EmulatedOp::kNone);
    uint64_t runs = 0;
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      EmulatedOp& op = graph_.ops[i];
      if (op.gone) continue;
      const bool fits = op.table == TableId::kKernel && op.group == EmulatedOp::kNone &&
                        op.launch != EmulatedOp::kNone && what.matches(trace_, op.table, op.name);
      const uint32_t before = last[op.stream];
      last[op.stream] = i;
      if (!fits) {
        first[op.stream] = EmulatedOp::kNone;
        continue;
      }
      uint32_t& head = first[op.stream];
      if (head == EmulatedOp::kNone || waits[i] || waited_for[before]) {
        head = i;
        continue;
      }
      EmulatedOp& whole = graph_.ops[head];
      if (before == head) {
        ++runs;
        count(effect, head);
      }
      count(effect, i);
      whole.work_ns += op.work_ns;
      whole.demand = std::max(whole.demand, op.demand);
      whole.tail_share = 0;
      removeOperations(i);
    }
    effect.calls = dropCalls();
    effect.note = fmt::format("into {} kernels; each takes as long as its parts did", runs);
    if (runs == 0) {
      effect.matched = 0;
      effect.note =
          "no two matching kernels follow each other in a stream without a wait between them";
    }
    return finish(std::move(effect));
  }

  Status scale(const WhatIf::Scale& scale) {
    WhatIfEffect effect{.change = fmt::format("scale {}:{}", scale.what.text(), scale.factor)};
    const auto longer = [&](int64_t ns) {
      return static_cast<int64_t>(
          std::llround(std::min(static_cast<double>(ns) * scale.factor, 4e18)));
    };
    if (!scale.what.device()) {
      const bool calls = scale.what.of() == NameSelector::Of::kCall;
      for (HostStep& step : graph_.steps) {
        if (step.end != calls ||
            (calls && !scale.what.matches(trace_, trace_.host_call.name[step.call]))) {
          continue;
        }
        ++effect.matched;
        effect.recorded_ns += step.own_ns;
        step.own_ns = longer(step.own_ns);
      }
      return finish(std::move(effect));
    }
    std::vector<bool> scaled(graph_.ops.size(), false);
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      EmulatedOp& op = graph_.ops[i];
      if (op.gone || !scale.what.matches(trace_, op.table, op.name)) continue;
      count(effect, i);
      op.work_ns *= scale.factor;
      scaled[i] = true;
    }
    for (EmulatedEdge& edge : graph_.edges) {
      if (edge.kind == EmulatedEdgeKind::kOverlap && scaled[graph_.opOf(edge.from)]) {
        edge.offset_ns = longer(edge.offset_ns);
      }
    }
    return finish(std::move(effect));
  }

  Status bandwidth(const WhatIf::Bandwidth& bandwidth) {
    const std::string direction =
        bandwidth.direction ? std::string(toString(*bandwidth.direction)) : "all copies";
    WhatIfEffect effect{.change = fmt::format("bandwidth {}: {}x", direction, bandwidth.factor)};
    const auto fits = copyFits(trace_, graph_);
    uint64_t unknown = 0;
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      EmulatedOp& op = graph_.ops[i];
      if (op.gone || op.table != TableId::kCopy) continue;
      const CopyKind kind = trace_.copy.kind[op.row];
      if (bandwidth.direction && *bandwidth.direction != kind) continue;
      count(effect, i);
      const double share = fits.at({op.device, kind}).shareOfSize(trace_.copy.bytes[op.row]);
      unknown += trace_.copy.bytes[op.row] == 0;
      op.work_ns *= 1 - share * (1 - 1 / bandwidth.factor);
    }
    if (unknown > 0) {
      effect.note = fmt::format("{} copies of unknown size are unchanged", unknown);
    }
    return finish(std::move(effect));
  }

  Status streams(uint32_t count) {
    WhatIfEffect effect{.change = fmt::format("streams {}", count)};
    TS_TRY(effect.matched, changeStreams(trace_, graph_, count));
    effect.note = "docs/whatif.md describes the assumptions";
    effects_.push_back(std::move(effect));
    return {};
  }

 private:
  void count(WhatIfEffect& effect, uint32_t i) {
    ++effect.matched;
    effect.recorded_ns += graph_.ops[i].end_ns - graph_.ops[i].begin_ns;
  }

  void removeOperations(uint32_t i) {
    EmulatedOp& op = graph_.ops[i];
    op.gone = true;
    op.work_ns = 0;
    op.demand = op.tail_share = 0;
    op.engine = EmulatedOp::kNone;
    op.group = EmulatedOp::kNone;
    op.unexplained_ns = 0;
    op.earliest_ns = INT64_MIN;
  }

  /// Drops calls whose work is all removed; returns how many were newly dropped.
  uint64_t dropCalls() {
    std::vector<uint32_t> left(trace_.host_call.size(), 0);
    std::vector<bool> any(trace_.host_call.size(), false);
    for (const EmulatedOp& op : graph_.ops) {
      if (op.launch == EmulatedOp::kNone) continue;
      left[op.launch] += op.gone ? 0 : 1;
      any[op.launch] = any[op.launch] || op.gone;
    }
    uint64_t dropped = 0;
    for (HostStep& step : graph_.steps) {
      if (!step.end || !any[step.call] || left[step.call] > 0) continue;
      dropped += step.own_ns != 0;
      step.own_ns = 0;
    }
    // A removed operation is not launched, and its gap in the stream costs nothing.
    std::erase_if(graph_.edges, [&](const EmulatedEdge& edge) {
      return edge.kind == EmulatedEdgeKind::kLaunch && graph_.ops[graph_.opOf(edge.to)].gone;
    });
    for (EmulatedEdge& edge : graph_.edges) {
      if (graph_.isOp(edge.to) && graph_.ops[graph_.opOf(edge.to)].gone) edge.offset_ns = 0;
      const bool overlapped = edge.kind == EmulatedEdgeKind::kOverlap;
      if (overlapped && graph_.ops[graph_.opOf(edge.from)].gone) edge.offset_ns = 0;
    }
    return dropped;
  }

  void removeCalls(const NameSelector& what, WhatIfEffect& effect) {
    const bool host = what.of() == NameSelector::Of::kHost;
    for (HostStep& step : graph_.steps) {
      if (step.end == host || (!host && !what.matches(trace_, trace_.host_call.name[step.call]))) {
        continue;
      }
      ++effect.matched;
      ++effect.calls;
      effect.recorded_ns += step.own_ns;
      step.own_ns = 0;
    }
    if (host) effect.calls = 0;
    // A removed call waits for nothing, but its work is still launched.
    std::erase_if(graph_.edges, [&](const EmulatedEdge& edge) {
      const bool wait =
          edge.kind == EmulatedEdgeKind::kHostWait || edge.kind == EmulatedEdgeKind::kLikelyWait;
      return !host && wait &&
             what.matches(trace_, trace_.host_call.name[graph_.steps[edge.to].call]);
    });
  }

  Status finish(WhatIfEffect effect) {
    if (effect.matched == 0) {
      return fail(ErrorCode::kInvalidArgument,
                  effect.note.empty() ? "nothing in the trace matches; 'tracesmith analyze "
                                        "--kernels --hotspots' shows the names"
                                      : effect.note,
                  effect.change);
    }
    effects_.push_back(std::move(effect));
    return {};
  }

  const Trace& trace_;
  EmulatorGraph& graph_;
  std::vector<WhatIfEffect>& effects_;
};

}  // namespace

ProcessId processOf(const Trace& trace, const EmulatedOp& op) {
  switch (op.table) {
    case TableId::kCopy:
      return trace.copy.process_id[op.row];
    case TableId::kFill:
      return trace.fill.process_id[op.row];
    default:
      return trace.kernel.process_id[op.row];
  }
}

Result<WhatIf> WhatIf::parse(const WhatIfTexts& texts) {
  WhatIf out;
  const auto add = [](const char* option, auto&& parsed, auto& to) -> Status {
    if (!parsed) return fail(parsed.error().code, parsed.error().message, option);
    to.push_back(std::move(*parsed));
    return {};
  };
  for (const std::string& text : texts.scale) {
    TS_CHECK_OK(add("--scale", parseScale(text), out.scale));
  }
  for (const std::string& text : texts.bandwidth) {
    TS_CHECK_OK(add("--bandwidth", parseBandwidth(text), out.bandwidth));
  }
  for (const std::string& text : texts.remove) {
    TS_CHECK_OK(add("--remove", NameSelector::parse(text), out.remove));
  }
  for (const std::string& text : texts.fuse) {
    TS_CHECK_OK(add("--fuse", NameSelector::parse(text), out.fuse));
  }
  if (texts.streams) {
    if (*texts.streams == 0 || *texts.streams > kMostStreams) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("there can be 1 to {}", kMostStreams),
                  "--streams");
    }
    out.streams = static_cast<uint32_t>(*texts.streams);
  }
  return out;
}

Result<WhatIf::Scale> WhatIf::parseScale(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' lacks the factor; write it as 'kernel=gemm:0.5'", text));
  }
  TS_TRY(NameSelector what, NameSelector::parse(text.substr(0, colon)));
  TS_TRY(const double factor, parseFactor(text.substr(colon + 1), text));
  return Scale{std::move(what), factor};
}

Result<WhatIf::Bandwidth> WhatIf::parseBandwidth(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, CopyKind>, 4> kDirections = {
      {{"h2d", CopyKind::kHostToDevice},
       {"d2h", CopyKind::kDeviceToHost},
       {"d2d", CopyKind::kDeviceToDevice},
       {"p2p", CopyKind::kPeerToPeer}}};
  Bandwidth out;
  std::string_view factor = text;
  if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    for (const auto& [word, kind] : kDirections) {
      if (text.substr(0, equals) == word) out.direction = kind;
    }
    if (!out.direction) {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("'{}' is not a direction; use h2d, d2h, d2d or p2p", text.substr(0, equals)));
    }
    factor = text.substr(equals + 1);
  }
  TS_TRY(out.factor, parseFactor(factor, text));
  if (out.factor < 1 / kMostFactor) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': with no bandwidth a copy never ends", text));
  }
  return out;
}

Result<EmulatorGraph> changed(const Trace& trace, const EmulatorGraph& graph, const WhatIf& change,
                              std::vector<WhatIfEffect>& effects) {
  if (change.streams && (*change.streams == 0 || *change.streams > kMostStreams)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} streams; there can be 1 to {}", *change.streams, kMostStreams),
                "--streams");
  }
  EmulatorGraph out = graph;
  Changes changes(trace, out, effects);
  for (const NameSelector& what : change.remove) TS_CHECK_OK(changes.remove(what));
  for (const NameSelector& what : change.fuse) TS_CHECK_OK(changes.fuse(what));
  for (const WhatIf::Scale& scale : change.scale) TS_CHECK_OK(changes.scale(scale));
  for (const WhatIf::Bandwidth& b : change.bandwidth) TS_CHECK_OK(changes.bandwidth(b));
  if (change.streams) TS_CHECK_OK(changes.streams(*change.streams));
  return out;
}

}  // namespace tracesmith
