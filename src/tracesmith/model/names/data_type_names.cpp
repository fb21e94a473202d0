// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/names/data_type_names.hpp"

#include <utility>

namespace tracesmith {

uint32_t dataTypeBytes(std::string_view data_type) {
  constexpr std::pair<std::string_view, uint32_t> kTypes[] = {
      {"bool", 1},
      {"int8", 1},
      {"uint8", 1},
      {"int16", 2},
      {"uint16", 2},
      {"int32", 4},
      {"uint32", 4},
      {"int64", 8},
      {"uint64", 8},
      {"float8_e4m3", 1},
      {"float8_e5m2", 1},
      {"float8_e4m3fnuz", 1},
      {"float8_e5m2fnuz", 1},
      {"float8_e8m0fnu", 1},
      {"float16", 2},
      {"bfloat16", 2},
      {"float32", 4},
      {"float64", 8},
      {"complex32", 4},
      {"complex64", 8},
      {"complex128", 16},
  };
  for (const auto& [name, bytes] : kTypes) {
    if (data_type == name) return bytes;
  }
  return 0;
}

}  // namespace tracesmith
