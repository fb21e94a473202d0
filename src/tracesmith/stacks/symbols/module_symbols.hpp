// SPDX-License-Identifier: Apache-2.0
// Symbols of one module by address: function, line, and inlined functions. They come from DWARF if
// available, otherwise from symbol tables (.symtab, .dynsym, and the small compressed one that
// distributions put in .gnu_debugdata). Uses libdw of elfutils; without it nothing is found.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/stacks/symbols/module_files.hpp"

namespace tracesmith {

/// A function at an address, as named in the module; views are valid as long as the ModuleSymbols.
struct RawSymbol {
  std::string_view function;  ///< mangled, if the language mangles names
  std::string_view file;
  uint32_t line = 0;
};

class ModuleSymbols {
 public:
  /// Takes ownership of the file. `files` finds separate debug information, and must outlive this
  /// object.
  ModuleSymbols(FoundFile module, std::string build_id, const ModuleFiles& files);
  ~ModuleSymbols();
  ModuleSymbols(const ModuleSymbols&) = delete;
  ModuleSymbols& operator=(const ModuleSymbols&) = delete;

  /// The functions at `address` (an address of the module's file), innermost first. The last one is
  /// the function that contains the code; the others are inlined in it. Empty when nothing is
  /// known.
  void find(uint64_t address, std::vector<RawSymbol>& out);

  /// kNone when find() works.
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
