// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/host_ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/capture/launch/agent_environment.hpp"
#include "tracesmith/capture/processes/launcher.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/protocol/process_log_layout.hpp"
#include "tracesmith/capture/session_directory/session_files.hpp"

namespace tracesmith {
namespace {

constexpr int64_t kRecorderNs = 60'000'000'000;  // until one that is there has its agents ready
constexpr int64_t kNoRecorderNs = 10'000'000'000;
/// For ranks that are missing when the first one has ended: all ranks start before one can end MPI.
constexpr int64_t kMissingNs = 2'000'000'000;
constexpr int64_t kLookNs = 50'000'000;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<uint32_t> numberIn(std::string_view text) {
  uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc()) return std::nullopt;
  return number;
}

/// Tasks of a node, from a list like "4(x2),3": 4 on the first two nodes, 3 on the third.
std::optional<uint32_t> tasksOfNode(std::string_view list, uint32_t node) {
  for (uint32_t first = 0; !list.empty();) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    const auto tasks = numberIn(item);
    if (!tasks) return std::nullopt;
    const size_t times = item.find("(x");
    const uint32_t nodes =
        times == std::string_view::npos ? 1 : numberIn(item.substr(times + 2)).value_or(1);
    if (node - first < nodes) return tasks;
    first += nodes;
  }
  return std::nullopt;
}

std::optional<uint32_t> tasksBySlurm() {
  const auto node = numberIn(variable("SLURM_NODEID"));
  return node ? tasksOfNode(variable("SLURM_STEP_TASKS_PER_NODE"), *node) : std::nullopt;
}

/// The content of ranks.open.
struct OpenRanks {
  uint32_t recorder = 0;  // process id
  uint64_t start_ticks = 0;
  std::string job, log, library;
};

std::string toText(const OpenRanks& open) {
  return fmt::format("{} {}\n{}\n{}\n{}\n", open.recorder, open.start_ticks, open.job, open.log,
                     open.library);
}

std::optional<OpenRanks> readOpenRanks(const PrivateDirectory& files) {
  const int fd = openWithin(files.fd(), kOpenRanksName, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::string text(16384, '\0');
  const ssize_t got = ::read(fd, text.data(), text.size());
  ::close(fd);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  OpenRanks open;
  std::istringstream in(text);
  if (!(in >> open.recorder >> open.start_ticks)) return std::nullopt;
  in.ignore();
  if (!std::getline(in, open.job) || !std::getline(in, open.log) ||
      !std::getline(in, open.library)) {
    return std::nullopt;  // being written
  }
  return open;
}

bool runs(uint32_t pid, uint64_t start_ticks) {
  const auto stat = readProcessStat(pid);
  return stat && stat->start_ticks == start_ticks && stat->runs();
}

std::string fileOfRank(uint32_t pid, uint64_t start_ticks) {
  return fmt::format("{}.{}{}", pid, start_ticks, kRankSuffix);
}

/// Joins the recording at `session`, if it is one of this job and takes ranks.
std::optional<OpenRanks> joinNow(const std::string& session, const HostRank& self) {
  const auto files = PrivateDirectory::open(session);
  if (!files) return std::nullopt;
  const std::optional<OpenRanks> open = readOpenRanks(*files);
  if (!open || open->job != self.job || !runs(open->recorder, open->start_ticks)) {
    return std::nullopt;
  }
  const auto stat = readProcessStat(static_cast<uint32_t>(::getpid()));
  if (!stat) return std::nullopt;
  const std::string own = fileOfRank(static_cast<uint32_t>(::getpid()), stat->start_ticks);
  const auto fd = files->createFile(own);
  if (!fd) return std::nullopt;
  ::close(*fd);
  // The recorder removes ranks.open before it looks for the last time, so it has seen ours if it is
  // still there.
  if (files->has(kOpenRanksName)) return open;
  files->removeFile(own);
  return std::nullopt;
}

}  // namespace

Result<HostRank> hostRank() {
  constexpr std::array<std::array<const char*, 2>, 3> kVariables = {{
      {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
      {"SLURM_LOCALID", ""},
  }};
  for (const auto& [rank, size] : kVariables) {
    const auto number = numberIn(variable(rank));
    const auto count = *size == '\0' ? tasksBySlurm() : numberIn(variable(size));
    if (!number || !count || *number >= *count) continue;
    HostRank found{*number, *count, {}};
    for (const char* name :
         {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID"}) {
      if (const std::string value = variable(name); !value.empty()) found.job += value + ' ';
    }
    return found;
  }
  return fail(
      ErrorCode::kUnsupported,
      "the ranks of this host are unknown: none of OMPI_COMM_WORLD_LOCAL_RANK, "
      "MPI_LOCALRANKID and SLURM_LOCALID is set. Start it as a rank: mpirun -n 4 tracesmith "
      "profile --per-host -- ./program",
      "--per-host");
}

std::string withHostName(const std::string& output) {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return output;
  std::string host = name.data();
  for (char& c : host) {
    if (c == '/') c = '_';
  }
  const std::filesystem::path path(output);
  return (path.parent_path() / (path.stem().string() + '-' + host + path.extension().string()))
      .string();
}

Error joinHostRanks(const ProfileOptions& options, const HostRank& self) {
  const std::string session = SessionDir::pathFor(options.output);
  Environment env;
  std::optional<OpenRanks> joined;
  const int64_t begin = monotonicNs();
  std::error_code ec;
  for (int64_t waited = 0; !joined; waited = monotonicNs() - begin) {
    const bool is_there = std::filesystem::exists(session, ec);
    if (waited > (is_there ? kRecorderNs : kNoRecorderNs)) break;
    joined = joinNow(session, self);
    if (!joined) ::usleep(20'000);
  }
  if (!joined) {
    std::fprintf(
        stderr,
        "tracesmith: warning: the first rank of this host does not record to %s; this rank "
        "runs unrecorded\n",
        options.output.c_str());
    return execProgram(options.command, env);
  }
  auto made = environmentFor(options, session);
  if (!made) return made.error();
  env = std::move(*made);
  if (!joined->library.empty()) {
    env.emplace_back(process_log::kEnvLog, joined->log);
    (void)preload(env, joined->library);  // the recorder has warned
  }
  return execProgram(options.command, env);
}

Result<HostRanks> HostRanks::open(const SessionDir& dir, const HostRank& self,
                                  const std::string& log, const std::string& library) {
  const auto stat = readProcessStat(static_cast<uint32_t>(::getpid()));
  if (!stat) return fail(ErrorCode::kIo, "cannot read this process's start time", "/proc/self");
  const std::string text = toText({.recorder = static_cast<uint32_t>(::getpid()),
                                   .start_ticks = stat->start_ticks,
                                   .job = self.job,
                                   .log = log,
                                   .library = library});
  TS_TRY(const int fd, dir.files().createFile(kOpenRanksName));
  const bool is_written =
      ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  if (!is_written) return failErrno(errno, "cannot write", dir.path() + "/" + kOpenRanksName);
  return HostRanks(dir, self.count);
}

std::vector<uint32_t> HostRanks::takeJoined(int64_t now_ns) {
  std::vector<uint32_t> pids;
  if (now_ns < next_look_ns_ || (missing() == 0 && !is_closed_)) return pids;
  next_look_ns_ = now_ns + kLookNs;
  std::map<uint32_t, uint64_t> there;
  for (const std::string& name : dir_.files().names()) {
    if (!name.ends_with(kRankSuffix)) continue;
    const std::string_view numbers = std::string_view(name).substr(0, name.find(kRankSuffix));
    const size_t dot = numbers.find('.');
    const auto pid = numberIn(numbers.substr(0, dot));
    uint64_t ticks = 0;
    if (!pid || dot == std::string_view::npos) continue;
    std::from_chars(numbers.data() + dot + 1, numbers.data() + numbers.size(), ticks);
    there[*pid] = ticks;
    if (joined_.try_emplace(*pid, ticks).second) pids.push_back(*pid);
  }
  // A rank that came too late removes its file again, and is not recorded.
  if (is_closed_) joined_ = std::move(there);
  return pids;
}

bool HostRanks::areExpected(int64_t now_ns, int64_t own_end_ns) const {
  if (!is_closed_ && missing() > 0 && now_ns - own_end_ns < kMissingNs) return true;
  return std::any_of(joined_.begin(), joined_.end(),
                     [](const auto& rank) { return runs(rank.first, rank.second); });
}

void HostRanks::close() {
  dir_.files().removeFile(kOpenRanksName);
  is_closed_ = true;
  next_look_ns_ = 0;
}

uint32_t HostRanks::missing() const {
  const auto there = static_cast<uint32_t>(joined_.size()) + 1;
  return count_ > there ? count_ - there : 0;
}

}  // namespace tracesmith
