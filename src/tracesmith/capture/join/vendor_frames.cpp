// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/vendor_frames.hpp"

namespace tracesmith {

bool isVendorModule(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return file.starts_with("libcupti.so") || file.starts_with("libcuda.so") ||
         file.starts_with("libcudart.so");
}

}  // namespace tracesmith
