// SPDX-License-Identifier: Apache-2.0
// Imports the status of a job as NCCL's RAS gives it, in text and in JSON (`ncclras`, `ncclras -f
// json`): which communicators there are, how many collectives each rank has launched, and which
// ranks do not answer. NCCL 2.24 to 2.31; JSON since 2.28.7.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kNcclRasJsonImporter;
extern const Importer kNcclRasTextImporter;

}  // namespace tracesmith::import
