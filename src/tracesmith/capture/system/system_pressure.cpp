// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/system_pressure.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "tracesmith/model/names/system_names.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kPollNs = 100'000'000;
/// Processes move between cgroups seldom, and most of them when they begin.
constexpr int64_t kLookForCgroupsNs = 1'000'000'000, kBeginNs = 2'000'000'000;
constexpr size_t kMostCgroups = 64;

/// The number behind a word: "total=12" or "throttled_usec 12".
std::optional<uint64_t> numberBehind(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos || (at != 0 && text[at - 1] != ' ' && text[at - 1] != '\n')) {
    return std::nullopt;
  }
  uint64_t out = 0;
  const char* const begin = text.data() + at + word.size();
  const auto result = std::from_chars(begin, text.data() + text.size(), out);
  return result.ptr == begin ? std::nullopt : std::optional(out);
}

std::string textOf(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  if (in) out << in.rdbuf();
  return out.str();
}

int64_t saturated(uint64_t value, uint64_t times) {
  constexpr uint64_t kMost = INT64_MAX;
  return static_cast<int64_t>(value > kMost / times ? kMost : value * times);
}

/// Time in which a cgroup was held back, in ns; nullopt: it has no such limit.
std::optional<int64_t> throttledNs(const std::string& path) {
  const std::string text = textOf(path);
  if (const auto us = numberBehind(text, "throttled_usec ")) return saturated(*us, 1'000);
  const auto ns = numberBehind(text, "throttled_time ");  // of version 1
  return ns ? std::optional(saturated(*ns, 1)) : std::nullopt;
}

}  // namespace

CgroupFiles::CgroupFiles(std::string proc) : proc_(std::move(proc)) {
  std::ifstream in(proc_ + "/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    // 36 25 0:32 / /sys/fs/cgroup/cpu rw,... - cgroup cgroup rw,cpu
    std::istringstream words(line);
    std::string skipped, root, where, word;
    words >> skipped >> skipped >> skipped >> root >> where;
    while (words >> word && word != "-") {
    }
    std::string type, device, options;
    words >> type >> device >> options;
    options = "," + options + ",";
    if (type == "cgroup2" && unified_.where.empty()) unified_ = {root, where};
    if (type == "cgroup" && options.find(",cpu,") != std::string::npos) processors_ = {root, where};
  }
}

std::vector<CgroupFile> CgroupFiles::of(pid_t pid) const {
  std::vector<CgroupFile> out;
  std::ifstream in(fmt::format("{}/{}/cgroup", proc_, pid));
  for (std::string line; std::getline(in, line);) {
    // "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1.
    const size_t names = line.find(':');
    const size_t path = line.find(':', names + 1);
    if (names == std::string::npos || path == std::string::npos) continue;
    const std::string controllers = "," + line.substr(names + 1, path - names - 1) + ",";
    const bool is_unified = controllers == ",,";
    if (!is_unified && controllers.find(",cpu,") == std::string::npos) continue;
    const Mount& mount = is_unified ? unified_ : processors_;
    if (mount.where.empty()) continue;
    std::string cgroup = line.substr(path + 1);
    // A container may see a part of the tree only.
    if (mount.root != "/" && cgroup.starts_with(mount.root)) cgroup.erase(0, mount.root.size());
    // A limit of a cgroup around it holds it back as well.
    for (;;) {
      const std::string file = mount.where + cgroup + "/cpu.stat";
      if (throttledNs(file)) out.push_back({cgroup.empty() ? "/" : cgroup, file});
      const size_t parent = cgroup.rfind('/');
      if (parent == std::string::npos) break;
      cgroup.resize(parent);
    }
  }
  return out;
}

void SystemPressure::note(const std::string& path, const std::string& name, int64_t value_ns,
                          int64_t now_ns) {
  const auto [it, is_new] = counters_.try_emplace(path);
  Counter& counter = it->second;
  if (is_new) counter.begin_ns = counter.given_ns = value_ns;
  if (value_ns < counter.given_ns) {  // another cgroup with the same name, which began at 0
    counter.begin_ns -= counter.given_ns;
    counter.given_ns = 0;
  }
  if (counter.given_ns == value_ns) return;
  if (counter.track == UINT32_MAX) counter.track = tracks_.add({.name = name, .unit = "ns"});
  // It grew since the last time that it was read, and not since it was given.
  if (counter.given_at_ns != polled_ns_) {
    tracks_.give(counter.track, polled_ns_,
                 static_cast<double>(counter.given_ns - counter.begin_ns));
  }
  counter.given_ns = value_ns;
  counter.given_at_ns = now_ns;
  tracks_.give(counter.track, now_ns, static_cast<double>(value_ns - counter.begin_ns));
}

void SystemPressure::readPressure(int64_t now_ns) {
  constexpr std::pair<const char*, const char*> kKinds[] = {{"cpu", "waited for a processor"},
                                                            {"memory", "waited for memory"},
                                                            {"io", "waited for a disk"}};
  for (const auto& [file, name] : kKinds) {
    // "some avg10=0.00 ... total=12\nfull ...": time in which at least one thread waited, in us.
    const std::string path = fmt::format("{}/pressure/{}", proc_, file);
    const std::string text = textOf(path);
    if (!text.starts_with("some ")) continue;
    if (const auto us = numberBehind(std::string_view(text).substr(0, text.find('\n')), "total=")) {
      note(path, fmt::format("system: some thread {}", name), saturated(*us, 1'000), now_ns);
    }
  }
}

void SystemPressure::readCgroups(int64_t now_ns) {
  for (const auto& [path, file] : cgroups_) {
    if (const auto ns = throttledNs(path)) {
      note(path, fmt::format("{}{}{}", kCgroup, file.cgroup, kHeldBack), *ns, now_ns);
    }
  }
}

void SystemPressure::poll(int64_t now_ns, const SampledProcesses& processes) {
  if (now_ns - polled_ns_ < kPollNs) return;
  constexpr size_t kFew = 64;  // processes
  if (began_ns_ == 0) began_ns_ = now_ns;
  if ((now_ns - began_ns_ < kBeginNs && processes.size() <= kFew) ||
      now_ns - looked_ns_ >= kLookForCgroupsNs) {
    looked_ns_ = now_ns;
    processes.forEach([this](uint32_t pid, const SampledProcesses::Process&) {
      if (cgroups_.size() >= kMostCgroups) return;
      for (const CgroupFile& file : files_.of(static_cast<pid_t>(pid))) {
        cgroups_.try_emplace(file.path, file);
      }
    });
  }
  readPressure(now_ns);
  readCgroups(now_ns);
  polled_ns_ = now_ns;
}

}  // namespace tracesmith
