// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/this_system.hpp"

#ifndef TRACESMITH_READING_ONLY
#include "tracesmith/capture/devices/devices.hpp"
#include "tracesmith/capture/devices/machine_topology.hpp"
#include "tracesmith/cli/views/devices_view.hpp"
#include "tracesmith/cli/views/system_facts.hpp"
#endif

namespace tracesmith::cli {

#ifndef TRACESMITH_READING_ONLY
Status describeThisSystem(bool json, bool colour, Output& out) {
  const SystemFacts facts = systemFacts();
  const std::vector<BackendReport> reports = probeBackends();
  if (!json) {
    out.write(systemText(facts));
    out.put('\n');
    out.write(devicesText(reports, colour));
    return {};
  }
  JsonWriter writer(out, 2);
  writer.beginObject();
  writeSystemJson(writer, facts);
  writer.key("backends");
  writeDevicesJson(writer, reports);
  writer.endObject();
  out.put('\n');
  return {};
}

Result<topology::Topology> topologyOfThisSystem() { return machineTopology(); }
#else
Status describeThisSystem(bool, bool, Output&) {
  return fail(
      ErrorCode::kUnsupported,
      "needs a trace or a recording: this build only reads traces, and cannot say what this "
      "system can record",
      "info");
}

Result<topology::Topology> topologyOfThisSystem() {
  return fail(ErrorCode::kUnsupported,
              "needs --from FILE: this build only reads files, and cannot ask this system",
              "topology");
}
#endif

}  // namespace tracesmith::cli
