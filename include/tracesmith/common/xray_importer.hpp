// SPDX-License-Identifier: Apache-2.0
// The name under which programs include the importer of XRay's logs.
#pragma once

#include "tracesmith/import/xray/xray_importer.hpp"
