// SPDX-License-Identifier: Apache-2.0
// Imports traces of Apple's Instruments, exported with `xctrace export`.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kXctraceImporter;

}  // namespace tracesmith::import
