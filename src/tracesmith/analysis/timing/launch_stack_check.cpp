// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/launch_stack_check.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include "tracesmith/analysis/timing/call_path_costs.hpp"

namespace tracesmith {
namespace {

struct NamedStack {
  std::vector<std::string> names;  // innermost first
  bool whole = true;
};

NamedStack namedStack(const Trace& trace, const FrameSymbols& symbols, CallPathId path) {
  NamedStack stack;
  std::vector<FrameFunction> functions;
  const std::vector<FrameId> frames = framesOf(trace, path);
  for (size_t i = frames.size(); i-- > 0;) {
    if (indexOf(frames[i]) < trace.frame.size() &&
        (trace.frame.flags[indexOf(frames[i])] & frame_flags::kTruncatedBelow) != 0) {
      stack.whole = false;
    }
    symbols.functions(frames[i], functions);
    for (const FrameFunction& f : functions) stack.names.push_back(symbols.label(frames[i], f));
  }
  return stack;
}

std::string inWords(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " < ") + name;
  return text.empty() ? "no stack" : text;
}

}  // namespace

Result<ExpectedStacks> readExpectedStacks(const std::string& path) {
  std::ifstream in(path);
  if (!in) return fail(ErrorCode::kNotFound, "cannot be read", path);
  ExpectedStacks expected;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string what;
    uint32_t number = 0;
    if (!(words >> what >> number) || (what != "path" && what != "launch") ||
        (what == "path" && number != expected.paths.size())) {
      return fail(ErrorCode::kInvalidArgument, "is no list of expected stacks: " + line, path);
    }
    if (what == "launch") {
      expected.launches.push_back(number);
      continue;
    }
    expected.paths.emplace_back();
    for (std::string name; words >> name;) expected.paths.back().push_back(name);
  }
  const auto known = [&](uint32_t number) { return number < expected.paths.size(); };
  if (!std::all_of(expected.launches.begin(), expected.launches.end(), known)) {
    return fail(ErrorCode::kInvalidArgument, "a launch has a path that is not listed", path);
  }
  return expected;
}

LaunchStackCheck checkLaunchStacks(const Trace& trace, const ExpectedStacks& expected) {
  LaunchStackCheck check;
  std::vector<uint32_t> kernels(trace.kernel.size());
  for (uint32_t i = 0; i < kernels.size(); ++i) kernels[i] = i;
  std::sort(kernels.begin(), kernels.end(), [&](uint32_t a, uint32_t b) {
    return trace.kernel.correlation_id[a] < trace.kernel.correlation_id[b];
  });
  const FrameSymbols symbols(trace);
  std::unordered_map<CallPathId, NamedStack> stacks;
  const size_t launches = std::min(kernels.size(), expected.launches.size());
  const size_t before = kernels.size() - launches;
  std::vector<std::string> outside;  // of the first stack: callers of its outermost function
  bool outside_known = false;
  for (size_t i = 0; i < launches; ++i) {
    ++check.launches;
    const CallPathId id = trace.kernel.call_path_id[kernels[before + i]];
    const std::vector<std::string>& wanted = expected.paths[expected.launches[i]];
    const auto [it, is_new] = stacks.try_emplace(id);
    if (is_new && id != CallPathId::kNone) it->second = namedStack(trace, symbols, id);
    const NamedStack& stack = it->second;
    if (!stack.names.empty()) ++check.with_stack;
    check.frames += stack.names.size();
    const auto first = std::find(stack.names.begin(), stack.names.end(), wanted.front());
    const auto there = static_cast<size_t>(stack.names.end() - first);
    bool equal =
        stack.whole && there >= wanted.size() && std::equal(wanted.begin(), wanted.end(), first);
    if (equal) {
      const std::vector<std::string> rest(first + static_cast<ptrdiff_t>(wanted.size()),
                                          stack.names.end());
      if (!outside_known) outside = rest;
      outside_known = true;
      equal = rest == outside;
    }
    if (equal) {
      ++check.equal;
    } else if (check.first_wrong.empty()) {
      check.first_wrong = "launch " + std::to_string(i) + " has " + inWords(stack.names) +
                          ", expected " + inWords(wanted);
    }
  }
  return check;
}

}  // namespace tracesmith
