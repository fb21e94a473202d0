// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/kinds.hpp"

#include <array>

namespace tracesmith {
namespace {

template <class E, size_t N>
std::string_view nameOf(E v, const std::array<std::string_view, N>& names) {
  const auto i = static_cast<size_t>(v);
  return i < N ? names[i] : "unknown";
}

}  // namespace

std::string_view toString(PlatformType v) {
  return nameOf(v, std::to_array<std::string_view>({"unknown", "CUDA", "ROCm", "Metal", "MACA",
                                                    "Ascend", "OpenCL", "Vulkan", "simulation"}));
}
std::string_view toString(DeviceKind v) {
  return nameOf(v, std::to_array<std::string_view>({"unknown", "CPU", "GPU", "accelerator"}));
}
std::string_view toString(CallKind v) {
  return nameOf(v, std::to_array<std::string_view>(
                       {"other", "launch", "copy", "fill", "sync", "memory", "build", "setup"}));
}
std::string_view toString(CopyKind v) {
  return nameOf(v, std::to_array<std::string_view>({"unknown", "host_to_device", "device_to_host",
                                                    "device_to_device", "host_to_host",
                                                    "peer_to_peer", "map", "unmap", "migrate"}));
}
std::string_view toString(SyncKind v) {
  return nameOf(
      v, std::to_array<std::string_view>({"unknown", "marker", "barrier", "stream_wait",
                                          "device_wait", "event_wait", "event_record", "flush"}));
}
std::string_view toString(MemoryKind v) {
  return nameOf(v, std::to_array<std::string_view>({"unknown", "alloc", "free"}));
}
std::string_view toString(FlowKind v) {
  return nameOf(v, std::to_array<std::string_view>(
                       {"unknown", "wait", "fwd_bwd", "async_cpu_gpu", "custom"}));
}
std::string_view toString(FlowEnd v) {
  return nameOf(v, std::to_array<std::string_view>({"unknown", "begin", "step", "end"}));
}
std::string_view toString(BuildKind v) {
  return nameOf(v, std::to_array<std::string_view>({"unknown", "build", "compile", "link"}));
}
std::string_view toString(RangeKind v) {
  return nameOf(v, std::to_array<std::string_view>({"range", "instant", "begin", "end"}));
}
std::string_view toString(ObjectKind v) {
  return nameOf(v, std::to_array<std::string_view>({"unknown", "kernel", "memory", "program",
                                                    "event", "stream", "context", "device"}));
}
std::string_view toString(CommKind v) {
  return nameOf(v, std::to_array<std::string_view>({"other", "collective", "send", "receive",
                                                    "exchange", "completion", "probe", "setup"}));
}
std::string_view toString(CommState v) {
  return nameOf(v, std::to_array<std::string_view>(
                       {"unknown", "scheduled", "started", "completed", "called"}));
}
std::string_view toString(CommWorkKind v) {
  return nameOf(v, std::to_array<std::string_view>({"operation", "channel", "send", "receive"}));
}
std::string_view toString(TimingSource v) {
  return nameOf(v, std::to_array<std::string_view>({"unknown", "device", "host", "device_events"}));
}
std::string_view toString(CpuMode v) {
  return nameOf(v, std::to_array<std::string_view>({"unknown", "user", "kernel"}));
}
std::string_view toString(RunState v) {
  return nameOf(v, std::to_array<std::string_view>({"unknown", "running", "runnable", "sleeping",
                                                    "disk_wait", "stopped", "waiting"}));
}
std::string_view toString(RankSource v) {
  return nameOf(v, std::to_array<std::string_view>({"unknown", "trace", "file_name", "position"}));
}
std::string_view toString(TopologyNodeKind v) {
  return nameOf(
      v, std::to_array<std::string_view>({"unknown", "machine", "numa", "host_bridge", "pci_switch",
                                          "gpu", "nic", "nvswitch", "pci_device"}));
}
std::string_view toString(TopologyLinkType v) {
  return nameOf(v, std::to_array<std::string_view>(
                       {"unknown", "internal", "PCIe", "NVLink", "C2C", "xGMI", "MXLink"}));
}
std::string_view toString(ClockKind v) {
  return nameOf(
      v, std::to_array<std::string_view>({"CLOCK_MONOTONIC", "CLOCK_MONOTONIC_RAW",
                                          "CLOCK_REALTIME", "CLOCK_BOOTTIME", "bracketed",
                                          "vendor pair", "time stamp counter", "converted"}));
}

}  // namespace tracesmith
