// SPDX-License-Identifier: Apache-2.0
// Files that people take for what can be imported, by what they hold.
#pragma once

#include <string_view>

namespace tracesmith::import {

/// What a file that begins with `head` is, and what to do about it, as the end of a sentence whose
/// subject is its name; "": it is not known.
std::string_view whyNotImported(std::string_view head);
/// The same of another tool's file alone.
std::string_view whyNotRead(std::string_view head);

}  // namespace tracesmith::import
