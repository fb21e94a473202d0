// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a Perfetto trace.
#include "tracesmith/import/common/importer_fuzz_util.hpp"
#include "tracesmith/import/perfetto/perfetto_importer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tracesmith::test::importBytes(tracesmith::import::kPerfettoImporter, data, size);
  return 0;
}
