// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/kernel_symbols.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <unordered_map>

namespace tracesmith {

KernelSymbols KernelSymbols::read(const std::string& path) {
  KernelSymbols out;
  out.texts_.push_back('\0');  // the empty name
  std::unordered_map<std::string, uint32_t> modules;
  std::ifstream in(path);
  // ffffffff81000000 T _text	[module]
  for (std::string line; std::getline(in, line);) {
    const char* const end = line.data() + line.size();
    uint64_t address = 0;
    const auto [at, error] = std::from_chars(line.data(), end, address, 16);
    if (error != std::errc() || address == 0 || end - at < 4) continue;
    if (at[1] != 't' && at[1] != 'T' && at[1] != 'w' && at[1] != 'W') continue;
    std::string_view name(at + 3, static_cast<size_t>(end - (at + 3)));
    uint32_t module = 0;
    if (const size_t tab = name.find('\t'); tab != std::string_view::npos) {
      const std::string text(name.substr(tab + 1));
      const auto [known, is_new] =
          modules.try_emplace(text, static_cast<uint32_t>(out.texts_.size()));
      if (is_new) out.texts_.append(text).push_back('\0');
      module = known->second;
      name = name.substr(0, tab);
    }
    out.symbols_.push_back({address, static_cast<uint32_t>(out.texts_.size()), module});
    out.texts_.append(name).push_back('\0');
  }
  std::stable_sort(out.symbols_.begin(), out.symbols_.end(),
                   [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  return out;
}

bool KernelSymbols::areVisible() {
  std::ifstream in("/proc/kallsyms");
  std::string line;
  // On some processors the first symbols are at 0 in any case.
  for (int i = 0; i < 1000 && std::getline(in, line); ++i) {
    if (line.find_first_not_of('0') < line.find(' ')) return true;
  }
  return false;
}

KernelSymbols::Symbol KernelSymbols::find(uint64_t address) const {
  constexpr uint64_t kLargestFunction = uint64_t{1} << 20;  // behind it is code without a name
  const auto after =
      std::upper_bound(symbols_.begin(), symbols_.end(), address,
                       [](uint64_t value, const Entry& entry) { return value < entry.begin; });
  if (after == symbols_.begin()) return {};
  const Entry& entry = *std::prev(after);
  if (address - entry.begin > kLargestFunction) return {};
  return {.name = texts_.data() + entry.name,
          .module = texts_.data() + entry.module,
          .begin = entry.begin};
}

}  // namespace tracesmith
