// SPDX-License-Identifier: Apache-2.0
// A library for python_frames_test.py to load: captures as an agent does, and tells what a
// collector would make of it.
#include <dlfcn.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/stacks/python/merge_python.hpp"
#include "tracesmith/stacks/python/python_frames.hpp"
#include "tracesmith/stacks/python/python_lines.hpp"

using namespace tracesmith;          // NOLINT: a library of few functions
using namespace tracesmith::stacks;  // NOLINT

namespace {

uint32_t g_max_depth = 128;

/// What one thread's agent has, and what the collector knows of it.
class Recorder {
 public:
  Recorder() {
    const CallPathOptions options{.max_depth = g_max_depth};
    paths_ = CallPathCache::make(options, {.path = onPath, .object = nullptr, .context = this});
    python_ = PythonFrames::make(paths_, {.max_depth = g_max_depth},
                                 {.code = onCode, .interpreter = onInterpreter, .context = this});
  }
  ~Recorder() {
    PythonFrames::destroy(python_);
    CallPathCache::destroy(paths_);
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  static Recorder& ofThread() {
    thread_local Recorder recorder;
    return recorder;
  }

  CallPathCache& paths() { return *paths_; }
  PythonFrames& python() { return *python_; }
  uint32_t codeCount() const { return code_count_; }
  bool fails = false;  // as an agent whose ring is full

  void restart() {
    paths_->restart();
    python_->restart();
    nodes_.clear();
    codes_.clear();
    interpreter_ = {};
  }

  /// Innermost first.
  std::vector<uint64_t> words(uint32_t path) const {
    std::vector<uint64_t> words;
    for (uint32_t at = path; at != 0; at = nodes_.at(at).parent)
      words.push_back(nodes_.at(at).word);
    return words;
  }
  NativeFrameKind kindOf(uint64_t word) const { return kindByAddress(interpreter_, word); }

  std::string describe(uint64_t word) const {
    if ((word & kOtherFrame) == 0) {
      Dl_info info;
      const bool known =
          dladdr(reinterpret_cast<void*>((word & kFrameAddressMask) - 1), &info) != 0 &&
          info.dli_sname != nullptr;
      return std::string("N\t") + (known ? info.dli_sname : "?");
    }
    if (stacks::kindOf(word) != FrameWordKind::kPython) return "C";
    const Code& code = codes_.at(pythonCodeOf(word));
    const uint32_t place = pythonPlaceOf(word);
    return "P\t" + code.name + "\t" + code.file + "\t" +
           std::to_string(pythonLocationOf(code.table, code.first_line, place).line) + "\t" +
           std::to_string(place) + "\t" + (isPythonEntry(word) ? "1" : "0");
  }

 private:
  struct Node {
    uint32_t parent;
    uint64_t word;
  };
  struct Code {
    int32_t first_line;
    std::string name;
    std::string file;
    Bytes table;
  };

  static bool onPath(void* context, uint32_t first, uint32_t parent, const uint64_t* frames,
                     uint32_t count) {
    auto& self = *static_cast<Recorder*>(context);
    if (self.fails) return false;
    for (uint32_t i = 0; i < count; ++i) {
      self.nodes_[first + i] = {i == 0 ? parent : first + i - 1, frames[i]};
    }
    return true;
  }
  static bool onCode(void* context, const PythonCode& code) {
    auto& self = *static_cast<Recorder*>(context);
    if (self.fails) return false;
    ++self.code_count_;
    self.codes_[code.number] = {code.first_line, std::string(code.qualified_name),
                                std::string(code.file),
                                Bytes(code.line_table, code.line_table + code.line_table_bytes)};
    return true;
  }
  static bool onInterpreter(void* context, const PythonInterpreter& interpreter) {
    auto& self = *static_cast<Recorder*>(context);
    if (self.fails) return false;
    self.interpreter_ = interpreter;
    return true;
  }

  CallPathCache* paths_ = nullptr;
  PythonFrames* python_ = nullptr;
  std::map<uint32_t, Node> nodes_;
  std::map<uint32_t, Code> codes_;
  PythonInterpreter interpreter_;
  uint32_t code_count_ = 0;
};

thread_local std::string t_answer;

}  // namespace

extern "C" {

/// The Python stack as lines, innermost first; then, after a line "merged AGREES", the merged one.
[[gnu::visibility("default"), gnu::noinline]] const char* probe() {
  Recorder& r = Recorder::ofThread();
  const uint32_t native = kUnwinds ? r.paths().capture(TS_CALLER_START_POINT()) : 0;
  const uint32_t both = r.python().captureOnto(native);
  t_answer.clear();
  if (both == native) return t_answer.c_str();
  const std::vector<uint64_t> words = r.words(both);
  const auto python = static_cast<uint32_t>(words.front() & kFrameAddressMask);
  const std::vector<uint64_t> frames = r.words(python);
  for (const uint64_t word : frames) t_answer += r.describe(word) + "\n";
  const MergedStack merged = mergePython(std::span(words).subspan(1), frames,
                                         [&](uint64_t word) { return r.kindOf(word); });
  t_answer += std::string("merged\t") + (merged.agrees ? "1\n" : "0\n");
  for (const uint64_t word : merged.frames) t_answer += r.describe(word) + "\n";
  return t_answer.c_str();
}

/// The number of the Python stack, and nothing else.
[[gnu::visibility("default")]] unsigned capture() {
  return Recorder::ofThread().python().capture();
}

[[gnu::visibility("default")]] void begin_anew() { Recorder::ofThread().restart(); }
[[gnu::visibility("default")]] void set_fails(int fails) {
  Recorder::ofThread().fails = fails != 0;
}
[[gnu::visibility("default")]] void set_max_depth(unsigned depth) { g_max_depth = depth; }
[[gnu::visibility("default")]] unsigned codes_written() { return Recorder::ofThread().codeCount(); }
[[gnu::visibility("default")]] unsigned codes_held() {
  return Recorder::ofThread().python().codes();
}
[[gnu::visibility("default")]] int status() { return static_cast<int>(pythonStatus()); }

/// Six numbers for each entry of a location table; how many entries there are, or -1.
[[gnu::visibility("default")]] int locations(const uint8_t* table, size_t bytes, int first_line,
                                             int* out, int most) {
  int count = 0;
  const bool whole =
      visitPythonLocations(ByteView(table, bytes), first_line, [&](const PythonLocation& at) {
        if (count == most) return false;
        int* const o = out + 6 * count++;
        o[0] = static_cast<int>(at.begin);
        o[1] = static_cast<int>(at.end);
        o[2] = at.line;
        o[3] = at.end_line;
        o[4] = at.column;
        o[5] = at.end_column;
        return true;
      });
  return whole && count < most ? count : -1;
}

}  // extern "C"
