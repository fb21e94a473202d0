// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/symbols/jit_code.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <type_traits>
#include <utility>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/linux/clock_identity.hpp"

namespace tracesmith {
namespace {

constexpr uint32_t kMany = ~uint32_t{0};

/// Adds an owner. False when nothing changed, so nothing that depends on it does either.
bool own(uint32_t& owner, uint32_t process) {
  if (owner == process || owner == kMany) return false;
  owner = owner == 0 ? process : kMany;
  return true;
}

/// Whether a perf map belongs to a process. It must be from this boot of this machine, not older
/// than the process, and written by the process's user or root (anyone may write to /tmp).
bool belongsTo(const std::string& path, const ProcessRow& process, std::string_view boot_id) {
  struct stat facts {};
  if (boot_id.empty() || boot_id != bootId() || ::stat(path.c_str(), &facts) != 0) return false;
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid()) return false;
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t to_real_ns = clockNs(CLOCK_REALTIME) - monotonicNs();
  const int64_t changed_ns = int64_t{facts.st_mtim.tv_sec} * kSecond + facts.st_mtim.tv_nsec;
  return changed_ns + kSecond >= endOf(process.start_ns, to_real_ns);
}

}  // namespace

bool isAnonymousMapping(std::string_view module) {
  return module.starts_with("[anon") || module.starts_with("//anon") || module == "[heap]" ||
         module.starts_with("/memfd:");
}

JitCode::JitCode(const Trace& trace, std::string dir)
    : trace_(trace), dir_(std::move(dir)), owners_(trace.frame.size(), 0) {
  const CallPathTable& paths = trace.call_path;
  std::vector<uint32_t> path_owners(paths.size(), 0);
  forEachTable(trace, [&](const auto& table) {
    if constexpr (requires {
                    table.call_path_id;
                    table.process_id;
                  }) {
      for (size_t row = 0; row < table.size(); ++row) {
        const auto process = static_cast<uint32_t>(table.process_id[row]);
        auto i = static_cast<size_t>(table.call_path_id[row]);
        while (process != 0 && i != 0 && i <= paths.size() && own(path_owners[i - 1], process)) {
          i = static_cast<size_t>(paths.parent[i - 1]);
        }
      }
    }
  });
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto frame = static_cast<size_t>(paths.frame[i]);
    if (path_owners[i] == 0 || frame == 0 || frame > owners_.size()) continue;
    if (path_owners[i] == kMany) {
      owners_[frame - 1] = kMany;
    } else {
      own(owners_[frame - 1], path_owners[i]);
    }
  }
}

const std::optional<PerfMap>& JitCode::mapOf(ProcessId process) {
  const auto [it, fresh] = maps_.try_emplace(process);
  if (!fresh || indexOf(process) >= trace_.process.size()) return it->second;
  const ProcessRow row = trace_.process.row(indexOf(process));
  const std::string path = fmt::format("{}/perf-{}.map", dir_, row.pid);
  if (!belongsTo(path, row, trace_.text(row.boot_id))) return it->second;
  if (Result<PerfMap> map = PerfMap::load(path)) it->second = std::move(*map);
  return it->second;
}

std::string_view JitCode::find(FrameId frame, uint64_t address, NoSymbol& why) {
  const uint32_t owner = owners_[indexOf(frame)];
  why = owner == kMany ? NoSymbol::kTwoPrograms : NoSymbol::kNoModule;
  if (owner == 0 || owner == kMany) return {};
  const std::optional<PerfMap>& map = mapOf(static_cast<ProcessId>(owner));
  return map ? map->find(address) : std::string_view{};
}

}  // namespace tracesmith
