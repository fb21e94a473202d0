// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/in_process/in_process_capture.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "tracesmith/capture/devices/device_probe.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/capture/processes/signal_free_thread.hpp"

namespace tracesmith {
namespace {

std::atomic<bool> g_armed{false};

void addLayer(const std::string& agent) {
  const char* layers = std::getenv("OPENCL_LAYERS");
  const std::string before = layers == nullptr ? "" : layers;
  // The agent is already listed when an armed parent process started this one and has ended.
  if ((":" + before + ":").find(":" + agent + ":") != std::string::npos) return;
  setenv("OPENCL_LAYERS", (before.empty() ? agent : before + ":" + agent).c_str(), 1);
}

/// The agent's library, and how to load it.
struct AgentEntry {
  std::string library;
  bool at_once = false;  // CUDA is in use: its driver has already looked for the library
};

/// Fails when this process cannot be captured.
Result<AgentEntry> findAgentEntry(const InProcessOptions& options) {
  const char* outer = std::getenv(arena::kEnvSession);
  std::error_code ec;
  if (outer != nullptr && *outer != 0 && std::filesystem::is_directory(outer, ec)) {
    return fail(ErrorCode::kInvalidArgument,
                "this process is being recorded already, by `tracesmith profile` or by a "
                "profiler in a process that started it",
                outer);
  }
  const bool cuda = options.platform == PlatformType::CUDA;
  if (!cuda && !icdLoaderHasLayers()) {
    return fail(ErrorCode::kUnsupported,
                "the OpenCL ICD loader (libOpenCL.so.1) is missing or does not know "
                "OPENCL_LAYERS; install ocl-icd 2.3 or newer");
  }
  AgentEntry entry;
  TS_TRY(entry.library, findAgentLibrary(cuda ? kCudaAgent : "libtracesmith-opencl.so"));
  entry.at_once = cuda && cudaIsInUse();
  const char* injected = std::getenv(kCudaInjection);
  if (cuda && !entry.at_once && injected != nullptr && *injected != 0 &&
      entry.library != injected) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} names another tool's library already", kCudaInjection), injected);
  }
  return entry;
}

Result<std::string> makeCaptureDirectory() {
  std::error_code ec;
  std::string directory = std::filesystem::temp_directory_path(ec).string();
  if (ec) directory = "/tmp";
  directory += "/tracesmith.XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) {
    return failErrno(errno, "cannot make a directory for the capture", directory);
  }
  return directory;
}

/// Sets the variables that configure the agent, and those that load it into this process and its
/// children.
void setAgentEnvironment(const InProcessOptions& options, const SessionDir& dir,
                         const std::string& agent) {
  setenv(arena::kEnvSession, dir.path().c_str(), 1);
  setenv(arena::kEnvRingBytes, std::to_string(options.ring_bytes).c_str(), 1);
  setenv(arena::kEnvOverflow, options.overflow == OverflowPolicy::Block ? "block" : "drop", 1);
  setenv(arena::kEnvCapture, "off", 1);
  if (options.stack_depth > 0) {
    setenv(arena::kEnvStacks, "native", 1);
    setenv(arena::kEnvStackDepth, std::to_string(options.stack_depth).c_str(), 1);
  }
  if (options.platform == PlatformType::CUDA) {
    setenv(kCudaInjection, agent.c_str(), 1);
  } else {
    addLayer(agent);
  }
}

}  // namespace

Result<std::unique_ptr<InProcessCapture>> InProcessCapture::arm(const InProcessOptions& options) {
  if (g_armed.exchange(true)) {
    return fail(ErrorCode::kInvalidArgument,
                "this process is being captured already; one capture at a time");
  }
  std::string directory;
  auto capture = armOnce(options, directory);
  if (!capture) {
    std::error_code ec;
    if (!directory.empty()) std::filesystem::remove_all(directory, ec);
    g_armed.store(false);
  }
  return capture;
}

Result<std::unique_ptr<InProcessCapture>> InProcessCapture::armOnce(const InProcessOptions& options,
                                                                    std::string& directory) {
  TS_TRY(const AgentEntry entry, findAgentEntry(options));
  TS_TRY(directory, makeCaptureDirectory());
  const std::string output = directory + "/capture.sbt";
  TS_TRY(SessionDir dir, SessionDir::create(output));
  TS_CHECK_OK(dir.writeInfo({.output = output,
                             .command_line = "in-process capture",
                             .keep_kernels = options.keep_kernels,
                             .keep_memory = options.keep_memory}));
  TS_TRY(auto collector, Collector::create(dir, {.keep_kernels = options.keep_kernels,
                                                 .keep_memory = options.keep_memory}));
  // The program must not be forked for NVML.
  collector->readTopology({.nvml = false});
  setAgentEnvironment(options, dir, entry.library);

  std::unique_ptr<InProcessCapture> capture(new InProcessCapture);
  capture->platform_ = options.platform;
  capture->agent_ = entry.library;
  capture->directory_ = directory;
  capture->collector_ = std::move(collector);
  capture->collector_->setCapturing(false);
  if (options.stack_depth > 0) capture->symbolizer_ = std::make_unique<Symbolizer>();
  TS_TRY(capture->thread_, startSignalFreeThread([raw = capture.get()] { raw->run(); }));
  if (entry.at_once) TS_CHECK_OK(capture->enterNow(entry.library));
  return capture;
}

/// Loads and starts the agent as the driver would have done in cuInit().
Status InProcessCapture::enterNow(const std::string& agent) {
  void* const library = dlopen(agent.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto initialize = library == nullptr
                              ? nullptr
                              : reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize == nullptr) {
    const char* const why = dlerror();
    return fail(ErrorCode::kUnsupported, why != nullptr ? why : "the agent cannot be loaded",
                agent);
  }
  (void)initialize();
  const std::lock_guard lock(mutex_);
  collector_->poll();
  must_be_loaded_ = true;
  return {};
}

InProcessCapture::~InProcessCapture() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    if (collector_) collector_->setCapturing(false);
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (collector_) (void)collector_->finish();
  std::error_code ec;
  std::filesystem::remove_all(directory_, ec);
  // The agent stays loaded until the process ends, so the process cannot be armed a second time.
}

void InProcessCapture::run() {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  auto pause = 1ms;
  uint32_t agents = 0;
  while (!stop_) {
    const uint64_t met = collector_->poll();
    // An agent that started with the environment's earlier setting needs the current one.
    if (collector_->agentProcesses() != agents) {
      agents = collector_->agentProcesses();
      collector_->setCapturing(capturing_);
    }
    // While capture is disabled, other work (a newly loaded agent, a child that ends) can wait.
    const std::chrono::milliseconds longest = capturing_ ? 5ms : 100ms;
    pause = met > 0 ? 1ms : std::min(pause * 2, longest);
    wake_.wait_for(lock, pause);
  }
}

void InProcessCapture::setCapturing(bool on) {
  const std::lock_guard lock(mutex_);
  capturing_ = on;
  // An agent that is loaded from now on starts with this setting, and misses no call.
  if (collector_->agentProcesses() == 0) setenv(arena::kEnvCapture, on ? "on" : "off", 1);
  collector_->poll();  // an arena that is not yet known needs the setting, too
  collector_->setCapturing(on);
  wake_.notify_all();
}

void InProcessCapture::setActive(bool active) {
  if (platform_ != PlatformType::CUDA) return;
  void* const library = dlopen(agent_.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  const auto set = reinterpret_cast<int (*)(int)>(dlsym(library, "TraceSmithSetActive"));
  if (set != nullptr) (void)set(active ? 1 : 0);
  dlclose(library);
}

bool InProcessCapture::agentLoaded() const {
  const std::lock_guard lock(mutex_);
  return collector_->agentProcesses() > 0;
}

std::string InProcessCapture::problem() {
  const std::lock_guard lock(mutex_);
  collector_->poll();
  for (const std::string& problem : collector_->agentProblems(true)) return problem;
  if (must_be_loaded_ && collector_->agentProcesses() == 0) {
    return fmt::format("the {} agent could not make its rings in {}", toString(platform_),
                       directory_);
  }
  return {};
}

Result<Trace> InProcessCapture::snapshot() {
  const std::lock_guard lock(mutex_);
  TS_CHECK_OK(collector_->commitNow());
  TS_TRY(TraceReader reader, TraceReader::open(collector_->tracePath()));
  return reader.read();
}

Result<Trace> InProcessCapture::takeNew() {
  const std::lock_guard lock(mutex_);
  TS_CHECK_OK(collector_->commitNow());
  if (reader_) {
    TS_TRY([[maybe_unused]] const size_t more, reader_->refresh());
  } else {
    TS_TRY(TraceReader reader, TraceReader::open(collector_->tracePath()));
    reader_.emplace(std::move(reader));
  }
  ReadOptions options;
  options.from_offset = taken_until_;
  TS_TRY(Trace trace, reader_->read(options));
  taken_until_ = reader_->endOfBlocks();
  if (symbolizer_ && trace.frame.size() > 0) nameFrames(trace);
  return trace;
}

/// Frames that were named before only have their rows copied.
void InProcessCapture::nameFrames(Trace& trace) {
  for (const NamedFrame& named : named_) {
    SymbolRow row = named.row;
    row.function = trace.strings.intern(named.function);
    row.file = trace.strings.intern(named.file);
    trace.symbol.push(row);
  }
  const size_t known = trace.symbol.size();
  symbolizer_->symbolize(trace);
  for (size_t i = known; i < trace.symbol.size(); ++i) {
    const SymbolRow row = trace.symbol.row(i);
    named_.push_back(
        {row, std::string(trace.text(row.function)), std::string(trace.text(row.file))});
  }
}

CollectorTotals InProcessCapture::totals() const {
  const std::lock_guard lock(mutex_);
  return collector_->totals();
}

}  // namespace tracesmith
