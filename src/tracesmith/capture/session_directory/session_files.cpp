// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session_directory/session_files.hpp"

#include <algorithm>
#include <array>

#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/capture/protocol/channel_layout.hpp"
#include "tracesmith/capture/protocol/cuda_layout.hpp"

namespace tracesmith {
namespace {

constexpr std::array<std::string_view, 8> kNames = {
    kSessionInfoName, kOpenRanksName, "session.txt.new", "processes.log",
    "trace.sbt",      "trace.sbr",    "probe.new",       "owner.new"};

/// The suffixes after the numbers in the name of an agent's file.
constexpr std::array<std::string_view, 9> kAgentSuffixes = {
    arena::kArenaSuffix, ".new",         cuda_file::kSuffix,       ".cuda.new",
    channel::kSuffix,    ".channel.new", arena::kUnrecordedSuffix, channel::kUnrecordedSuffix,
    kRankSuffix};

/// Length of the numbers at the start of `name` ("12.345.0"), or 0 unless there are 2 or 3.
size_t lengthOfNumbers(std::string_view name) {
  size_t at = 0;
  int numbers = 0;
  for (size_t next = 0; next < name.size() && numbers < 4;) {
    const size_t end = std::min(name.find_first_not_of("0123456789", next), name.size());
    if (end == next) break;
    ++numbers;
    at = end;
    if (end == name.size() || name[end] != '.') break;
    next = end + 1;
  }
  return numbers == 2 || numbers == 3 ? at : 0;
}

/// Of a flight recorder: "trace.sbt.past-12", files that are being written, and requests.
bool isPartOfWindow(std::string_view name) {
  if (name.starts_with("window.request") || name.starts_with("window.answer")) return true;
  constexpr std::string_view kTrace = "trace.sbt.", kPast = "past-";
  if (!name.starts_with(kTrace)) return false;
  name.remove_prefix(kTrace.size());
  if (name.ends_with(".new") || name.ends_with(".new.saving")) return true;
  return name.starts_with(kPast) && name.size() > kPast.size() &&
         name.find_first_not_of("0123456789", kPast.size()) == std::string_view::npos;
}

}  // namespace

bool isSessionFile(std::string_view name) {
  // NFS and FUSE keep a removed file under such a name while a program has it open.
  if (name.starts_with(".nfs") || name.starts_with(".fuse_hidden")) return true;
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  if (isPartOfWindow(name)) return true;
  const size_t numbers = lengthOfNumbers(name);
  if (numbers == 0) return false;
  return std::find(kAgentSuffixes.begin(), kAgentSuffixes.end(), name.substr(numbers)) !=
         kAgentSuffixes.end();
}

}  // namespace tracesmith
