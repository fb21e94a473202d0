// SPDX-License-Identifier: Apache-2.0
// What the end-to-end capture tests share: a directory of their own, helper programs, recordings of
// real programs on a real OpenCL device.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/capture/launch/profile_session.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {

/// A finished recording as a reader finds it.
struct Recording {
  ProfileOutcome outcome;
  Trace trace;
  bool complete = false;
  size_t damaged = 0;  ///< stretches of the file that could not be read
};

/// How a child that a test started has ended.
struct Ended {
  bool timed_out = false;  ///< it did not end in time and was killed
  int exit_code = -1;
  int signal = 0;
};

/// A child that a test started by itself.
struct SpawnOptions {
  std::string input = "/dev/null";  ///< file names
  std::string output;               ///< "": ours
  std::string error;
  std::string directory;
  std::vector<std::string> environment;  ///< NAME=VALUE, added to ours
  uint64_t largest_file = 0;             ///< RLIMIT_FSIZE; 0: no limit
  bool own_group = false;
  bool close_input = false;
};
pid_t spawn(const std::vector<std::string>& command, const SpawnOptions& options = {});
Ended waitFor(pid_t pid, double seconds = 60);
Ended run(const std::vector<std::string>& command, const SpawnOptions& options = {},
          double seconds = 60);

std::string readFile(const std::string& path);
/// Lines "name value" as a map; missing file: empty.
std::map<std::string, std::string> readReport(const std::string& path);
uint64_t number(const std::map<std::string, std::string>& report, const std::string& name);

/// A helper program or layer of the tests, by name.
std::string helper(const std::string& name);
bool haveOpenClDevice();
/// The file of the system's OpenCL loader.
std::string systemLoader();

class RecordingTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  const std::string& directory() const { return directory_; }
  std::vector<std::string> filesLeft() const;  ///< names in the directory, sorted

  ProfileOptions options(std::vector<std::string> command) const;
  /// Runs it and reads the trace (at options.output) back; a failure of ours fails the test.
  Recording record(const ProfileOptions& options) const;
  Recording record(std::vector<std::string> command) const {
    return record(options(std::move(command)));
  }
  /// Reads a trace, which must be undamaged.
  Recording load(const std::string& trace_path) const;
  /// Command line of the driver program: out.sbt and report in the directory.
  std::vector<std::string> driver(const std::vector<std::string>& words,
                                  const std::vector<std::string>& command) const;

 private:
  std::string directory_;
};

/// Sets a variable for the life of a scope.
class ScopedVariable {
 public:
  ScopedVariable(const std::string& name, const std::string& value);
  ~ScopedVariable();
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  std::string name_;
  std::string before_;
  bool had_one_;
};

/// The pair (process, correlation id) must be unique within each kind of device row and host call.
void expectNoDuplicates(const Trace& trace);
/// For each process: emitted = written + dropped, in its loss rows.
void expectLossesAddUp(const Trace& trace);

}  // namespace tracesmith
