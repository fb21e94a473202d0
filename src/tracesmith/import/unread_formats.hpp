// SPDX-License-Identifier: Apache-2.0
// Recognises files that users may try to import but that are not supported, by their content.
#pragma once

#include <string_view>

namespace tracesmith::import {

/// Says what a file that starts with `head` is, and what to do about it. The text completes a
/// sentence whose subject is the file name. "" if the file is not recognised.
std::string_view whyNotImported(std::string_view head);
/// The same, but only for files of other tools.
std::string_view whyNotRead(std::string_view head);

}  // namespace tracesmith::import
