// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/mpi_program.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tracesmith/capture/launch/program_eligibility.hpp"

namespace tracesmith {
namespace {

constexpr std::array<std::string_view, 8> kLaunchers = {"mpirun", "mpiexec", "orterun", "prterun",
                                                        "srun",   "aprun",   "jsrun",   "flux"};
constexpr std::array<const char*, 4> kVariablesOfRanks = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                                          "PMI_RANK", "MPI_LOCALRANKID"};

/// mpirun, mpirun.openmpi, mpiexec.hydra.
bool isLauncher(const std::string& command) {
  const std::string name = std::filesystem::path(command).filename().string();
  return std::any_of(kLaunchers.begin(), kLaunchers.end(), [&](std::string_view launcher) {
    return name == launcher || name.starts_with(std::string(launcher) + '.');
  });
}

/// The names of libraries that a program needs are texts in its file, which linkers put near the
/// start.
bool namesMpiLibrary(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic(4, 0);
  if (!file.read(magic.data(), 4) || magic !=
                                         "\x7f"
                                         "ELF")
    return false;
  constexpr std::string_view kLibrary = "libmpi";
  constexpr size_t kBlock = 1u << 20;
  constexpr uintmax_t kMostBytes = 16u << 20;
  std::string block;
  for (uintmax_t at = 0; file && at < kMostBytes; at += kBlock) {
    block = block.substr(block.size() - std::min(block.size(), kLibrary.size() - 1));
    const size_t kept = block.size();
    block.resize(kept + kBlock);
    file.read(block.data() + kept, kBlock);
    block.resize(kept + static_cast<size_t>(file.gcount()));
    if (block.find(kLibrary) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

bool usesMpi(const std::vector<std::string>& command) {
  const bool is_rank = std::any_of(kVariablesOfRanks.begin(), kVariablesOfRanks.end(),
                                   [](const char* name) { return std::getenv(name) != nullptr; });
  if (is_rank) return true;
  if (command.empty()) return false;
  return isLauncher(command.front()) || namesMpiLibrary(checkEligibility(command.front()).path);
}

}  // namespace tracesmith
