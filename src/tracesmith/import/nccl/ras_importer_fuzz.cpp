// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as the status of NCCL's RAS, in text and in JSON.
#include "tracesmith/import/common/importer_fuzz_util.hpp"
#include "tracesmith/import/nccl/ras_importer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tracesmith::test::importBytes(tracesmith::import::kNcclRasJsonImporter, data, size);
  tracesmith::test::importBytes(tracesmith::import::kNcclRasTextImporter, data, size);
  return 0;
}
