// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/findings/kernel_label.hpp"

namespace tracesmith::findings {

std::string kernelLabel(std::string_view name) {
  constexpr size_t kLongest = 48;
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string plain;
  int depth = 0;  // of template arguments
  for (size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
      continue;
    }
    const char c = name[i];
    if (c == '<') ++depth;
    if (depth == 0 && c == '(') break;
    if (depth == 0) plain += c;
    if (c == '>' && depth > 0) --depth;
  }
  while (plain.ends_with(' ')) plain.pop_back();
  if (const size_t at = plain.rfind("::"); at != std::string::npos) {
    plain = plain.substr(at + 2);
  } else if (const size_t space = plain.rfind(' '); space != std::string::npos) {
    plain = plain.substr(space + 1);
  }
  if (plain.empty()) plain = name;
  if (plain.size() > kLongest) plain = plain.substr(0, kLongest - 1) + "…";
  return plain;
}

}  // namespace tracesmith::findings
