// SPDX-License-Identifier: Apache-2.0
// Imports AMD's rocmProfileData (RPD, schema version 2): calls (rocpd_api), device operations
// (rocpd_op), and which call caused which operation (rocpd_api_ops, whose api_id is the correlation
// id). Do not confuse it with the rocpd databases of rocprofv3, whose table names have the same
// prefix followed by a UUID (import/amd/rocpd_importer.hpp).
//
// Grid units depend on the launching function: work-items for hipExtModuleLaunchKernel and its
// variants, blocks for all others.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kRpdImporter;

}  // namespace tracesmith::import
