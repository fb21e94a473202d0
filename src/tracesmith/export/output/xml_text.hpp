// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tracesmith {

/// Text for XML and HTML, also between quotation marks. Bytes that are not UTF-8, and characters
/// that XML forbids, become U+FFFD or a space.
std::string escapedXml(std::string_view text);

}  // namespace tracesmith
