// SPDX-License-Identifier: Apache-2.0
// Imports dumps of PyTorch's Flight Recorder: what a rank's process groups had enqueued, started
// and completed last, usually written when a job hangs (TORCH_FR_BUFFER_SIZE, nccl_trace_rank_N).
// They are Python pickles, or JSON, of versions 1.0 to 2.10 of the format.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kFlightRecorderPickleImporter;
extern const Importer kFlightRecorderJsonImporter;

}  // namespace tracesmith::import
