// SPDX-License-Identifier: Apache-2.0
// The Python interpreter of another process: where its frames lie, and what its code objects say.
// All of it is read from the memory of that process, which runs on meanwhile, so everything is
// checked. Frames themselves are read in the kernel, when a thread is interrupted.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tracesmith/stacks/python/python_layout.hpp"
#include "tracesmith/stacks/python/python_runtime.hpp"
#include "tracesmith/stacks/sampled/process_code.hpp"

namespace tracesmith::stacks {

/// Whether a file may contain an interpreter: "python3.11", "libpython3.13.so.1.0".
bool mayHavePython(std::string_view path);

/// A code object of any process. Texts are UTF-8.
struct SampledPythonCode {
  std::string name;  ///< qualified
  std::string file;
  int32_t first_line = 0;
  std::vector<uint8_t> line_table;  ///< see python_lines.hpp
};
/// Those of all processes, each once, by number from 1.
class SampledPythonCodes {
 public:
  /// Its number; 0: there are too many.
  uint32_t numberOf(SampledPythonCode code);
  const SampledPythonCode& at(uint32_t number) const { return codes_[number - 1]; }
  size_t size() const { return codes_.size(); }
  bool empty() const { return codes_.empty(); }

 private:
  static constexpr size_t kMost = size_t{1} << 18;
  std::vector<SampledPythonCode> codes_;
  std::map<std::tuple<std::string, std::string, int32_t, uint64_t>, uint32_t> numbers_;
};

/// A frame as it was in memory.
struct RawPythonFrame {
  uint64_t instruction = 0;
  uint64_t code = 0;
  uint8_t owner = 0;
  bool is_entry = false;  ///< of 3.11
};

class PythonProcess {
 public:
  /// nullopt: it has none whose frames can be read.
  static std::optional<PythonProcess> find(pid_t pid, ProcessCode& code);
  /// The same of a forked child.
  PythonProcess copyFor(pid_t child) const;

  const PythonLayout& layout() const { return layout_; }
  const PythonInterpreter& interpreter() const { return interpreter_; }
  /// Address of the pointer to the first interpreter.
  uint64_t interpreters() const { return runtime_ + layout_.runtime_interpreters; }

  /// Words of Python frames (packed_frame.hpp), innermost first; false: they were not what they
  /// should be. `frames`: innermost first. What is new is added to `codes`.
  bool wordsOf(std::span<const RawPythonFrame> frames, bool is_cut, SampledPythonCodes& codes,
               std::vector<uint64_t>& out);
  /// Code objects may have changed since they were last read: they are compared before they are
  /// used again.
  void doubt() { ++round_; }

 private:
  enum class Found : uint8_t { kCode, kNothing, kUnreadable };
  /// What distinguishes a code object from another one at its address.
  struct Print {
    uint64_t size = 0, name = 0, file = 0, line_table = 0;
    int32_t first_line = 0, first_traceable = 0;
    bool operator==(const Print&) const = default;
  };
  struct Known {
    Print print;
    uint32_t number = 0;
    uint64_t round = 0;  // in which it was compared
  };
  explicit PythonProcess(pid_t pid) : pid_(pid) {}
  bool readSymbols(ProcessCode& code);
  bool read(uint64_t address, void* out, size_t bytes) const;
  Found printOf(uint64_t code, Print& out) const;
  Found look(uint64_t code, SampledPythonCodes& codes, Known& out);
  SampledPythonCode describe(const Print& print) const;
  std::string textAt(uint64_t address) const;

  pid_t pid_;
  PythonLayout layout_;
  PythonInterpreter interpreter_;
  uint64_t runtime_ = 0;
  uint64_t code_type_ = 0, text_type_ = 0, bytes_type_ = 0;
  std::unordered_map<uint64_t, Known> known_;  // by address
  uint64_t round_ = 1;
};

}  // namespace tracesmith::stacks
