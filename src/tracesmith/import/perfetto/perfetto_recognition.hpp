// SPDX-License-Identifier: Apache-2.0
// Whether a file is a Perfetto trace. Nothing in the format says so: it is the message Trace, whose
// field 1 is a packet, and field 1 of other formats is a message as well. What tells it from them
// is what lies in the first packets.
#pragma once

#include <string_view>

namespace tracesmith::import {

/// `head`: the first bytes of a file.
bool looksLikePerfetto(std::string_view head);

}  // namespace tracesmith::import
