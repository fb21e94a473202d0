// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a pickle.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tracesmith/import/flight_recorder/pickle.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostBytes = 1u << 16;
  const auto pickle = tracesmith::import::Pickle::read({reinterpret_cast<const char*>(data), size});
  if (!pickle) return 0;
  if (pickle->usedBytes() > size) std::abort();
  std::string json;
  const bool fits = pickle->appendJson(pickle->root(), kMostBytes, json);
  // The last value that was appended may be as large as everything may be.
  if (fits ? json.size() > kMostBytes : json.size() > 8 * kMostBytes) std::abort();
  return 0;
}
