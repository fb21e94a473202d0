// SPDX-License-Identifier: Apache-2.0
// Bytes as the page unpacks them.
#pragma once

#include <string>
#include <string_view>

namespace tracesmith::studio {

std::string gzip(std::string_view bytes);
std::string base64(std::string_view bytes);

}  // namespace tracesmith::studio
