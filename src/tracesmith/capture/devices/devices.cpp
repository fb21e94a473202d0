// SPDX-License-Identifier: Apache-2.0
// Vendors' libraries crash, hang, print and start threads of their own. So each is asked in a child
// process, all at the same time, and its reply comes back through a pipe.
#include "tracesmith/capture/devices/devices.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/devices/device_probe.hpp"
#include "tracesmith/capture/processes/launcher.hpp"

namespace tracesmith {
namespace {

constexpr size_t kMaxReplyBytes = 4u << 20;
constexpr uint32_t kMaxItems = 65536;

void putText(Bytes& out, std::string_view text) {
  putFixed(out, static_cast<uint32_t>(text.size()));
  out.insert(out.end(), text.begin(), text.end());
}
std::string takeText(ByteReader& in) { return std::string(asText(in.take(in.fixed<uint32_t>()))); }

Bytes encode(const BackendReport& report) {
  Bytes out;
  putFixed<uint8_t>(out, report.library_found);
  putText(out, report.library);
  putText(out, report.path);
  putText(out, report.problem);
  putFixed(out, report.driver_version);
  putFixed(out, static_cast<uint32_t>(report.looked_in.size()));
  for (const std::string& place : report.looked_in) putText(out, place);
  putFixed(out, static_cast<uint32_t>(report.strings.size()));
  for (uint32_t i = 0; i < report.strings.size(); ++i)
    putText(out, report.strings.at(idAt<StringId>(i)));
  DeviceTable table;
  for (const DeviceRow& row : report.devices) table.push(row);
  putFixed(out, static_cast<uint32_t>(table.size()));
  DeviceTable::visitColumns(table, [&](const ColumnInfo&, const auto& column) {
    for (const auto& value : column) putFixed(out, value);
  });
  putFixed<uint8_t>(out, 0x5a);  // end marker: the reply is complete
  return out;
}

bool decode(ByteView bytes, BackendReport& report) {
  ByteReader in(bytes);
  report.library_found = in.fixed<uint8_t>() != 0;
  report.library = takeText(in);
  report.path = takeText(in);
  report.problem = takeText(in);
  report.driver_version = in.fixed<uint32_t>();
  const uint32_t places = std::min(in.fixed<uint32_t>(), kMaxItems);
  for (uint32_t i = 0; i < places && in.ok(); ++i) report.looked_in.push_back(takeText(in));
  const uint32_t strings = std::min(in.fixed<uint32_t>(), kMaxItems);
  for (uint32_t i = 0; i < strings && in.ok(); ++i) report.strings.append(takeText(in));
  DeviceTable table;
  table.resize(std::min(in.fixed<uint32_t>(), kMaxItems));
  DeviceTable::visitColumns(table, [&](const ColumnInfo&, auto& column) {
    for (auto& value : column) value = in.fixed<std::decay_t<decltype(value)>>();
  });
  if (in.fixed<uint8_t>() != 0x5a || !in.ok()) return false;
  for (size_t i = 0; i < table.size(); ++i) report.devices.push_back(table.row(i));
  return true;
}

[[noreturn]] void childMain(int reply_fd, BackendReport report, const ProbeOptions& options) {
  // Drivers print messages, which must not appear in the caller's streams.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2 && null >= 0; ++fd) ::dup2(null, fd);
  // A driver that spins in a call must end even if the parent, which would kill it, is killed
  // first. The caller's signal handlers (or a sanitizer's) must not make a crash look like an exit.
  for (const int signal : {SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::alarm(static_cast<unsigned>(options.timeout_ms / 1000 + 2));
  ::unsetenv(kCudaInjection);  // otherwise the driver loads an agent here
  probeBackend(report, options.search_first);
  const Bytes reply = encode(report);
  size_t written = 0;
  while (written < reply.size()) {
    const ssize_t n = ::write(reply_fd, reply.data() + written, reply.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<size_t>(n);
  }
  ::_exit(0);  // not exit(): drivers' destructors hang, too
}

struct Probe {
  BackendReport report;
  pid_t child = -1;
  int fd = -1;
  Bytes reply;
  bool done = false;
  bool complete = false;  // the report is complete
};

void begin(Probe& probe, const ProbeOptions& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    probe.report.problem = fmt::format("cannot ask the vendor's library: {}", ::strerror(errno));
    probe.done = true;
    return;
  }
  probe.child = ::fork();
  if (probe.child == 0) {
    ::close(ends[0]);
    childMain(ends[1], probe.report, options);
  }
  ::close(ends[1]);
  probe.fd = ends[0];
  if (probe.child < 0) {
    probe.report.problem = fmt::format("cannot ask the vendor's library: {}", ::strerror(errno));
    probe.done = true;
  }
}

/// Reads available bytes; sets `done` at the end of the stream.
void readSome(Probe& probe) {
  uint8_t buffer[65536];
  const ssize_t n = ::read(probe.fd, buffer, sizeof buffer);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n > 0) probe.reply.insert(probe.reply.end(), buffer, buffer + n);
  if (n <= 0 || probe.reply.size() > kMaxReplyBytes) probe.done = true;
}

void end(Probe& probe, const ProbeOptions& options) {
  if (probe.complete) return;
  if (probe.fd >= 0) ::close(probe.fd);
  if (probe.child < 0) return;
  if (!probe.done) ::kill(probe.child, SIGKILL);
  // A child that has closed its pipe may still hang in its driver: kill it after a while.
  int status = 0;
  for (int i = 0; ::waitpid(probe.child, &status, WNOHANG) == 0; ++i) {
    if (i == 100) ::kill(probe.child, SIGKILL);
    ::usleep(1000);
  }
  const PlatformType backend = probe.report.backend;
  BackendReport decoded;
  decoded.backend = backend;
  if (decode(probe.reply, decoded)) {
    probe.report = std::move(decoded);
    return;
  }
  const std::string whose = std::string(toString(backend));
  if (!probe.done)
    probe.report.problem = fmt::format("the {} library did not answer within {} s", whose,
                                       static_cast<double>(options.timeout_ms) / 1000);
  else if (WIFSIGNALED(status))
    probe.report.problem = fmt::format("the {} library crashed when it was asked for devices ({})",
                                       whose, ::strsignal(WTERMSIG(status)));
  else
    probe.report.problem = fmt::format("the {} library ended the process that asked it", whose);
}

/// Sets whether this build can record the backend through the driver found, and otherwise why not.
void noteCapture(BackendReport& report) {
  const bool cuda = report.backend == PlatformType::CUDA;
  if (!cuda && report.backend != PlatformType::OpenCL) {
    report.capture_problem = "this version has no agent for it";
    return;
  }
  const auto agent = findAgentLibrary(cuda ? kCudaAgent : "libtracesmith-opencl.so");
  if (!agent) {
    report.capture_problem = agent.error().toString();
  } else if (cuda && report.driver_version != 0 && report.driver_version < kOldestCudaDriver) {
    report.capture_problem =
        fmt::format("{} is too old: it knows CUDA {}, and {} or newer is needed", report.library,
                    cudaVersionText(report.driver_version), cudaVersionText(kOldestCudaDriver));
  }
  report.capture_supported = report.capture_problem.empty();
}

}  // namespace

std::string cudaVersionText(uint32_t version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::vector<BackendReport> probeBackends(const std::vector<PlatformType>& backends,
                                         const ProbeOptions& options) {
  std::vector<Probe> probes(backends.size());
  for (size_t i = 0; i < backends.size(); ++i) {
    probes[i].report.backend = backends[i];
    if (backends[i] == PlatformType::CUDA && options.search_first.empty() && cudaIsInUse()) {
      probeBackend(probes[i].report, {});
      probes[i].done = probes[i].complete = true;
    } else {
      begin(probes[i], options);
    }
  }
  const int64_t deadline = monotonicNs() + options.timeout_ms * 1'000'000;
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Probe*> whose;
    for (Probe& probe : probes) {
      if (probe.done) continue;
      waiting.push_back({probe.fd, POLLIN, 0});
      whose.push_back(&probe);
    }
    const int64_t left_ns = deadline - monotonicNs();
    if (waiting.empty() || left_ns <= 0) break;
    ::poll(waiting.data(), waiting.size(), static_cast<int>(left_ns / 1'000'000) + 1);
    for (size_t i = 0; i < waiting.size(); ++i)
      if (waiting[i].revents != 0) readSome(*whose[i]);
  }
  std::vector<BackendReport> reports;
  for (Probe& probe : probes) {
    end(probe, options);
    noteCapture(probe.report);
    reports.push_back(std::move(probe.report));
  }
  return reports;
}

const BackendReport& backendReport(PlatformType backend) {
  static std::mutex mutex;
  static std::map<PlatformType, BackendReport> reports;  // a map, so that references stay valid
  const std::lock_guard lock(mutex);
  const auto known = reports.find(backend);
  if (known != reports.end()) return known->second;
  return reports.emplace(backend, std::move(probeBackends({backend}, {}).at(0))).first->second;
}

std::vector<BackendReport> probeBackends() {
  return probeBackends(
      {PlatformType::CUDA, PlatformType::ROCm, PlatformType::Metal, PlatformType::MACA,
       PlatformType::Ascend, PlatformType::OpenCL, PlatformType::Vulkan},
      {});
}

}  // namespace tracesmith
