// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as an export of xctrace.
#include "tracesmith/import/common/importer_fuzz_util.hpp"
#include "tracesmith/import/xctrace/xctrace_importer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tracesmith::test::importBytes(tracesmith::import::kXctraceImporter, data, size);
  return 0;
}
