// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as an execution trace of PyTorch or Chakra.
#include "tracesmith/import/common/importer_fuzz_util.hpp"
#include "tracesmith/import/execution_trace/execution_trace_importer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tracesmith::test::importBytes(tracesmith::import::kPyTorchExecutionTraceImporter, data, size);
  tracesmith::test::importBytes(tracesmith::import::kChakraJsonImporter, data, size);
  tracesmith::test::importBytes(tracesmith::import::kChakraImporter, data, size);
  return 0;
}
