// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/host_ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/base/temp_folder_test_util.hpp"
#include "tracesmith/capture/processes/process_facts.hpp"
#include "tracesmith/capture/session_directory/session_files.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HostRankVariables : public ::testing::Test {
 protected:
  HostRankVariables() {
    for (const char* name : kAll) ::unsetenv(name);
  }
  ~HostRankVariables() override {
    for (const char* name : kAll) ::unsetenv(name);
  }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
  static std::pair<uint32_t, uint32_t> found() {
    const auto rank = hostRank();
    return rank ? std::pair(rank->number, rank->count) : std::pair(99U, 99U);
  }
  static constexpr const char* kAll[] = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                         "OMPI_COMM_WORLD_LOCAL_SIZE",
                                         "MPI_LOCALRANKID",
                                         "MPI_LOCALNRANKS",
                                         "SLURM_LOCALID",
                                         "SLURM_NODEID",
                                         "SLURM_STEP_TASKS_PER_NODE",
                                         "OMPI_MCA_ess_base_jobid",
                                         "PMIX_NAMESPACE",
                                         "SLURM_JOB_ID",
                                         "SLURM_STEP_ID"};
};

TEST_F(HostRankVariables, OfEachLauncher) {
  EXPECT_FALSE(hostRank());
  set("SLURM_LOCALID", "2");
  EXPECT_FALSE(hostRank()) << "nobody says how many there are";
  set("SLURM_NODEID", "2");
  set("SLURM_STEP_TASKS_PER_NODE", "4(x2),3");
  EXPECT_EQ(found(), std::pair(2U, 3U));
  set("SLURM_NODEID", "1");
  EXPECT_EQ(found(), std::pair(2U, 4U));
  set("SLURM_NODEID", "3");
  EXPECT_FALSE(hostRank());
  set("MPI_LOCALRANKID", "1");
  set("MPI_LOCALNRANKS", "8");
  EXPECT_EQ(found(), std::pair(1U, 8U));
  set("OMPI_COMM_WORLD_LOCAL_RANK", "0");
  set("OMPI_COMM_WORLD_LOCAL_SIZE", "1");
  EXPECT_EQ(found(), std::pair(0U, 1U));
  set("SLURM_JOB_ID", "77");
  EXPECT_EQ(hostRank()->job, "77 ");
}

TEST(HostRanks, WaitForRanksThatMayJoinAndForThoseThatRun) {
  test::TempFolder folder;
  auto dir = SessionDir::create(folder.path("x.sbt"));
  ASSERT_TRUE(dir) << dir.error().toString();
  auto ranks = HostRanks::open(*dir, {.number = 0, .count = 2, .job = "7"}, "", "");
  ASSERT_TRUE(ranks) << ranks.error().toString();
  EXPECT_TRUE(dir->files().has(kOpenRanksName));
  const int64_t now = monotonicNs();
  EXPECT_THAT(ranks->takeJoined(now), IsEmpty());
  EXPECT_EQ(ranks->missing(), 1U);
  EXPECT_TRUE(ranks->areExpected(now, now));
  EXPECT_FALSE(ranks->areExpected(now + 3'000'000'000, now)) << "it does not come";

  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto stat = readProcessStat(static_cast<uint32_t>(child));
  ASSERT_TRUE(stat);
  std::ofstream(dir->path() + "/" + std::to_string(child) + "." +
                std::to_string(stat->start_ticks) + kRankSuffix);
  EXPECT_THAT(ranks->takeJoined(now + 1), IsEmpty()) << "it looks 20 times a second";
  EXPECT_THAT(ranks->takeJoined(now + 100'000'000), ElementsAre(child));
  EXPECT_THAT(ranks->takeJoined(now + 200'000'000), IsEmpty());
  EXPECT_FALSE(ranks->isClosed());
  EXPECT_EQ(ranks->missing(), 0U);
  EXPECT_TRUE(ranks->areExpected(now + 61'000'000'000, now)) << "it runs";
  ranks->close();
  EXPECT_FALSE(dir->files().has(kOpenRanksName));
  EXPECT_TRUE(ranks->areExpected(now, now));
  EXPECT_THAT(ranks->takeJoined(now + 300'000'000), IsEmpty());
  EXPECT_TRUE(ranks->areExpected(now, now)) << "its file is there";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(ranks->areExpected(now, now));
  dir->remove();
}

TEST(HostRanks, TheOutputHasTheNameOfTheHost) {
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof host - 1), 0);
  EXPECT_EQ(withHostName("some.folder/job.sbt"), std::string("some.folder/job-") + host + ".sbt");
  EXPECT_EQ(withHostName("job"), std::string("job-") + host);
}

}  // namespace
}  // namespace tracesmith
