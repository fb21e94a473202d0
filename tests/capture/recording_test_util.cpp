// SPDX-License-Identifier: Apache-2.0
#include "recording_test_util.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

void redirect(int fd, const std::string& file, int flags) {
  if (file.empty()) return;
  const int opened = open(file.c_str(), flags, 0600);
  if (opened < 0) _exit(99);
  dup2(opened, fd);
  close(opened);
}

std::filesystem::path binDirectory() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace

pid_t spawn(const std::vector<std::string>& command, const SpawnOptions& options) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (options.own_group) setpgid(0, 0);
  redirect(0, options.input, O_RDONLY);
  redirect(1, options.output, O_WRONLY | O_CREAT | O_TRUNC);
  redirect(2, options.error, O_WRONLY | O_CREAT | O_TRUNC);
  if (options.close_input) close(0);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(98);
  for (const std::string& entry : options.environment) {
    const size_t eq = entry.find('=');
    setenv(entry.substr(0, eq).c_str(), entry.c_str() + eq + 1, 1);
  }
  if (options.largest_file > 0) {
    const rlimit limit{options.largest_file, options.largest_file};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  execvp(argv[0], argv.data());
  _exit(97);
}

Ended waitFor(pid_t pid, double seconds) {
  Ended ended;
  const int64_t until = monotonicNs() + static_cast<int64_t>(seconds * 1e9);
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (monotonicNs() > until) {
      ended.timed_out = true;
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      break;
    }
    const timespec pause{0, 2'000'000};
    nanosleep(&pause, nullptr);
  }
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  return ended;
}

Ended run(const std::vector<std::string>& command, const SpawnOptions& options, double seconds) {
  return waitFor(spawn(command, options), seconds);
}

std::string readFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::map<std::string, std::string> readReport(const std::string& path) {
  std::map<std::string, std::string> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.find(' ');
    if (space != std::string::npos) out[line.substr(0, space)] = line.substr(space + 1);
  }
  return out;
}

uint64_t number(const std::map<std::string, std::string>& report, const std::string& name) {
  const auto it = report.find(name);
  EXPECT_NE(it, report.end()) << "the report has no " << name;
  return it == report.end() ? 0 : std::strtoull(it->second.c_str(), nullptr, 10);
}

std::string helper(const std::string& name) { return (binDirectory() / name).string(); }

std::string systemLoader() {
  void* const library = dlopen("libOpenCL.so.1", RTLD_LAZY);
  Dl_info info{};
  if (library == nullptr || dladdr(dlsym(library, "clFinish"), &info) == 0) return {};
  return std::filesystem::canonical(info.dli_fname).string();
}

bool haveOpenClDevice() {
  // In a child: a driver starts threads, and these tests fork.
  const pid_t pid = fork();
  if (pid == 0) {
    void* library = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (library == nullptr) _exit(1);
    using GetPlatforms = int (*)(unsigned, void*, unsigned*);
    auto get = reinterpret_cast<GetPlatforms>(dlsym(library, "clGetPlatformIDs"));
    unsigned count = 0;
    _exit(get != nullptr && get(0, nullptr, &count) == 0 && count > 0 ? 0 : 1);
  }
  return waitFor(pid).exit_code == 0;
}

void RecordingTest::SetUp() {
  // Compiled kernels are kept in the build tree, not in the user's home.
  const auto cache = binDirectory().parent_path() / "pocl_cache";
  setenv("POCL_CACHE_DIR", cache.c_str(), 1);
  std::filesystem::create_directories(cache);
  std::string pattern = (std::filesystem::temp_directory_path() / "tracesmith-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  directory_ = pattern;
  if (!haveOpenClDevice()) GTEST_SKIP() << "no OpenCL platform on this machine";
}

void RecordingTest::TearDown() {
  std::error_code ec;
  if (!directory_.empty() && !HasFailure()) std::filesystem::remove_all(directory_, ec);
  if (HasFailure()) std::fprintf(stderr, "files of the failed test: %s\n", directory_.c_str());
}

std::vector<std::string> RecordingTest::filesLeft() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ProfileOptions RecordingTest::options(std::vector<std::string> command) const {
  ProfileOptions o;
  o.command = std::move(command);
  o.output = path("out.sbt");
  return o;
}

Recording RecordingTest::record(const ProfileOptions& options) const {
  auto outcome = runProfile(options);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().toString();
    return {};
  }
  EXPECT_TRUE(outcome->trace_status) << outcome->trace_status.error().toString();
  Recording recording = load(options.output);
  EXPECT_TRUE(recording.complete);
  recording.outcome = std::move(*outcome);
  return recording;
}

Recording RecordingTest::load(const std::string& trace_path) const {
  Recording recording;
  auto reader = TraceReader::open(trace_path);
  if (!reader) {
    ADD_FAILURE() << reader.error().toString();
    return recording;
  }
  auto trace = reader->read();
  if (!trace) {
    ADD_FAILURE() << trace.error().toString();
    return recording;
  }
  recording.trace = std::move(*trace);
  recording.complete = reader->complete();
  recording.damaged = reader->losses().size();
  EXPECT_EQ(recording.damaged, 0u);
  return recording;
}

std::vector<std::string> RecordingTest::driver(const std::vector<std::string>& words,
                                               const std::vector<std::string>& command) const {
  std::vector<std::string> all = {helper("profile_driver"), path("out.sbt"), path("report")};
  all.insert(all.end(), words.begin(), words.end());
  all.emplace_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

ScopedVariable::ScopedVariable(const std::string& name, const std::string& value) : name_(name) {
  const char* before = getenv(name.c_str());
  had_one_ = before != nullptr;
  if (had_one_) before_ = before;
  setenv(name.c_str(), value.c_str(), 1);
}

ScopedVariable::~ScopedVariable() {
  if (had_one_) {
    setenv(name_.c_str(), before_.c_str(), 1);
  } else {
    unsetenv(name_.c_str());
  }
}

void expectNoDuplicates(const Trace& trace) {
  auto check = [](const auto& table, const char* what) {
    std::set<std::pair<ProcessId, uint64_t>> seen;
    size_t twice = 0;
    for (size_t i = 0; i < table.size(); ++i) {
      if (table.correlation_id[i] == 0) continue;
      twice += !seen.emplace(table.process_id[i], table.correlation_id[i]).second;
    }
    EXPECT_EQ(twice, 0u) << what << " rows with the correlation id of another";
  };
  check(trace.host_call, "host_call");
  check(trace.kernel, "kernel");
  check(trace.copy, "copy");
  check(trace.fill, "fill");
  check(trace.sync, "sync");
}

void expectLossesAddUp(const Trace& trace) {
  for (size_t i = 0; i < trace.loss.size(); ++i) {
    const LossRow row = trace.loss.row(i);
    EXPECT_EQ(row.emitted, row.written + row.dropped)
        << trace.text(row.source) << ": " << row.written << " + " << row.dropped;
    EXPECT_LE(row.unresolved, row.emitted);
  }
}

}  // namespace tracesmith
