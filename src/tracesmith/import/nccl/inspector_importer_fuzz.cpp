// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a file of NCCL Inspector.
#include "tracesmith/import/common/importer_fuzz_util.hpp"
#include "tracesmith/import/nccl/inspector_importer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tracesmith::test::importBytes(tracesmith::import::kNcclInspectorImporter, data, size);
  return 0;
}
