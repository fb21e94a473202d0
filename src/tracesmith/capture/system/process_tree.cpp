// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/system/process_tree.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "tracesmith/capture/processes/process_facts.hpp"

namespace tracesmith {
namespace {

/// The numbers behind "voluntary_ctxt_switches:" and "nonvoluntary_ctxt_switches:".
uint64_t switchesIn(const std::string& path) {
  std::ifstream in(path);
  uint64_t out = 0;
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.find("voluntary_ctxt_switches:");
    if (at == std::string::npos) continue;
    uint64_t value = 0;
    std::istringstream(line.substr(line.find(':') + 1)) >> value;
    out += value;
  }
  return out;
}

/// Field 39: the processor. The name in parentheses may contain anything.
uint32_t processorIn(const std::string& text) {
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream in(text.substr(end + 1));
  std::string word;
  for (int field = 3; field < 39 && in >> word; ++field) {
  }
  uint32_t cpu = 0;
  in >> cpu;
  return cpu;
}

}  // namespace

std::vector<uint32_t> processTreeOf(uint32_t pid) {
  std::multimap<uint32_t, uint32_t> children;
  bool is_there = false;
  for (const ListedProcess& process : listProcesses()) {
    if (!process.stat.runs() || process.pid == static_cast<uint32_t>(getpid())) continue;
    is_there = is_there || process.pid == pid;
    children.emplace(process.stat.parent_pid, process.pid);
  }
  std::vector<uint32_t> out;
  if (is_there) out.push_back(pid);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto [begin, end] = children.equal_range(out[i]);
    for (auto child = begin; child != end; ++child) {
      if (std::find(out.begin(), out.end(), child->second) == out.end()) {
        out.push_back(child->second);
      }
    }
  }
  return out;
}

std::vector<uint32_t> threadsOf(uint32_t pid) {
  std::vector<uint32_t> out;
  std::error_code ended;
  const std::filesystem::directory_iterator tasks(fmt::format("/proc/{}/task", pid), ended);
  for (auto at = begin(tasks); !ended && at != end(tasks); at.increment(ended)) {
    const std::string name = at->path().filename().string();
    uint32_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    if (tid != 0) out.push_back(tid);
  }
  return out;
}

std::vector<RunningThread> runningThreadsOf(const std::vector<uint32_t>& processes) {
  std::vector<RunningThread> out;
  for (const uint32_t pid : processes) {
    for (const uint32_t tid : threadsOf(pid)) {
      const std::string folder = fmt::format("/proc/{}/task/{}", pid, tid);
      std::ifstream in(folder + "/stat");
      std::string text;
      std::getline(in, text, '\0');
      const auto stat = parseProcessStat(text);
      if (!stat) continue;
      out.push_back({.pid = pid,
                     .tid = tid,
                     .cpu = processorIn(text),
                     .state = stat->state,
                     .switches = switchesIn(folder + "/status"),
                     .name = stat->comm});
    }
  }
  return out;
}

}  // namespace tracesmith
