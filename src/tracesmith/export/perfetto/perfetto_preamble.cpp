// SPDX-License-Identifier: Apache-2.0
// Writes the first and last packets of a Perfetto file: clocks, devices, processes, and losses.
#include <fmt/format.h>

#include <unordered_map>

#include "tracesmith/base/version.hpp"
#include "tracesmith/export/perfetto/perfetto_encoder.hpp"

namespace tracesmith::perfetto {
namespace {

std::string_view baseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// The 16 bytes of a UUID given as text ("GPU-0123...", with or without dashes); empty if it is not
/// a UUID.
std::string uuidBytes(std::string_view text) {
  if (text.substr(0, 4) == "GPU-") text.remove_prefix(4);
  std::string bytes;
  int high = -1;
  for (char c : text) {
    if (c == '-') continue;
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return {};
    if (high < 0) {
      high = digit;
    } else {
      bytes += static_cast<char>(high << 4 | digit);
      high = -1;
    }
  }
  return bytes.size() == 16 && high < 0 ? bytes : std::string();
}

}  // namespace

uint32_t Encoder::pidOf(ProcessId process) const {
  const auto p = static_cast<size_t>(process);
  return p == 0 || p > trace_.process.size() ? 0 : trace_.process.pid[p - 1];
}

uint64_t Encoder::processUuid(ProcessId process) const {
  const auto p = static_cast<size_t>(process);
  if (p == 0 || p > trace_.process.size()) return 0;
  return packets_.uuid(TrackKind::kProcess, p);
}

void Encoder::writePreamble() {
  main_.id = packets_.nextSequence();
  describeClocks();
  describeDevices();
  for (size_t i = 0; i < trace_.process.size(); ++i) describeProcess(i);
}

/// Writes the clock of the times, and readings of other clocks at one moment. This must precede all
/// packets with times, because a viewer determines how clocks relate at the first one.
void Encoder::describeClocks() {
  packets_.packet(160, [&](proto::Cursor& c) {
    c.uint<packet::kSequenceId>(main_.id);
    c.uint<packet::kSequenceFlags>(packet::kIncrementalStateCleared);
    c.uint<packet::kFirstOnSequence>(1);
    c.message<packet::kClockSnapshot>([&] {
      const auto reading = [&](uint64_t id, uint64_t ns) {
        c.message<clock::kClocks>([&] {
          c.uint<clock::kClockId>(id);
          c.uint<clock::kTimestamp>(ns);
        });
      };
      reading(clock_.id, packets_.time(clock_.moment_ns));
      for (const TraceClock::Reading& other : clock_.readings) {
        reading(other.clock, static_cast<uint64_t>(other.ns));
      }
      c.uint<clock::kPrimaryTraceClock>(clock_.id);
    });
  });
}

void Encoder::describeDevices() {
  const DeviceTable& devices = trace_.device;
  if (devices.empty()) return;
  size_t bound = 64;
  for (size_t i = 0; i < devices.size(); ++i) {
    for (StringId id :
         {devices.name[i], devices.vendor[i], devices.platform[i], devices.driver_version[i],
          devices.api_version[i], devices.uuid[i], devices.pci_address[i]}) {
      bound += 2 * proto::textBound(text(id).size());
    }
    bound += 640;
  }
  packets_.packet(bound, [&](proto::Cursor& c) {
    c.uint<packet::kSequenceId>(main_.id);
    c.message<packet::kGpuInfo>([&] {
      for (size_t i = 0; i < devices.size(); ++i) {
        c.message<gpu::kGpus>([&] {
          c.text<gpu::kName>(text(devices.name[i]));
          c.text<gpu::kVendor>(text(devices.vendor[i]));
          if (devices.compute_major[i] != 0) {
            c.text<gpu::kArchitecture>(
                fmt::format("sm_{}{}", devices.compute_major[i], devices.compute_minor[i]));
          }
          const std::string uuid = uuidBytes(text(devices.uuid[i]));
          if (!uuid.empty()) c.text<gpu::kUuid>(uuid);
          const auto extra = [&](std::string_view key, std::string_view value) {
            if (value.empty()) return;
            c.message<gpu::kExtraInfo>([&] {
              c.text<gpu::kKey>(key);
              c.text<gpu::kValue>(value);
            });
          };
          const auto figure = [&](std::string_view key, uint64_t value) {
            if (value != 0) extra(key, std::to_string(value));
          };
          extra("kind", toString(devices.kind[i]));
          extra("backend", toString(devices.backend[i]));
          extra("platform", text(devices.platform[i]));
          extra("driver_version", text(devices.driver_version[i]));
          extra("api_version", text(devices.api_version[i]));
          figure("memory_bytes", devices.memory_bytes[i]);
          figure("compute_units", devices.compute_units[i]);
          figure("clock_mhz", devices.clock_mhz[i]);
          const std::string_view pci = text(devices.pci_address[i]);
          if (!pci.empty()) c.text<gpu::kPciAddress>(pci);
        });
      }
    });
  });
}

void Encoder::describeProcess(size_t row) {
  const ProcessTable& processes = trace_.process;
  const std::string_view command = text(processes.command_line[row]);
  std::string_view name = baseName(text(processes.executable[row]));
  if (name.empty()) name = baseName(command.substr(0, command.find(' ')));
  const uint32_t pid = processes.pid[row];
  const uint32_t flags = processes.flags[row];
  packets_.packet(256 + proto::textBound(command.size()) + proto::textBound(name.size()),
                  [&](proto::Cursor& c) {
                    c.uint<packet::kSequenceId>(main_.id);
                    c.message<packet::kTrackDescriptor>([&] {
                      c.uint<track::kUuid>(processUuid(idAt<ProcessId>(row)));
                      if (pid == 0) {  // viewers take 0 for the kernel's idle task
                        c.text<track::kName>(name.empty() ? "process with unknown pid" : name);
                        return;
                      }
                      c.message<track::kProcess>([&] {
                        c.uint<track::process::kPid>(pid);
                        if (!command.empty()) c.text<track::process::kCommandLine>(command);
                        if (!name.empty()) c.text<track::process::kName>(name);
                        if (flags & process_flags::kUnobserved) {
                          c.text<track::process::kLabels>("unobserved: may have used a GPU unseen");
                        }
                        if (flags & process_flags::kSignalled) {
                          c.text<track::process::kLabels>(
                              fmt::format("ended by signal {}", processes.exit_code[row]));
                        } else if (processes.exit_code[row] != 0) {
                          c.text<track::process::kLabels>(
                              fmt::format("exit code {}", processes.exit_code[row]));
                        }
                      });
                    });
                  });
}

/// Writes the last packet. A file that does not end with it, or that does not contain
/// `tracesmith.packets` packets, is truncated. Viewers do not report this.
void Encoder::writeTrailer() {
  std::string fields;
  const auto attribute = [&](std::string_view key, auto value) {
    const size_t at = fields.size();
    constexpr bool kText = std::is_convertible_v<decltype(value), std::string_view>;
    size_t bound = proto::textBound(key.size()) + 32;
    if constexpr (kText) bound += proto::textBound(std::string_view(value).size());
    fields.resize(at + bound);
    proto::Cursor c(reinterpret_cast<uint8_t*>(fields.data()) + at);
    c.message<attributes::kAttribute>([&] {
      c.text<attributes::kKey>(key);
      if constexpr (kText) {
        c.text<attributes::kString>(value);
      } else {
        c.sint<attributes::kLong>(static_cast<int64_t>(value));
      }
    });
    fields.resize(static_cast<size_t>(c.at() - reinterpret_cast<uint8_t*>(fields.data())));
  };

  attribute("tracesmith.version", getVersionString());
  if (synthetic_) attribute("tracesmith.simulated", std::string_view("synthetic, not measured"));
  const LossTable& losses = trace_.loss;
  uint64_t dropped = 0;
  uint64_t unresolved = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    dropped += losses.dropped[i];
    unresolved += losses.unresolved[i];
    const std::string prefix =
        fmt::format("tracesmith.loss.{}.{}", pidOf(losses.process_id[i]), text(losses.source[i]));
    if (emittedIsKnown(losses, i)) attribute(prefix + ".emitted", losses.emitted[i]);
    attribute(prefix + ".written", losses.written[i]);
    attribute(prefix + ".dropped", losses.dropped[i]);
    attribute(prefix + ".unresolved", losses.unresolved[i]);
    const std::string_view reason = text(losses.reason[i]);
    if (!reason.empty()) attribute(prefix + ".reason", reason);
  }
  attribute("tracesmith.dropped", dropped);
  attribute("tracesmith.unresolved", unresolved);
  if (cut_slices_ != 0) attribute("tracesmith.cut_slices", cut_slices_);
  if (unmatched_frees_ != 0) attribute("tracesmith.unmatched_frees", unmatched_frees_);
  if (links_.unresolved() != 0) attribute("tracesmith.unresolved_flows", links_.unresolved());
  const MetadataTable& metadata = trace_.metadata;
  std::unordered_map<std::string_view, size_t> last;  // the last value of a key counts
  for (size_t i = 0; i < metadata.size(); ++i) last[text(metadata.key[i])] = i;
  for (size_t i = 0; i < metadata.size(); ++i) {
    const std::string_view key = text(metadata.key[i]);
    if (last[key] == i) attribute(fmt::format("metadata.{}", key), text(metadata.value[i]));
  }
  attribute("tracesmith.events", events_);
  attribute("tracesmith.packets", packets_.packets() + 1);
  packets_.packet(fields.size() + 32, [&](proto::Cursor& c) {
    c.uint<packet::kSequenceId>(main_.id);
    c.message<packet::kTraceAttributes>([&] { c.raw(fields); });
  });
}

}  // namespace tracesmith::perfetto
