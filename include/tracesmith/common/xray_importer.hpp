// SPDX-License-Identifier: Apache-2.0
// Public header of the importer for XRay logs.
#pragma once

#include "tracesmith/import/xray/xray_importer.hpp"
