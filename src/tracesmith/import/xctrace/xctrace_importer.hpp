// SPDX-License-Identifier: Apache-2.0
// Traces of Apple's Instruments, by way of `xctrace export`.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kXctraceImporter;

}  // namespace tracesmith::import
