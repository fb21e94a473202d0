// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/names/cuda_names.hpp"

namespace tracesmith {

std::string_view withoutCudaVersion(std::string_view name) {
  const size_t at = name.rfind("_v");
  if (at == std::string_view::npos) return name;
  const std::string_view digits = name.substr(at + 2);
  const bool version = (digits.size() == 4 || digits.size() == 5) &&
                       digits.find_first_not_of("0123456789") == std::string_view::npos;
  return version ? name.substr(0, at) : name;
}

}  // namespace tracesmith
