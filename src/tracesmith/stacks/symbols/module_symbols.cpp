// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/symbols/module_symbols.hpp"

#include "tracesmith/stacks/symbols/symbolizer.hpp"

#ifdef TRACESMITH_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "tracesmith/stacks/symbols/function_index.hpp"
#include "tracesmith/stacks/symbols/symbol_index.hpp"

namespace tracesmith {
namespace {

const char* textOr(const char* text, const char* otherwise) {
  return text == nullptr ? otherwise : text;
}

int noElf(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) { return -1; }

/// Input of find_debuginfo.
struct DebugSearch {
  const ModuleFiles* files;
  std::string module;
  std::string build_id;
  std::string found;
};

int findDebugInformation(Dwfl_Module*, void** user_data, const char*, Dwarf_Addr, const char*,
                         const char* link, GElf_Word link_crc, char** file_name) {
  auto* search = static_cast<DebugSearch*>(*user_data);
  if (search == nullptr) return -1;
  FoundFile found =
      search->files->debugInformation(search->module, search->build_id, textOr(link, ""), link_crc);
  if (!found.file) return -1;
  search->found = found.path;
  *file_name = ::strdup(found.path.c_str());
  return found.file.release();
}

/// The standard callbacks would ask a debuginfod server.
const Dwfl_Callbacks kCallbacks = {.find_elf = noElf,
                                   .find_debuginfo = findDebugInformation,
                                   .section_address = dwfl_offline_section_address,
                                   .debuginfo_path = nullptr};

}  // namespace

struct ModuleSymbols::Impl {
  ~Impl() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }

  bool open(FoundFile found) {
    dwfl = dwfl_begin(&kCallbacks);
    if (dwfl == nullptr) return false;
    dwfl_report_begin(dwfl);
    module = dwfl_report_offline(dwfl, found.path.c_str(), found.path.c_str(), found.file.fd());
    if (module == nullptr) return false;
    found.file.release();  // libdwfl owns the file now
    dwfl_report_end(dwfl, nullptr, nullptr);
    void** user_data = nullptr;
    dwfl_module_info(module, &user_data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    *user_data = &search;
    if (dwfl_module_getelf(module, &bias) == nullptr) return false;
    Dwarf_Addr debug_bias = 0;
    if (Dwarf* dwarf = dwfl_module_getdwarf(module, &debug_bias); dwarf != nullptr) {
      to_debug = bias - debug_bias;
      functions.emplace(dwarf);
    }
    symbols.emplace(module, bias);
    return true;
  }

  Dwfl* dwfl = nullptr;
  Dwfl_Module* module = nullptr;
  DebugSearch search;
  GElf_Addr bias = 0;
  uint64_t to_debug = 0;  // offset from the file's addresses to those of the debug information
  std::optional<FunctionIndex> functions;
  std::optional<SymbolIndex> symbols;
};

ModuleSymbols::ModuleSymbols(FoundFile module, std::string build_id, const ModuleFiles& files)
    : impl_(std::make_unique<Impl>()) {
  impl_->search = {&files, module.path, std::move(build_id), module.path};
  if (!impl_->open(std::move(module))) {
    impl_.reset();
    state_ = NoSymbol::kUnreadable;
    return;
  }
  if (impl_->functions) debug_file_ = impl_->search.found;
}

ModuleSymbols::~ModuleSymbols() = default;

void ModuleSymbols::find(uint64_t address, std::vector<RawSymbol>& out) {
  out.clear();
  if (!impl_) return;
  const std::string_view symbol = impl_->symbols->find(address);
  if (impl_->functions) impl_->functions->find(address + impl_->to_debug, out);
  if (out.empty()) {
    if (!symbol.empty()) out.push_back({symbol, {}, 0});
    return;
  }
  // Debug information of assembler code and of some compilers has lines, but lacks the linker's
  // name.
  RawSymbol& real = out.back();
  if (real.function.empty() || (!real.function.starts_with("_Z") && symbol.starts_with("_Z"))) {
    // In a mangled name a dot only starts the suffix of a compiler's clone ("….isra.0").
    const bool mangled = symbol.starts_with("_Z");
    if (!symbol.empty()) real.function = mangled ? symbol.substr(0, symbol.find('.')) : symbol;
  }
  if (out.size() == 1 && real.function.empty()) out.clear();
}

bool Symbolizer::isAvailable() { return true; }

bool readBuildId(int fd, std::string& build_id) {
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  const bool is_elf = elf != nullptr && elf_kind(elf) == ELF_K_ELF;
  const void* bits = nullptr;
  build_id.clear();
  if (is_elf) {
    const ssize_t size = dwelf_elf_gnu_build_id(elf, &bits);
    constexpr char kDigits[] = "0123456789abcdef";
    for (ssize_t i = 0; i < size; ++i) {
      const uint8_t byte = static_cast<const uint8_t*>(bits)[i];
      build_id += kDigits[byte >> 4];
      build_id += kDigits[byte & 15];
    }
  }
  if (elf != nullptr) elf_end(elf);
  return is_elf;
}

}  // namespace tracesmith

#else

namespace tracesmith {

struct ModuleSymbols::Impl {};
ModuleSymbols::ModuleSymbols(FoundFile, std::string, const ModuleFiles&)
    : state_(NoSymbol::kNoReader) {}
ModuleSymbols::~ModuleSymbols() = default;
void ModuleSymbols::find(uint64_t, std::vector<RawSymbol>& out) { out.clear(); }
bool Symbolizer::isAvailable() { return false; }
bool readBuildId(int, std::string&) { return false; }

}  // namespace tracesmith

#endif
