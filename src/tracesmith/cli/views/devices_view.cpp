// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/devices_view.hpp"

#include <fmt/format.h>

#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/views/devices_advice.hpp"

namespace tracesmith::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

/// "  0  NAME (VENDOR), GPU, 15.6 GiB, 40 compute units, 1500 MHz"; omits what is unknown.
std::string deviceLine(const DeviceRow& device, const StringTable& strings) {
  const auto shown = [&](StringId id) { return printable(strings.at(id)); };
  std::string out = fmt::format("  {:<2} {}", device.ordinal, shown(device.name));
  if (device.kind != DeviceKind::kUnknown) out += fmt::format(", {}", toString(device.kind));
  if (device.memory_bytes > 0) {
    out += fmt::format(", {:.1f} GiB",
                       static_cast<double>(device.memory_bytes) / (1024.0 * 1024.0 * 1024.0));
  }
  if (device.compute_units > 0) out += fmt::format(", {} compute units", device.compute_units);
  if (device.clock_mhz > 0) out += fmt::format(", {} MHz", device.clock_mhz);
  if (device.compute_major > 0) {
    out += fmt::format(", compute capability {}.{}", device.compute_major, device.compute_minor);
  }
  out += "\n";
  const std::string platform = shown(device.platform);
  const std::string api = shown(device.api_version);
  const std::string driver = shown(device.driver_version);
  std::string details = platform;
  if (!api.empty()) details += (details.empty() ? "" : ", ") + api;
  if (!driver.empty()) details += (details.empty() ? "driver " : ", driver ") + driver;
  if (!details.empty()) out += "     " + details + "\n";
  return out;
}

}  // namespace

std::string missingLibrary(const BackendReport& report) {
  std::string out =
      report.problem.empty() ? report.library + " was not found" : printable(report.problem);
  if (!report.looked_in.empty()) out += "; looked in " + joined(report.looked_in);
  return out;
}

std::string devicesText(const std::vector<BackendReport>& reports, bool colour) {
  std::string out;
  for (const BackendReport& report : reports) {
    const bool found = !report.devices.empty();
    std::string name(toString(report.backend));
    name.resize(std::max<size_t>(name.size(), 8), ' ');
    if (colour && found) name = "\x1b[1;32m" + name + "\x1b[0m";
    out += name;
    if (found) {
      out += fmt::format(
          " {} device{}, {}; {}\n", report.devices.size(), report.devices.size() == 1 ? "" : "s",
          report.path.empty() ? report.library : report.path,
          report.capture_supported ? "can be recorded"
                                   : "cannot be recorded: " + printable(report.capture_problem));
      for (const DeviceRow& device : report.devices) out += deviceLine(device, report.strings);
    } else if (!report.library_found) {
      out += " " + missingLibrary(report) + "\n";
    } else {
      out += fmt::format(" no device: {} ({})\n", printable(report.problem),
                         report.path.empty() ? report.library : report.path);
    }
  }
  return out;
}

void writeDevicesJson(JsonWriter& json, const std::vector<BackendReport>& reports) {
  json.beginArray();
  for (const BackendReport& report : reports) {
    json.beginObject()
        .field("backend", toString(report.backend))
        .field("can_be_recorded", report.capture_supported)
        .field("can_not_be_recorded_because", report.capture_problem)
        .field("to_do", adviceFor(report))
        .field("driver_version", report.driver_version)
        .field("library", report.library)
        .field("library_found", report.library_found)
        .field("path", report.path)
        .field("problem", report.problem);
    json.key("looked_in").beginArray();
    for (const std::string& place : report.looked_in) json.value(place);
    json.endArray();
    json.key("devices").beginArray();
    for (const DeviceRow& device : report.devices) {
      const auto text = [&](StringId id) { return report.strings.at(id); };
      json.beginObject()
          .field("ordinal", device.ordinal)
          .field("name", text(device.name))
          .field("vendor", text(device.vendor))
          .field("platform", text(device.platform))
          .field("driver_version", text(device.driver_version))
          .field("api_version", text(device.api_version))
          .field("kind", toString(device.kind))
          .field("memory_bytes", device.memory_bytes)
          .field("compute_units", device.compute_units)
          .field("clock_mhz", device.clock_mhz)
          .field("max_work_group_size", device.max_work_group_size)
          .field("compute_major", device.compute_major)
          .field("compute_minor", device.compute_minor)
          .field("warp_size", device.warp_size)
          .field("max_threads_per_unit", device.max_threads_per_unit)
          .field("memory_clock_mhz", device.memory_clock_mhz)
          .field("memory_bus_bits", device.memory_bus_bits)
          .field("pci_address", text(device.pci_address))
          .field("uuid", text(device.uuid))
          .endObject();
    }
    json.endArray().endObject();
  }
  json.endArray();
}

}  // namespace tracesmith::cli
