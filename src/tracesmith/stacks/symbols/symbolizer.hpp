// SPDX-License-Identifier: Apache-2.0
// From addresses to names, after the fact: a recorded program writes down only where in which
// module its frames are, and this finds out what functions and lines those are, what was inlined
// there, and says of everything that it could not name why not. Reads local files only.
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
  std::string build_id;  ///< in hexadecimal; "": it has none, and neither may the file
  uint64_t offset = 0;   ///< as the file has it: its ELF virtual address
  bool exact = false;    ///< of an instruction; otherwise a return address, which lies behind one
};

/// A function at an address. Of outer functions, file and line are those of the call inlined there.
struct SymbolizedFrame {
  std::string function;  ///< "": only the line is known
  std::string file;      ///< "": not known, like line 0
  uint32_t line = 0;
};

struct SymbolizerOptions {
  std::vector<std::string> debug_dirs;  ///< before /usr/lib/debug; see ModuleFiles
  std::string perf_map_dir = "/tmp";    ///< where just-in-time compilers leave their maps
};

/// What came of it.
struct SymbolReport {
  uint64_t frames = 0;     ///< of the trace
  uint64_t had_names = 0;  ///< of those: needed nothing, or nothing better was found
  uint64_t named = 0;      ///< got symbols now
  uint64_t replaced = 0;   ///< of those: had poorer ones before
  uint64_t with_line = 0;  ///< of those that got symbols: with file and line
  uint64_t inlined = 0;    ///< functions that were inlined at them
  std::array<uint64_t, kNoSymbolCount> unnamed{};  ///< frames without a name, by reason

  struct Module {
    std::string path;
    NoSymbol state = NoSymbol::kNone;  ///< why it could not be asked
    std::string debug_file;            ///< where its debug information was; "": it has none
    uint64_t frames = 0;
    uint64_t named = 0;
  };
  std::vector<Module> modules;  ///< that were asked for, by path

  uint64_t unnamedInAll() const;
};

/// One thread at a time. Keeps the modules of its last questions open.
class Symbolizer {
 public:
  explicit Symbolizer(SymbolizerOptions options = {});
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  /// Whether this build can read debug information at all.
  static bool isAvailable();

  /// The functions at an address, innermost first; empty when nothing is known of it. For thousands
  /// of them symbolize() is faster: it goes through each module once, in its order.
  std::vector<SymbolizedFrame> lookup(const ModuleAddress& address);

  /// Appends rows to trace.symbol for the frames that lack names, or whose names can be bettered
  /// (a line where there was only a function); nothing for the others.
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
  std::unordered_map<std::string, std::string> names_;  // of lookup(), by how modules spell them
};

}  // namespace tracesmith
