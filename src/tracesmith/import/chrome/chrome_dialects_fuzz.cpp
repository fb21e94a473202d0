// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a timeline of Ascend's tools or of mcTracer.
#include "tracesmith/import/chrome/chrome_dialects.hpp"
#include "tracesmith/import/common/importer_fuzz_util.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tracesmith::test::importBytes(tracesmith::import::kAscendImporter, data, size);
  tracesmith::test::importBytes(tracesmith::import::kMcTracerImporter, data, size);
  return 0;
}
