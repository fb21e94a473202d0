// SPDX-License-Identifier: Apache-2.0
// Checks each design goal on this machine, and prints the measurements.
//   goal_validation_example
// A goal passes, fails, is not run (something it needs is missing on this machine) or is absent
// (this version does not have it). Exit codes: 0 nothing failed; 1 something failed; 77 there is no
// OpenCL device, so hardly anything could be run.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string_view>
#include <tracesmith/tracesmith.hpp>

#include "goals.hpp"

namespace goals {

Run run(const Place& place, const std::string& program, const std::string& arguments) {
  const std::string command =
      "cd '" + place.work + "' && '" + place.bin + "/" + program + "' " + arguments + " 2>&1";
  Run result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> part{};
  for (size_t n = 0; (n = fread(part.data(), 1, part.size(), pipe)) > 0;)
    result.output.append(part.data(), n);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return result;
}

}  // namespace goals

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--two-queues") return goals::twoQueues();
  using goals::Verdict;
  const std::map<Verdict, const char*> kNames = {{Verdict::kPass, "pass"},
                                                 {Verdict::kFail, "FAIL"},
                                                 {Verdict::kNotRun, "not run"},
                                                 {Verdict::kAbsent, "absent"}};
  if (!tracesmith::isOpenCLAvailable()) {
    std::fprintf(stderr, "goal_validation_example: there is no OpenCL device to check with\n");
    return 77;
  }
  std::error_code ec;
  std::string work = (std::filesystem::temp_directory_path() / "tracesmith-goals-XXXXXX").string();
  if (mkdtemp(work.data()) == nullptr) {
    std::perror(work.c_str());
    return 1;
  }
  const goals::Place place{std::filesystem::read_symlink("/proc/self/exe").parent_path().string(),
                           work};
  // The input of most checks: a program with two queues, recorded for replay.
  const goals::Run recorded = goals::run(
      place, "tracesmith", "profile --record -o run.sbt -- '" + place.bin + "/opencl_demo'");
  if (recorded.code != 0) std::printf("profile --record: %s\n", recorded.output.c_str());

  std::map<Verdict, int> counts;
  std::string phase;
  for (const auto& list :
       {goals::captureGoals(place), goals::timelineGoals(place), goals::replayGoals(place)}) {
    for (const goals::Goal& goal : list) {
      if (phase != goal.phase) std::printf("\n%s\n", goal.phase);
      phase = goal.phase;
      const goals::Outcome outcome = goal.check();
      ++counts[outcome.verdict];
      std::printf("  %-8s %-58s %s\n", kNames.at(outcome.verdict), goal.text,
                  outcome.figure.c_str());
      std::fflush(stdout);
    }
  }
  std::filesystem::remove_all(work, ec);
  std::printf("\n%d pass, %d fail, %d not run, %d absent\n", counts[Verdict::kPass],
              counts[Verdict::kFail], counts[Verdict::kNotRun], counts[Verdict::kAbsent]);
  return counts[Verdict::kFail] == 0 ? 0 : 1;
}
