// SPDX-License-Identifier: Apache-2.0
// AMD's rocpd databases, as rocprofv3 and rocprof-sys write them since ROCm 7: the tables of a
// process have its UUID in their names, so that one file may hold several. Schemas 3 (times and
// places in the rows) and 4 (in rocpd_timestamp and rocpd_track) are read.
//
// Grids count work-items. The stack id of an event is the same for a call and the work that it
// caused: it is our correlation id.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kRocpdImporter;

}  // namespace tracesmith::import
