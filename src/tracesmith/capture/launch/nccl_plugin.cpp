// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/nccl_plugin.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"

namespace tracesmith {
namespace {

constexpr const char* kVariable = "NCCL_PROFILER_PLUGIN";
constexpr const char* kPlugin = "libtracesmith-nccl.so";

/// Lines are NAME=VALUE, and comments with # in front.
std::optional<std::string> valueIn(const std::string& file) {
  std::ifstream in(file);
  const std::string start = std::string(kVariable) + '=';
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.starts_with(start)) return line.substr(start.size());
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> chosenNcclPlugin() {
  if (const char* const value = std::getenv(kVariable)) return value;
  const char* const file = std::getenv("NCCL_CONF_FILE");
  const char* const home = std::getenv("HOME");
  std::optional<std::string> chosen;
  if (file != nullptr && *file != 0) {
    chosen = valueIn(file);
  } else if (home != nullptr) {
    chosen = valueIn(std::string(home) + "/.nccl.conf");
  }
  return chosen ? chosen : valueIn("/etc/nccl.conf");
}

Status addNcclPlugin(Environment& env) {
  TS_TRY(const std::string plugin, findAgentLibrary(kPlugin));
  const std::optional<std::string> chosen = chosenNcclPlugin();
  // In a program that is already profiled, the variable for the next plugin is set as well.
  if (chosen && std::filesystem::path(*chosen).filename() != kPlugin) {
    env.emplace_back(arena::kEnvNcclNextPlugin, *chosen);
  }
  env.emplace_back(kVariable, plugin);
  return {};
}

}  // namespace tracesmith
