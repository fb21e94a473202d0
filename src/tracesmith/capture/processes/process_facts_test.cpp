// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/processes/process_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "tracesmith/base/clock.hpp"

namespace tracesmith {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

/// A child that runs `command` and is killed when the test ends.
class Child {
 public:
  explicit Child(std::vector<std::string> command, std::vector<std::string> environment = {}) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    std::vector<char*> arguments, variables;
    for (auto& word : command) arguments.push_back(word.data());
    for (auto& variable : environment) variables.push_back(variable.data());
    arguments.push_back(nullptr);
    variables.push_back(nullptr);
    ::execve(arguments[0], arguments.data(), variables.data());
    ::_exit(127);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  /// The facts once the child runs its own program and has its arguments: amid an exec the command
  /// line is "[name]".
  ProcessFacts facts() const {
    for (int i = 0; i < 1000; ++i) {
      auto facts = readProcessFacts(pid());
      if (facts && facts->executable != readProcessFacts(::getpid())->executable &&
          !facts->command_line.starts_with('[')) {
        return *facts;
      }
      ::usleep(1000);
    }
    ADD_FAILURE() << "the child did not start";
    return {};
  }

 private:
  pid_t pid_;
};

TEST(ProcessFacts, TellWhoAProcessIs) {
  const int64_t before = monotonicNs();
  const Child child({"/bin/sleep", "1000"});
  const ProcessFacts facts = child.facts();
  EXPECT_EQ(facts.pid, child.pid());
  EXPECT_EQ(facts.namespace_pid, child.pid());
  EXPECT_EQ(facts.ppid, static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(facts.command_line, "/bin/sleep 1000");
  EXPECT_THAT(facts.executable, EndsWith("/sleep"));
  EXPECT_EQ(facts.boot_id.size(), 36u);
  EXPECT_EQ(facts.pid_namespace, ownPidNamespace());
  EXPECT_EQ(facts.threads, 1u);
  EXPECT_FALSE(facts.zombie);
  // A tick is 10 ms at 100 Hz: the reported start is at most that much too early.
  const int64_t tick_ns = 1'000'000'000 / clockTicksPerSecond();
  EXPECT_GE(facts.start_ns, before - tick_ns);
  EXPECT_LE(facts.start_ns, monotonicNs());
}

TEST(ProcessFacts, QuoteHostileArgumentsSoThatAShellSplitsThemTheSameWay) {
  const std::vector<std::string> arguments = {
      "plain-1.0/x", "",          "two words",      "it's",  "new\nline\tand tab",
      "$(touch x)`", "\xff\x01'", "back\\sl'ash\n", "grüße", "\xc0\xaf"};
  std::string raw;
  for (const auto& a : arguments) raw += a + '\0';
  const std::string line = quoteCommandLine(raw);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_THAT(line, HasSubstr("grüße"));

  const std::string script = "printf '%s\\0' " + line;
  char path[] = "/tmp/tracesmith_quote_XXXXXX";
  const int fd = ::mkstemp(path);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::write(fd, script.data(), script.size()), static_cast<ssize_t>(script.size()));
  ::close(fd);
  FILE* shell = ::popen((std::string("bash ") + path).c_str(), "r");
  ASSERT_NE(shell, nullptr);
  std::string output(4096, '\0');
  output.resize(::fread(output.data(), 1, output.size(), shell));
  ::pclose(shell);
  ::unlink(path);
  EXPECT_EQ(output, raw);
}

TEST(ProcessFacts, CutLongCommandLinesAndSaySo) {
  const Child child({"/bin/sh", "-c", "kill -STOP $$; :", std::string(100'000, 'x')});
  const ProcessFacts facts = child.facts();
  EXPECT_LT(facts.command_line.size(), kMaxCommandLineBytes + 100);
  EXPECT_THAT(facts.command_line, EndsWith(" …"));
}

TEST(ProcessFacts, LeaveOutTheRestOfArgumentsThatATitleReplaced) {
  const std::string padding(100, '\0');
  EXPECT_EQ(quoteCommandLine("server: idle" + padding), "'server: idle'");
  EXPECT_EQ(quoteCommandLine(std::string("a\0\0\0", 4)), "a '' ''");
  EXPECT_EQ(quoteCommandLine("cut in the mid"), "'cut in the mid'");
  EXPECT_EQ(quoteCommandLine(""), "");
}

TEST(ProcessFacts, NameAZombieByWhatTheKernelKept) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NAME, "odd ) R 1\n(");
    ::_exit(0);
  }
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const auto facts = readProcessFacts(static_cast<uint32_t>(child));
  ASSERT_TRUE(facts) << facts.error().toString();
  EXPECT_TRUE(facts->zombie);
  EXPECT_EQ(facts->ppid, static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(facts->command_line, "[$'odd ) R 1\\n(']");
  EXPECT_EQ(environmentHas(static_cast<uint32_t>(child), "PATH"), std::nullopt);
  ::waitpid(child, nullptr, 0);
  const auto gone = readProcessFacts(static_cast<uint32_t>(child));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
}

// The first thread of a process may end by pthread_exit() while others continue.
TEST(ProcessFacts, DoNotTakeAProcessForDeadWhileOneOfItsThreadsRuns) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    pthread_t other;
    ::pthread_create(
        &other, nullptr,
        [](void*) -> void* {
          for (;;) ::pause();
        },
        nullptr);
    [[maybe_unused]] const ssize_t n = ::write(ready[1], "", 1);
    ::syscall(SYS_exit, 0);  // ends this thread only
  }
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  const auto pid = static_cast<uint32_t>(child);
  for (int i = 0; i < 1000 && readProcessStat(pid)->state != 'Z'; ++i) ::usleep(1000);
  EXPECT_EQ(readProcessStat(pid)->state, 'Z');
  EXPECT_TRUE(readProcessStat(pid)->runs());
  const auto facts = readProcessFacts(pid);
  ASSERT_TRUE(facts) << facts.error().toString();
  EXPECT_FALSE(facts->zombie);
  EXPECT_EQ(facts->executable, readProcessFacts(static_cast<uint32_t>(::getpid()))->executable);
  EXPECT_NE(facts->command_line.front(), '[');
  EXPECT_EQ(environmentHas(pid, "PATH"), std::optional(true));
  EXPECT_NE(std::ifstream(liveProcPath(pid, "maps")).get(), EOF);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(ProcessFacts, ParseOnlyWholeLinesOfStat) {
  const std::string good =
      "42 (a) b) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 123456 1000 200\n";
  const auto stat = parseProcessStat(good);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->comm, "a) b");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent_pid, 7u);
  EXPECT_EQ(stat->threads, 3u);
  EXPECT_EQ(stat->start_ticks, 123456u);
  for (size_t cut = 0; cut < good.find("123456"); ++cut)
    EXPECT_FALSE(parseProcessStat(good.substr(0, cut))) << cut;
  EXPECT_FALSE(parseProcessStat("42 (a) S -7 x"));
  EXPECT_FALSE(parseProcessStat(")("));
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string bent = good;
    for (int i = 0; i < 3; ++i) bent[random() % bent.size()] = static_cast<char>(random());
    (void)parseProcessStat(bent);  // must not crash; sanitizers watch
  }
}

TEST(ProcessFacts, TellWhatWasInTheEnvironment) {
  const Child child({"/bin/sleep", "1000"},
                    {"NOT_WANTED=1", "X=WANTED=1", "WANTED_TOO=", "LAST=1"});
  child.facts();
  EXPECT_EQ(environmentHas(child.pid(), "WANTED"), false);
  EXPECT_EQ(environmentHas(child.pid(), "WANTED_TOO"), true);
  EXPECT_EQ(environmentHas(child.pid(), "NOT_WANTED"), true);
  EXPECT_EQ(environmentHas(child.pid(), "LAST"), true);
  const Child bare({"/bin/sleep", "1000"});
  bare.facts();
  EXPECT_EQ(environmentHas(bare.pid(), "PATH"), false);
}

TEST(ProcessFacts, TellStaticProgramsFromThoseThatALinkerLoads) {
  EXPECT_FALSE(isStatic("/bin/sleep"));
  EXPECT_FALSE(isStatic("/proc/self/exe"));
  EXPECT_FALSE(isStatic("/etc/passwd"));
  EXPECT_FALSE(isStatic("/nonexistent"));
  EXPECT_FALSE(isStatic("/tmp"));
  char directory[] = "/tmp/tracesmith_static_XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  const std::string source = std::string(directory) + "/main.c";
  const std::string program = std::string(directory) + "/main";
  std::ofstream(source) << "int main(void) { return 0; }\n";
  const bool built =
      ::system(("cc -static -o " + program + " " + source + " 2>/dev/null").c_str()) == 0;
  const bool is_static = isStatic(program);
  const bool built_pie =
      ::system(("cc -static-pie -o " + program + " " + source + " 2>/dev/null").c_str()) == 0;
  const bool is_static_pie = isStatic(program);
  // Truncated within its headers: unreadable, so not reported as static.
  ASSERT_EQ(::truncate(program.c_str(), 70), 0);
  EXPECT_FALSE(isStatic(program));
  ::unlink(source.c_str());
  ::unlink(program.c_str());
  ::rmdir(directory);
  if (!built || !built_pie) GTEST_SKIP() << "no static C library here";
  EXPECT_TRUE(is_static);
  EXPECT_TRUE(is_static_pie);
}

TEST(ProcessFacts, ListThisProcessAmongAll) {
  const auto all = listProcesses();
  const auto self = std::find_if(all.begin(), all.end(), [](const ListedProcess& p) {
    return p.pid == static_cast<uint32_t>(::getpid());
  });
  ASSERT_NE(self, all.end());
  EXPECT_EQ(self->stat.parent_pid, static_cast<uint32_t>(::getppid()));
}

}  // namespace
}  // namespace tracesmith
