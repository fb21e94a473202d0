// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/timing/runtime_frames.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tracesmith/analysis/report/report.hpp"
#include "tracesmith/analysis/timing/call_path_costs.hpp"

namespace tracesmith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Builds a trace from stacks given outermost first, as "module:function".
class Stacks {
 public:
  CallPathId add(const std::vector<std::string>& frames) {
    CallPathId path = CallPathId::kNone;
    for (const std::string& frame : frames) path = below(path, frameOf(frame));
    return path;
  }
  std::vector<std::string> shown(CallPathId path) const {
    std::vector<std::string> names;
    for (const FrameId frame : framesOf(withoutRuntimeFrames(trace), path)) {
      names.emplace_back(trace.text(trace.frame.function[indexOf(frame)]));
    }
    return names;
  }
  Trace trace;

 private:
  FrameId frameOf(const std::string& text) {
    const auto [it, fresh] = frames_.try_emplace(text, idAt<FrameId>(frames_.size()));
    if (fresh) {
      const size_t colon = text.find(':');
      const std::string module = text.substr(0, colon);
      trace.frame.push({.address = module == "Python" ? 0u : 4096u + 16 * trace.frame.size(),
                        .function = trace.strings.intern(text.substr(colon + 1)),
                        .module = trace.strings.intern(module)});
    }
    return it->second;
  }
  CallPathId below(CallPathId parent, FrameId frame) {
    const auto [it, fresh] =
        paths_.try_emplace({parent, frame}, idAt<CallPathId>(trace.call_path.size()));
    if (fresh) trace.call_path.push({.parent = parent, .frame = frame});
    return it->second;
  }
  std::map<std::string, FrameId> frames_;
  std::map<std::pair<CallPathId, FrameId>, CallPathId> paths_;
};

const std::vector<std::string> kStart = {"/usr/bin/python3.11:_start",
                                         "/lib/x86_64-linux-gnu/libc.so.6:__libc_start_main",
                                         "/usr/bin/python3.11:Py_BytesMain"};

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(RuntimeFrames, ACallOfPythonsCtypesShowsWhatThePersonWrote) {
  Stacks stacks;
  const CallPathId path =
      stacks.add(kStart + std::vector<std::string>{
                              "Python:<module>", "/usr/bin/python3.11:PyObject_Call",
                              "Python:forward", "/usr/bin/python3.11:cfunction_call",
                              "/usr/lib/_ctypes.cpython-311.so:PyCFuncPtr_call",
                              "/lib/libffi.so.8:ffi_call", "/lib/libffi.so.8:ffi_call_int"});
  EXPECT_THAT(stacks.shown(path), ElementsAre("<module>", "forward"));
  EXPECT_EQ(framesOf(stacks.trace, path).size(), 10U) << "the trace keeps all of them";
}

TEST(RuntimeFrames, AnExtensionOfTheProgramAndWhatItCallsStay) {
  Stacks stacks;
  const CallPathId path =
      stacks.add(kStart + std::vector<std::string>{"Python:train", "/usr/bin/python3.11:vectorcall",
                                                   "/site-packages/pyopencl/_cl.so:enqueue",
                                                   "/lib/x86_64-linux-gnu/libc.so.6:qsort",
                                                   "/site-packages/pyopencl/_cl.so:compare"});
  EXPECT_THAT(stacks.shown(path), ElementsAre("train", "enqueue", "qsort", "compare"));
}

TEST(RuntimeFrames, WithoutPythonFunctionsTheInterpreterStays) {
  Stacks stacks;
  const CallPathId native = stacks.add(kStart + std::vector<std::string>{"/app/x.so:init"});
  EXPECT_THAT(stacks.shown(native),
              ElementsAre("_start", "__libc_start_main", "Py_BytesMain", "init"));
  const CallPathId program =
      stacks.add({"/app/a:_start", "/lib/libc.so.6:__libc_start_main", "/app/a:main",
                  "/lib64/ld-linux-x86-64.so.2:_dl_runtime_resolve", "/app/a:launch"});
  EXPECT_THAT(stacks.shown(program), ElementsAre("_start", "__libc_start_main", "main", "launch"));
}

TEST(RuntimeFrames, AStackOfNothingElseKeepsItsInnermostFrame) {
  Stacks stacks;
  const CallPathId path = stacks.add({"/lib/ld-linux-x86-64.so.2:_start", "/lib/libffi.so.8:ffi"});
  EXPECT_THAT(stacks.shown(path), ElementsAre("ffi"));
}

TEST(RuntimeFrames, ModulesAreToldByTheirNamesAlone) {
  for (const char* path : {"/usr/bin/python3.11", "python", "/opt/lib/libpython3.13t.so.1.0",
                           "/venv/bin/python3", "libpython3.12d.so"}) {
    EXPECT_TRUE(isInterpreterModule(path)) << path;
  }
  for (const char* path : {"/app/python_server", "/app/pythonic", "/lib/libpythonic.so", "[vdso]",
                           "/usr/bin/python3.11-gpu", ""}) {
    EXPECT_FALSE(isInterpreterModule(path)) << path;
  }
  for (const char* path : {"/lib/libffi.so.8.1.2", "/cffi.libs/libffi-ce22613.so.8.1.0",
                           "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"}) {
    EXPECT_TRUE(isTrampolineModule(path)) << path;
  }
  EXPECT_FALSE(isTrampolineModule("/app/libffi_user.so"));
  EXPECT_FALSE(isTrampolineModule("/app/ld-linked"));
}

TEST(RuntimeFrames, StacksThatDifferInSuchFramesOnlyAreOneLine) {
  Stacks stacks;
  const std::vector<std::string> train = {"Python:train"};
  const CallPathId one = stacks.add(kStart + train + std::vector<std::string>{"/l/libffi.so.8:a"});
  const CallPathId two = stacks.add(kStart + train + std::vector<std::string>{"/l/libffi.so.8:b"});
  for (const CallPathId path : {one, two}) {
    stacks.trace.host_call.push({.start_ns = 10, .duration_ns = 5, .call_path_id = path});
  }
  const auto rowsOf = [&](bool all_frames) {
    for (const ReportTable& table :
         analyze(stacks.trace, {.parts = {AnalysisPart::kHotspots}, .all_frames = all_frames})) {
      if (table.key == "call_paths") return table;
    }
    return ReportTable{};
  };
  const ReportTable folded = rowsOf(false);
  ASSERT_EQ(folded.rows.size(), 1U);
  EXPECT_EQ(std::get<std::string>(folded.rows[0][0]), "train");
  EXPECT_EQ(std::get<int64_t>(folded.rows[0][1]), 2);
  EXPECT_THAT(folded.note, HasSubstr("--all-frames"));
  const ReportTable all = rowsOf(true);
  EXPECT_EQ(all.rows.size(), 2U);
  EXPECT_THAT(std::get<std::string>(all.rows[0][0]), HasSubstr("Py_BytesMain"));
  EXPECT_THAT(all.note, Not(HasSubstr("--all-frames")));
}

/// Compares with the definition, applied to each stack separately.
TEST(RuntimeFrames, RandomStacksAreWhatTheDefinitionSays) {
  std::mt19937 random(7);
  const std::vector<std::string> kinds = {"Python:p", "/b/python3:i", "/l/libffi.so.8:f",
                                          "/l/libc.so.6:c", "/app/own:o"};
  Stacks stacks;
  std::map<CallPathId, std::vector<std::string>> given;
  for (int i = 0; i < 300; ++i) {
    std::vector<std::string> frames;
    for (size_t n = 1 + random() % 6; n > 0; --n) {
      frames.push_back(kinds[random() % kinds.size()] + std::to_string(random() % 2));
    }
    frames.emplace_back("Python:leaf");  // so that no stack depends on another one's frames
    given[stacks.add(frames)] = frames;
  }
  for (const auto& [path, frames] : given) {
    std::vector<std::string> wanted;
    for (const std::string& frame : frames) {
      const bool hidden = frame.find("libffi") != frame.npos ||
                          frame.find("python3") != frame.npos ||
                          (frame.find("libc") != frame.npos && wanted.empty());
      if (!hidden) wanted.push_back(frame.substr(frame.find(':') + 1));
    }
    EXPECT_EQ(stacks.shown(path), wanted);
  }
}

}  // namespace
}  // namespace tracesmith
