// SPDX-License-Identifier: Apache-2.0
// The backends' reports, for people and as JSON. Used by `devices` and `info`.
#pragma once

#include <string>
#include <vector>

#include "tracesmith/capture/devices/devices.hpp"
#include "tracesmith/export/output/json_writer.hpp"

namespace tracesmith::cli {

/// "libcuda.so.1 is not installed; looked in /usr/lib, /lib"
std::string missingLibrary(const BackendReport& report);

/// One paragraph per backend; `colour` highlights what was found.
std::string devicesText(const std::vector<BackendReport>& reports, bool colour);

/// An array with one object per backend.
void writeDevicesJson(JsonWriter& json, const std::vector<BackendReport>& reports);

}  // namespace tracesmith::cli
