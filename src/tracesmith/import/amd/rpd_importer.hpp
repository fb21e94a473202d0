// SPDX-License-Identifier: Apache-2.0
// AMD's rocmProfileData (RPD, schema version 2): calls (rocpd_api), device operations (rocpd_op)
// and which call caused which (rocpd_api_ops, whose api_id is our correlation id). Not to be taken
// for the rocpd databases of rocprofv3, whose tables have the same prefix and a UUID behind it
// (import/amd/rocpd_importer.hpp).
//
// Grids are as the launching function counts them: hipExtModuleLaunchKernel and its kin in
// work-items, all others in blocks.
#pragma once

#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

extern const Importer kRpdImporter;

}  // namespace tracesmith::import
