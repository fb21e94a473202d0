// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/launch_range.hpp"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <unordered_map>

#include "tracesmith/base/name_pattern.hpp"

namespace tracesmith {
namespace {

struct Bounds {
  int64_t first = 0;
  int64_t last = 0;
};

std::optional<Bounds> bounds(std::string_view text) {
  Bounds b;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, b.first);
  if (first.ec != std::errc() || first.ptr == end) return std::nullopt;
  const auto last = std::from_chars(first.ptr + 1, end, b.last);
  if (last.ec != std::errc()) return std::nullopt;
  return b;
}

}  // namespace

Result<std::vector<LaunchRange>> launchRanges(const ReplayPlan& plan, std::string_view range) {
  const size_t space = range.find(' ');
  const std::string_view kind = range.substr(0, space);
  const std::string value(space == std::string_view::npos ? "" : range.substr(space + 1));
  const auto refuse = [&](const char* why) {
    return fail(ErrorCode::kInvalidArgument, why, std::string(range));
  };
  std::function<bool(const ReplayStep&)> within;
  std::vector<uint32_t> steps(plan.launches() + 1, 1);  // step of each launch
  std::unordered_map<ObjectIndex, bool> matches;
  const auto b = bounds(value);
  if (kind == "kernel") {
    TS_TRY(const NamePattern pattern, NamePattern::parse(value, range));
    within = [&plan, &matches, pattern](const ReplayStep& step) {
      const auto [it, is_new] = matches.try_emplace(step.object, false);
      if (is_new) it->second = pattern.matches(plan.kernelName(step));
      return it->second;
    };
  } else if (!b) {
    return refuse("is not a range of a recording: launch, time, kernel or step");
  } else if (kind == "launch") {
    within = [&](const ReplayStep& step) {
      return step.launch >= b->first && step.launch <= b->last;
    };
  } else if (kind == "time") {
    within = [&](const ReplayStep& step) {
      return step.header.start_ns >= b->first && step.header.start_ns <= b->last;
    };
  } else if (kind == "step") {
    uint32_t number = 1;
    uint32_t launched_before = 0;  // number of launches before the step
    for (const ReplayStep& step : plan.steps()) {
      const bool launched = step.kind() == recording::CommandKind::kLaunch;
      // A failed launch has the number of the launch before it.
      if (launched && step.header.result == 0) steps[step.launch] = number;
      if (step.kind() == recording::CommandKind::kFinish && step.launch > launched_before) {
        ++number;
        launched_before = step.launch;
      }
    }
    within = [&](const ReplayStep& step) {
      return steps[step.launch] >= b->first && steps[step.launch] <= b->last;
    };
  } else {
    return refuse("is not a range of a recording: launch, time, kernel or step");
  }
  std::vector<LaunchRange> ranges;
  for (uint32_t launch = 1; launch <= plan.launches(); ++launch) {
    if (!within(plan.step(plan.launch(launch)))) continue;
    if (!ranges.empty() && ranges.back().last + 1 == launch) {
      ranges.back().last = launch;
    } else {
      ranges.push_back({launch, launch});
    }
  }
  if (ranges.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("contains none of the {} launches", plan.launches()),
                std::string(range));
  }
  return ranges;
}

}  // namespace tracesmith
