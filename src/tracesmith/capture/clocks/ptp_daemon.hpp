// SPDX-License-Identifier: Apache-2.0
// Asks ptp4l (linuxptp), where it runs on this host, by its management socket.
//
// What it says is no bound of an offset: its path delay is filtered, so it is not that of the
// exchange that gave the offset, and the uneven part of the path is unknown. So it is shown, and is
// not stored in traces. docs/cluster.md says what it means.
#pragma once

#include <string>

#include "tracesmith/base/result.hpp"
#include "tracesmith/capture/clocks/ptp_management.hpp"

namespace tracesmith {

/// `socket`: path of ptp4l's socket (its option uds_address); "": /var/run/ptp4l, or
/// /var/run/ptp4lro where only that may be used. Tries all domains. kNotFound: no ptp4l listens
/// there; kPermission: its socket may not be used; kIo: it does not answer.
Result<PtpStatus> askPtpDaemon(const std::string& socket = "");

}  // namespace tracesmith
