// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "calls.hpp"
#include "errors.hpp"
#include "events.hpp"
#include "tracesmith/export/sbt/joined_events.hpp"

namespace tracesmith::python {

namespace nb = nanobind;

void bindJoins(nb::module_& m) {
  m.def(
      "join_events",
      [](const nb::object& source, const std::vector<TraceEvent>& events,
         const std::vector<CounterEvent>& counters, int64_t unix_minus_monotonic_ns,
         const nb::object& output) {
        const std::string from = pathOf(source), to = pathOf(output);
        check(interruptible([&] {
          return joinEvents(from,
                            {.events = events,
                             .counters = counters,
                             .pid = static_cast<uint32_t>(getpid()),
                             .unix_minus_monotonic_ns = unix_minus_monotonic_ns},
                            to);
        }));
      },
      nb::arg("source"), nb::arg("events"), nb::arg("counters"), nb::arg("unix_minus_monotonic_ns"),
      nb::arg("output"));
}

}  // namespace tracesmith::python
