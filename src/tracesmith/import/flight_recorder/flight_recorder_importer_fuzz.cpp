// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a dump of PyTorch's Flight Recorder, in pickle and in JSON.
#include "tracesmith/import/common/importer_fuzz_util.hpp"
#include "tracesmith/import/flight_recorder/flight_recorder_importer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tracesmith::test::importBytes(tracesmith::import::kFlightRecorderPickleImporter, data, size);
  tracesmith::test::importBytes(tracesmith::import::kFlightRecorderJsonImporter, data, size);
  return 0;
}
