// SPDX-License-Identifier: Apache-2.0
// Sockets to ask a host by UDP.
#pragma once

#include <cstdint>
#include <string>

#include "tracesmith/base/result.hpp"

namespace tracesmith {

/// A socket that does not block, connected to `host`: "name", "name:port", "1.2.3.4:port",
/// "[::1]:port". Connected: the system drops packets from elsewhere, and tells when nobody listens.
/// kInvalidArgument for what is no host; kNotFound if its name is not known.
Result<int> connectUdp(const std::string& host, uint16_t default_port);

/// A number for a question, which nobody guesses who does not see the packets.
uint64_t newNonce();

}  // namespace tracesmith
