// SPDX-License-Identifier: Apache-2.0
// Recognises Perfetto traces. The format has no magic number: a file is the message Trace, whose
// field 1 is a packet, and other formats also have a message in field 1. The content of the first
// packets decides.
#pragma once

#include <string_view>

namespace tracesmith::import {

/// `head`: the first bytes of a file.
bool looksLikePerfetto(std::string_view head);

}  // namespace tracesmith::import
