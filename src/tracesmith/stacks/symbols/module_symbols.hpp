// SPDX-License-Identifier: Apache-2.0
// What one module knows of its addresses: the function, the line, and what was inlined there. From
// DWARF where there is some, otherwise from symbol tables (.symtab, .dynsym, and the small one that
// distributions put compressed into .gnu_debugdata). Over libdw of elfutils; without it nothing is
// found.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/stacks/symbols/module_files.hpp"

namespace tracesmith {

/// A function at an address, as the module spells it; views live as long as the ModuleSymbols.
struct RawSymbol {
  std::string_view function;  ///< mangled, where the language mangles
  std::string_view file;
  uint32_t line = 0;
};

class ModuleSymbols {
 public:
  /// Takes the file; `files` finds debug information that is apart, and must outlive this.
  ModuleSymbols(FoundFile module, std::string build_id, const ModuleFiles& files);
  ~ModuleSymbols();
  ModuleSymbols(const ModuleSymbols&) = delete;
  ModuleSymbols& operator=(const ModuleSymbols&) = delete;

  /// The functions whose code is at `address` (as the module's file counts), innermost first; the
  /// last one is the function that the code is in. Empty when nothing is known.
  void find(uint64_t address, std::vector<RawSymbol>& out);

  /// kNone when it can be asked.
  NoSymbol state() const { return state_; }
  /// Where debug information was found: the module itself, another file, or "".
  const std::string& debugFile() const { return debug_file_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  NoSymbol state_ = NoSymbol::kNone;
  std::string debug_file_;
};

}  // namespace tracesmith
