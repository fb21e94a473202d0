// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/query/columns/value.hpp"

#include <fmt/format.h>

namespace tracesmith {

std::string toText(const Value& value) {
  switch (value.type) {
    case ValueType::kNull:
      return {};
    case ValueType::kInteger:
      return fmt::format_int(value.integer).str();
    case ValueType::kReal:
      return fmt::format("{}", value.real);
    case ValueType::kText:
      return std::string(value.text);
    case ValueType::kLarge:
      return fmt::format_int(static_cast<uint64_t>(value.integer)).str();
  }
  return {};
}

}  // namespace tracesmith
