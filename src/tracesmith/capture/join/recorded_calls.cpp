// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/recorded_calls.hpp"

#include <algorithm>
#include <limits>

namespace tracesmith {
namespace {

// A deeper stack has lost exits; searching all of it for each exit would take too long.
constexpr size_t kMaxSearchDepth = 4096;
constexpr size_t kDeepest = 1u << 20;
constexpr uint32_t kMostFunctions = 1u << 28;

}  // namespace

bool RecordedCalls::addProgram(ByteView record) {
  const auto r = loadFixed<arena::XRayProgramRecord>(record.data());
  if (r.header.aux > record.size() - sizeof r) return false;
  const std::string path(reinterpret_cast<const char*>(record.data()) + sizeof r, r.header.aux);
  switch (static_cast<arena::XRayState>(r.header.flags)) {
    case arena::XRayState::kPatching: {
      // An exec has replaced the program.
      finish();
      names_.clear();
      delta_.object.push({.process_id = process_,
                          .kind = ObjectKind::kXRayProgram,
                          .name = delta_.strings.intern(path)});
      nameBy(path);
      return true;
    }
    case arena::XRayState::kPatched:
      return true;
    case arena::XRayState::kNoSymbols:
      problem_ = "no function was traced: the symbol table of " + path +
                 " does not name XRay's runtime (is it stripped?)";
      return true;
    case arena::XRayState::kRefused:
      problem_ = "no function was traced: XRay's runtime could not change the code of " + path;
      return true;
  }
  return false;
}

void RecordedCalls::nameBy(const std::string& path) {
  program_seen_ = true;
  problem_.clear();
  const Result<XRaySymbols>& symbols = programs_.functionsOf(path);
  symbols_ = symbols ? &*symbols : nullptr;
  if (!symbols) problem_ = "functions have numbers for names: " + symbols.error().toString();
}

StringId RecordedCalls::nameOf(uint32_t function) {
  if (function < names_.size() && names_[function] != StringId{}) return names_[function];
  StringId name{};
  const auto number = static_cast<int32_t>(function);
  const std::string known =
      symbols_ != nullptr && function < kMostFunctions ? symbols_->name(number) : "";
  name = delta_.strings.intern(known.empty() ? "function #" + std::to_string(function) : known);
  if (function < kMostFunctions && function <= names_.size() * 2 + 4096) {
    if (function >= names_.size()) names_.resize(function + 1);
    names_[function] = name;
  }
  return name;
}

void RecordedCalls::pop(Thread& thread, int64_t end_ns) {
  const Frame frame = thread.frames.back();
  thread.frames.pop_back();
  ++totals_.calls;
  const int64_t duration_ns = std::max<int64_t>(0, end_ns - frame.begin_ns);
  if (duration_ns < shortest_ns_) {
    ++totals_.too_short;
    return;
  }
  ++totals_.kept;
  if (category_ == StringId{}) category_ = delta_.strings.intern(kCategory);
  delta_.range.push({.start_ns = frame.begin_ns,
                     .duration_ns = duration_ns,
                     .name = nameOf(frame.function),
                     .category = category_,
                     .process_id = process_,
                     .thread_id = thread.id});
}

void RecordedCalls::add(const arena::FunctionRecord& record, int64_t time_ns, uint32_t tid,
                        ThreadId thread_id) {
  if (last_ == nullptr || last_tid_ != tid) {
    last_ = &threads_[tid];
    last_tid_ = tid;
    last_->id = thread_id;
  }
  Thread& thread = *last_;
  if ((record.header.flags & arena::kFlagFirst) != 0) leaveAll(thread);
  thread.last_ns = time_ns;
  const uint32_t function = record.header.aux;
  const uint8_t event = record.header.flags & ~arena::kFlagFirst;
  if (static_cast<arena::FunctionEvent>(event) == arena::FunctionEvent::kEntry) {
    if (thread.frames.size() == kDeepest) {
      ++totals_.open;
      pop(thread, time_ns);
    }
    thread.frames.push_back({function, time_ns});
    return;
  }
  auto& frames = thread.frames;
  if (frames.empty() || frames.back().function != function) {
    const size_t look = std::min(frames.size(), kMaxSearchDepth);
    const auto end = frames.rbegin() + static_cast<std::ptrdiff_t>(look);
    const auto found =
        std::find_if(frames.rbegin(), end, [&](const Frame& f) { return f.function == function; });
    if (found == end) {
      ++totals_.without_start;
      return;
    }
    for (auto i = found - frames.rbegin(); i > 0; --i) {
      ++totals_.with_caller;
      pop(thread, time_ns);
    }
  }
  pop(thread, time_ns);
}

void RecordedCalls::leaveAll(Thread& thread) {
  while (!thread.frames.empty()) {
    ++totals_.open;
    pop(thread, thread.last_ns);
  }
}

void RecordedCalls::finish() {
  for (auto& [tid, thread] : threads_) leaveAll(thread);
  threads_.clear();
  last_ = nullptr;
}

}  // namespace tracesmith
