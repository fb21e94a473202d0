// SPDX-License-Identifier: Apache-2.0
// A kernel's name without return type, namespaces, template arguments and parameters.
#pragma once

#include <string>
#include <string_view>

namespace tracesmith::findings {

/// "void at::native::(anonymous namespace)::softmax<float>(float*)" -> "softmax". Names without
/// such parts are returned as they are, cut to 48 bytes.
std::string kernelLabel(std::string_view name);

}  // namespace tracesmith::findings
