// SPDX-License-Identifier: Apache-2.0
// The design goals, by phase, each with a check that measures something.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace goals {

enum class Verdict { kPass, kFail, kNotRun, kAbsent };

struct Outcome {
  Verdict verdict = Verdict::kFail;
  std::string figure;  ///< the measurement, or why there is none
};

struct Goal {
  const char* phase;
  const char* text;
  std::function<Outcome()> check;
};

inline Outcome judged(bool good, std::string figure) {
  return {good ? Verdict::kPass : Verdict::kFail, std::move(figure)};
}
inline Outcome notRun(std::string why) { return {Verdict::kNotRun, std::move(why)}; }
inline Outcome absent(std::string why) { return {Verdict::kAbsent, std::move(why)}; }

/// The folder of the built programs, and a folder for files.
struct Place {
  std::string bin;
  std::string work;
};

/// The exit code and the output of a built program.
struct Run {
  int code = -1;
  std::string output;
};
Run run(const Place& place, const std::string& program, const std::string& arguments);

/// `goal_validation_example --two-queues`: a kernel that must wait for a long kernel in another
/// queue.
int twoQueues();

std::vector<Goal> captureGoals(const Place& place);   // the whole, and phases 1 and 2
std::vector<Goal> timelineGoals(const Place& place);  // phase 3
std::vector<Goal> replayGoals(const Place& place);    // phases 4 and 5

}  // namespace goals
