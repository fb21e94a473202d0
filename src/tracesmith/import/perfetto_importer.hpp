// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf traces, ours and others'.
#pragma once

#include "tracesmith/import/importer.hpp"

namespace tracesmith::import {

extern const Importer kPerfettoImporter;

}  // namespace tracesmith::import
