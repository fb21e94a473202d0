// SPDX-License-Identifier: Apache-2.0
// Executes a recording again, and compares what it computes with what the program got.
//   replay_example [TRACE]     (default: a recording of opencl_demo, which it makes)
// TRACE: what `tracesmith profile --record` has written. Exit codes: 0 all data was equal; 1 it was
// not, or something failed; 77 there is no OpenCL device.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <tracesmith/tracesmith.hpp>

namespace ts = tracesmith;

namespace {

int fail(const std::string& why) {
  std::fprintf(stderr, "replay_example: %s\n", why.c_str());
  return 1;
}

/// Records opencl_demo with the command that lies beside this program.
bool record(const std::string& path) {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  const std::string command = "'" + here + "/tracesmith' profile -q --record -o '" + path +
                              "' -- '" + here + "/opencl_demo' > /dev/null";
  return std::system(command.c_str()) == 0;
}

bool show(const char* what, const ts::ReplayResult& result) {
  std::printf("%s\n%s\n", what, result.summary().c_str());
  for (const std::string& error : result.errors) std::printf("error: %s\n", error.c_str());
  return result.success;
}

}  // namespace

int main(int argc, char** argv) {
  if (!ts::isOpenCLAvailable()) {
    std::fprintf(stderr, "replay_example: there is no OpenCL device\n");
    return 77;
  }
  const std::string path = argc > 1 ? argv[1] : "replay_example.sbt";
  if (argc < 2 && !record(path)) return fail("opencl_demo could not be recorded");
  ts::ReplayEngine engine;
  if (auto loaded = engine.loadTrace(path); !loaded) return fail(loaded.error().toString());
  std::set<uint32_t> streams;
  for (const ts::StreamOperation& operation : engine.operations()) {
    streams.insert(operation.stream_id);
  }
  std::printf("%s: %zu operations in %zu streams\n\n", path.c_str(), engine.operations().size(),
              streams.size());

  const ts::ReplayResult whole = engine.replay({});
  bool good = show("All of it:", whole) && whole.deterministic;
  ts::ReplayConfig one;
  one.mode = ts::ReplayMode::StreamSpecific;
  one.stream_id = *streams.rbegin();
  good = show("\nOne stream, with what it needs:", engine.replay(one)) && good;
  ts::ReplayConfig simulated;
  simulated.device = "simulated";  // a virtual clock: nothing is executed
  good = show("\nOn a simulated device:", engine.replay(simulated)) && good;
  return good ? 0 : 1;
}
