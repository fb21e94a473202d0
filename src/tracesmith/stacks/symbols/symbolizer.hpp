// SPDX-License-Identifier: Apache-2.0
// Turns addresses into names after the recording. The recorded program only notes each frame's
// module and offset. The symbolizer finds functions, lines and inlined functions, and the reason
// for each frame without a name. Reads local files only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracesmith/model/trace.hpp"
#include "tracesmith/stacks/symbols/module_files.hpp"

namespace tracesmith {

class ModuleSymbols;
struct RawSymbol;

struct ModuleAddress {
  std::string module;    ///< path of the library or program
  std::string build_id;  ///< in hexadecimal; "": none, and then the file may have none either
  uint64_t offset = 0;   ///< ELF virtual address in the file
  bool exact = false;    ///< of an instruction; otherwise a return address, which is after the call
};

/// A function at an address. For outer functions, file and line are those of the inlined call.
struct SymbolizedFrame {
  std::string function;  ///< "": only the line is known
  std::string file;      ///< "": unknown; the line is then 0
  uint32_t line = 0;
};

struct SymbolizerOptions {
  std::vector<std::string> debug_dirs;  ///< searched before /usr/lib/debug; see ModuleFiles
  std::string perf_map_dir = "/tmp";    ///< where just-in-time compilers write their perf maps
};

/// Result of symbolize().
struct SymbolReport {
  uint64_t frames = 0;     ///< in the trace
  uint64_t had_names = 0;  ///< part of `frames`: needed no names, or no better ones were found
  uint64_t named = 0;      ///< got symbols now
  uint64_t replaced = 0;   ///< part of `named`: had less complete ones before
  uint64_t with_line = 0;  ///< part of `named`: with file and line
  uint64_t inlined = 0;    ///< functions inlined at the named frames
  std::array<uint64_t, kNoSymbolCount> unnamed{};  ///< frames without a name, by reason

  struct Module {
    std::string path;
    NoSymbol state = NoSymbol::kNone;  ///< why it has no symbols
    std::string debug_file;            ///< file with its debug information; "": none
    uint64_t frames = 0;
    uint64_t named = 0;
  };
  std::vector<Module> modules;  ///< modules looked up, by path

  uint64_t unnamedInAll() const;
};

/// One thread at a time. Keeps recently used modules open.
class Symbolizer {
 public:
  explicit Symbolizer(SymbolizerOptions options = {});
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  /// Whether this build can read debug information.
  static bool isAvailable();

  /// The functions at an address, innermost first; empty when nothing is known. For thousands of
  /// addresses symbolize() is faster, because it reads each module once, in address order.
  std::vector<SymbolizedFrame> lookup(const ModuleAddress& address);

  /// Appends rows to trace.symbol for frames without names, or with incomplete ones (a function
  /// without a line) that can be improved.
  SymbolReport symbolize(Trace& trace);

 private:
  struct Module {
    NoSymbol state = NoSymbol::kNone;
    std::unique_ptr<ModuleSymbols> symbols;
  };
  class Pass;
  Module& moduleOf(const std::string& path, const std::string& build_id);

  SymbolizerOptions options_;
  ModuleFiles files_;
  std::map<std::pair<std::string, std::string>, Module> modules_;
  std::unordered_map<std::string, std::string> names_;  // for lookup(), by mangled name
};

}  // namespace tracesmith
