// SPDX-License-Identifier: Apache-2.0
// Words of shell commands that the output shows, so that they can be copied.
#pragma once

#include <string>
#include <string_view>

namespace tracesmith {

/// In quotes for any shell. fish interprets \' inside single quotes, so the quotes are closed for a
/// quote character.
std::string shellQuoted(std::string_view text);
/// The same, without quotes if no shell would interpret a character of it.
std::string shellWord(std::string_view text);

}  // namespace tracesmith
