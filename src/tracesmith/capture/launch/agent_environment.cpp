// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/agent_environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "tracesmith/capture/launch/mpi_program.hpp"
#include "tracesmith/capture/launch/nccl_plugin.hpp"
#include "tracesmith/capture/launch/preload_path.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/capture/protocol/channel_layout.hpp"
#include "tracesmith/capture/protocol/control_layout.hpp"

namespace tracesmith {
namespace {

/// A list of paths without those that `removed` chooses by their file name.
template <class Removed>
std::string without(std::string_view list, std::string_view separators, Removed&& removed) {
  std::string kept;
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(separators), list.size());
    const std::string_view path = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (path.empty() || removed(path.substr(path.rfind('/') + 1))) continue;
    kept += (kept.empty() ? "" : ":") + std::string(path);
  }
  return kept;
}

/// Appends our layers to those of the user. Layers of another installation, whose session started
/// this one, are removed: two copies of an agent would record each call twice.
std::string withLayers(const std::string& ours) {
  const char* const before = std::getenv("OPENCL_LAYERS");
  const std::string kept = without(before == nullptr ? "" : before, ":", [](std::string_view name) {
    return name.starts_with("libtracesmith-opencl");
  });
  return kept.empty() ? ours : kept + ':' + ours;
}

std::string& variableOf(Environment& env, const char* name) {
  for (auto& [known, value] : env) {
    if (known == name) return value;
  }
  const char* const before = std::getenv(name);
  return env.emplace_back(name, before == nullptr ? "" : before).second;
}

}  // namespace

Status preload(Environment& env, const std::string& library) {
  TS_TRY(const std::string entry, preloadPath(library));
  std::string& all = variableOf(env, "LD_PRELOAD");
  // Another installation's copy, as in withLayers(), or the same library.
  const std::string_view ours = std::string_view(entry).substr(entry.rfind('/') + 1);
  all = without(all, ": ", [&](std::string_view name) { return name == ours; });
  all += (all.empty() ? "" : ":") + entry;
  // A program with AddressSanitizer aborts when a library is loaded before the sanitizer's.
  std::string& asan = variableOf(env, "ASAN_OPTIONS");
  constexpr const char* kAnyOrder = "verify_asan_link_order=0";
  if (asan.find(kAnyOrder) == std::string::npos)
    asan += (asan.empty() ? "" : ":") + std::string(kAnyOrder);
  return {};
}

std::string otherTool(const char* variable) {
  const char* const named = std::getenv(variable);
  if (named == nullptr || std::filesystem::path(named).filename() == kCudaAgent) return {};
  return named;
}

bool wantsAgent(const ProfileOptions& options, PlatformType platform) {
  return options.platform == PlatformType::Unknown || options.platform == platform;
}

namespace {

/// Adds the OpenCL agent and, with --record, the agent that records for replay.
Status addOpenCl(Environment& env, const ProfileOptions& options) {
  // A preloaded library is loaded into every process, while the variable affects OpenCL loaders
  // only. So kAuto preloads only where the system's loader does not read OPENCL_LAYERS. It still
  // sets the variable, for loaders that programs bring with them.
  const bool preloaded = options.injection == Injection::kPreload ||
                         (options.injection == Injection::kAuto && !icdLoaderHasLayers());
  const bool layer = options.injection != Injection::kPreload;
  TS_TRY(const std::string agent, findAgentLibrary(preloaded ? "libtracesmith-opencl-preload.so"
                                                             : "libtracesmith-opencl.so"));
  TS_TRY(std::string layers, pathForLists(agent));
  if (options.record) {
    TS_TRY(const std::string found, findAgentLibrary("libtracesmith-opencl-record.so"));
    TS_TRY(const std::string recorder, pathForLists(found));
    layers += ':' + recorder;  // the last one is called first by the program
    if (preloaded) env.emplace_back(channel::kEnvLibrary, recorder);
    env.emplace_back(channel::kEnvBytes, std::to_string(options.record->ring_bytes));
    if (!options.record->range.empty()) {
      env.emplace_back(channel::kEnvRange, options.record->range);
    }
    if (options.record->keep_outputs) env.emplace_back(channel::kEnvKeep, "keep");
    if (options.record->launch_hashes) env.emplace_back(channel::kEnvHashes, "launch");
  }
  if (layer) {
    layers = withLayers(layers);
    env.emplace_back("OPENCL_LAYERS", layers);
    env.emplace_back(arena::kEnvOpenClLayers, layers);
  }
  return preloaded ? preload(env, agent) : Status();
}

/// The driver and NVTX load the libraries in their variables, in child processes, too. Keeps the
/// user's settings.
Status addCuda(Environment& env) {
  for (const char* const variable : {kCudaInjection, kNvtxInjection}) {
    if (!otherTool(variable).empty()) continue;
    TS_TRY(const std::string agent, findAgentLibrary(kCudaAgent));
    env.emplace_back(variable, agent);
  }
  return {};
}

/// Adds the library that reports unloaded libraries, which stacks need.
Status addUnloadNotice(Environment& env) {
  TS_TRY(const std::string notice, findAgentLibrary("libtracesmith-process.so"));
  return preload(env, notice);
}

}  // namespace

Environment settingsFor(const ProfileOptions& options, const std::string& session) {
  Environment settings = {
      {arena::kEnvSession, session},
      {arena::kEnvRingBytes, std::to_string(options.ring_bytes)},
      {arena::kEnvOverflow, options.overflow == OverflowPolicy::Block ? "block" : "drop"},
  };
  if (options.stacks) {
    settings.emplace_back(arena::kEnvStacks, options.stacks->frames);
    settings.emplace_back(arena::kEnvStackDepth, std::to_string(options.stacks->max_depth));
  }
  if (options.unified_memory) settings.emplace_back(arena::kEnvUnifiedMemory, "1");
  if (options.cuda_calls) settings.emplace_back(arena::kEnvCudaCalls, "1");
  if (options.cuda_latency) settings.emplace_back(arena::kEnvCudaLatency, "1");
  if (options.whole_cuda_graphs) settings.emplace_back(arena::kEnvCudaGraphs, "graph");
  if (options.nccl == NcclEvents::kLight) settings.emplace_back(arena::kEnvNcclEvents, "light");
  if (options.nccl == NcclEvents::kFull) settings.emplace_back(arena::kEnvNcclEvents, "full");
  return settings;
}

Result<Environment> environmentFor(const ProfileOptions& options, const std::string& session) {
  Environment env = settingsFor(options, session);
  if (wantsAgent(options, PlatformType::OpenCL)) TS_CHECK_OK(addOpenCl(env, options));
  if (options.stacks) TS_CHECK_OK(addUnloadNotice(env));
  if (wantsAgent(options, PlatformType::CUDA)) TS_CHECK_OK(addCuda(env));
  if (options.mpi || usesMpi(options.command)) {
    TS_TRY(const std::string agent, findAgentLibrary("libtracesmith-mpi.so"));
    TS_CHECK_OK(preload(env, agent));
  }
  if (options.nccl != NcclEvents::kNone) TS_CHECK_OK(addNcclPlugin(env));
  if (options.functions) {
    TS_TRY(const std::string tracer, findAgentLibrary("libtracesmith-xray.so"));
    TS_CHECK_OK(preload(env, tracer));
  }
  return env;
}

Result<Environment> armedEnvironment(const std::string& control_directory) {
  Environment env = {{control::kEnvDirectory, control_directory}};
  TS_CHECK_OK(addCuda(env));
  TS_CHECK_OK(addUnloadNotice(env));
  return env;
}

}  // namespace tracesmith
