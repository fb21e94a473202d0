// SPDX-License-Identifier: Apache-2.0
// Fuzz target: reads any bytes as a document with several window sizes; undamaged documents must
// give the same events.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tracesmith/import/json/json_events.hpp"

using namespace tracesmith;          // NOLINT: a program of few functions
using namespace tracesmith::import;  // NOLINT

namespace {

struct Got {
  bool ok = false;
  bool damaged = false;
  uint64_t events = 0;
  uint64_t hash = 0;
};

Got read(std::span<const uint8_t> bytes, size_t window) {
  MemorySource source(bytes);
  JsonEvents events(source, window);
  Got got;
  std::string room;
  got.ok = bool(events.run([](std::string_view, std::string_view) {},
                           [&](const ChromeEvent& event) {
                             ++got.events;
                             int64_t ns = 0;
                             event[EventField::kTime].nanoseconds(1000, ns);
                             got.hash = got.hash * 31 +
                                        textOf(event[EventField::kName], room).size() +
                                        static_cast<uint64_t>(ns) + event.values.size();
                           }));
  got.damaged = !events.damage().empty();
  if (events.documentBytes() > bytes.size()) std::abort();
  return got;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const Got whole = read(bytes, 1u << 16);
  const Got small = read(bytes, 256);
  if (whole.ok && small.ok && !whole.damaged && !small.damaged &&
      (whole.events != small.events || whole.hash != small.hash)) {
    std::abort();
  }
  return 0;
}
