// SPDX-License-Identifier: Apache-2.0
// Imports AMD's rocpd databases, which rocprofv3 and rocprof-sys write since ROCm 7. The table
// names of a process contain its UUID, so one file may hold several processes. Supported schemas: 3
// (rows hold their own times and tracks) and 4 (rows refer to rocpd_timestamp and rocpd_track).
//
// Grid sizes are in work-items. A call and the work it caused share one stack id, which becomes the
// correlation id.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kRocpdImporter;

}  // namespace tracesmith::import
