// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/slices/readable_names.hpp"

#include <vector>

#include "tracesmith/base/demangle.hpp"

namespace tracesmith {

ReadableNames::ReadableNames(const Trace& trace) : trace_(trace) {
  std::vector<bool> seen(trace.strings.size() + 1, false);  // numbers begin at 1
  std::vector<StringId> ids;
  std::vector<std::string> names;
  for (const StringId id : trace.kernel.name) {
    const auto number = static_cast<size_t>(id);
    if (number >= seen.size() || seen[number]) continue;
    seen[number] = true;
    const std::string_view name = trace.strings.at(id);
    if (!name.starts_with("_Z")) continue;
    ids.push_back(id);
    names.emplace_back(name);
  }
  std::vector<std::string> texts = demangled(names);
  for (size_t i = 0; i < ids.size(); ++i) demangled_.emplace(ids[i], std::move(texts[i]));
}

}  // namespace tracesmith
