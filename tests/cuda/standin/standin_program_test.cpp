// SPDX-License-Identifier: Apache-2.0
// The programs of the stand-ins do what they say, also without a tool.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "standin.hpp"

namespace {

struct Ran {
  int status = -1;
  std::string output;
  // A count of the last JSON object, or -1.
  long at(const std::string& key) const {
    const size_t found = output.rfind("\"" + key + "\": ");
    return found == std::string::npos ? -1 : std::atol(output.c_str() + found + key.size() + 4);
  }
};

Ran run(const std::string& command, const std::string& script = "") {
  Ran made;
  const std::string line = "STANDIN_SCRIPT='" + script +
                           "' LD_LIBRARY_PATH=" STANDIN_FOLDER " " STANDIN_FOLDER "/" + command;
  FILE* pipe = popen(line.c_str(), "r");
  char text[4096];
  while (pipe != nullptr && std::fgets(text, sizeof text, pipe) != nullptr) made.output += text;
  made.status = pipe != nullptr ? pclose(pipe) : -1;
  return made;
}

TEST(StandinProgram, SaysWhatItQueuedBeforeItIsKilled) {
  const Ran busy = run("standin_program busy 40");
  EXPECT_TRUE(WIFSIGNALED(busy.status) || WEXITSTATUS(busy.status) == 128 + SIGKILL);
  EXPECT_EQ(busy.at("synchronized_kernels"), 100);
  EXPECT_EQ(busy.at("queued_kernels"), 40);
  EXPECT_EQ(busy.at("kernels"), 140);
}

TEST(StandinProgram, ExecutesItself) {
  const Ran exec = run("standin_program exec");
  EXPECT_EQ(exec.status, 0);
  EXPECT_EQ(exec.at("kernels"), 50);
  EXPECT_EQ(exec.at("before_kernels"), 100);
}

TEST(StandinProgram, WorksOnTwoDevices) {
  const Ran both = run("standin_program two_devices", "devices=2");
  EXPECT_EQ(both.status, 0);
  EXPECT_EQ(both.at("devices"), 2);
  EXPECT_EQ(both.at("contexts"), 3);
  EXPECT_EQ(both.at("kernels"), 60);
  EXPECT_EQ(both.at("second_device_kernels"), 30);
  EXPECT_EQ(both.at("peer_copies"), 2);
  EXPECT_NE(run("standin_program two_devices").status, 0);
}

TEST(StandinProgram, AllocatesMovesAndCaptures) {
  const Ran memory = run("standin_program memory 3");
  EXPECT_EQ(memory.status, 0);
  EXPECT_EQ(memory.at("allocations"), 15);
  EXPECT_EQ(memory.at("frees"), 15);
  EXPECT_EQ(memory.at("allocated_bytes"), 5 * 4096 * 6);
  const Ran managed = run("standin_program managed");
  EXPECT_EQ(managed.status, 0);
  EXPECT_EQ(managed.at("migrated_htod"), 11);
  EXPECT_EQ(managed.at("gpu_faults"), 10);
  const Ran capture = run("standin_program capture 7");
  EXPECT_EQ(capture.status, 0);
  EXPECT_EQ(capture.at("graph_kernels"), 14);
  EXPECT_EQ(capture.at("graph_copies"), 7);
}

TEST(StandinProgram, ResetsItsContext) {
  const Ran reset = run("standin_program reset");
  EXPECT_EQ(reset.status, 0);
  EXPECT_EQ(reset.at("contexts"), 2);
  EXPECT_EQ(reset.at("kernels"), 100);
}

TEST(StandinProgram, LeavesACall) {
  const Ran left = run("standin_program longjmp");
  EXPECT_EQ(left.status, 0);
  EXPECT_EQ(left.at("abandoned_calls"), 1);
  EXPECT_EQ(left.at("kernels"), 201);
}

TEST(StandinProgram, ItsChildrenEndBeforeItsKernels) {
  const Ran forked = run("standin_program child_exit");
  EXPECT_EQ(forked.status, 0);
  EXPECT_EQ(forked.at("children"), 1);
  EXPECT_LT(forked.at("child_ms"), 400);
}

TEST(StandinProgram, HasManyThreadsAtOnce) {
  const Ran many = run("standin_program many_threads 300");
  EXPECT_EQ(many.status, 0);
  EXPECT_EQ(many.at("threads"), 300);
  EXPECT_EQ(many.at("kernels"), 1200);
}

TEST(StandinProgram, UsesTheRuntime) {
  const Ran launches = run("standin_runtime_program launches 100 2");
  EXPECT_EQ(launches.status, 0);
  EXPECT_EQ(launches.at("kernels"), 100);
  EXPECT_EQ(launches.at("extended_launches"), 25);
  EXPECT_EQ(launches.at("runtime_calls"), 118);
  EXPECT_EQ(run("standin_runtime_program threads 4 50").at("kernels"), 200);
  EXPECT_EQ(run("standin_runtime_program capture 5").at("graph_kernels"), 10);
  EXPECT_EQ(run("standin_runtime_program memory 2").at("allocations"), 8);
  EXPECT_EQ(run("standin_runtime_program reset").at("kernels"), 100);
  EXPECT_EQ(run("standin_runtime_program two_devices", "devices=2").at("kernels"), 50);
  EXPECT_EQ(run("standin_runtime_program longjmp").at("abandoned_calls"), 1);
  EXPECT_EQ(run("standin_runtime_program mixed 10").at("driver_launches"), 5);
}

TEST(StandinProgram, UsesNvtx) {
  const Ran plain = run("standin_nvtx_program 3");
  if (WEXITSTATUS(plain.status) == 127) GTEST_SKIP() << "no headers of NVTX";
  EXPECT_EQ(plain.status, 0);
  EXPECT_EQ(plain.at("injected"), 0);
  EXPECT_EQ(plain.at("push_ranges"), 18);
  EXPECT_EQ(plain.at("process_ranges"), 10);
  EXPECT_EQ(plain.at("kernels"), 12);
  setenv("NVTX_INJECTION64_PATH", STANDIN_INJECTION, 1);
  EXPECT_EQ(run("standin_nvtx_program 3").at("injected"), 1);
  unsetenv("NVTX_INJECTION64_PATH");
}

TEST(StandinProgram, FinalizesOnlyACuptiThatIsThere) {
  const Ran without = run("standin_program finalize");
  EXPECT_EQ(without.status, 0);
  EXPECT_EQ(without.at("finalizes"), 0);
  EXPECT_EQ(without.at("kernels"), 200);
}

}  // namespace
