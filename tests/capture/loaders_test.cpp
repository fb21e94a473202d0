// SPDX-License-Identifier: Apache-2.0
// However a program comes to OpenCL, and through however many loaders, its calls are recorded or
// the trace says which are not.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "recording_test_util.hpp"
#include "tracesmith/capture/processes/launcher.hpp"

namespace tracesmith {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kLaunches = 5;

std::string replaced(std::string bytes, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; at += from.size()) {
    bytes.replace(at, from.size(), to);
  }
  return bytes;
}

class LoadersTest : public RecordingTest {
 protected:
  /// A copy of the system's loader, or of what is linked to it, that names itself `libOpen<tag>`.
  /// Older than layers where `layers` is false.
  std::string copyOf(const std::string& file, const std::string& name, const std::string& tag,
                     bool layers) const {
    std::string bytes = replaced(readFile(file), "libOpenCL.so.1", "libOpen" + tag + ".so.1");
    if (!layers) bytes = replaced(std::move(bytes), "OPENCL_LAYERS", "OPENCL_XXXXXX");
    std::ofstream(path(name), std::ios::binary) << bytes;
    std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
    return path(name);
  }
  std::string loader(const std::string& tag, bool layers) const {
    return copyOf(systemLoader(), "libOpen" + tag + ".so.1", tag, layers);
  }
  Recording through(Injection injection, const std::vector<std::string>& libraries) const {
    std::vector<std::string> command = {helper("cl_loaders"), std::to_string(kLaunches)};
    command.insert(command.end(), libraries.begin(), libraries.end());
    ProfileOptions o = options(command);
    o.injection = injection;
    Recording r = record(o);
    EXPECT_EQ(r.outcome.exit_code, 0);
    EXPECT_EQ(r.outcome.dropped, 0u);
    EXPECT_EQ(r.outcome.unresolved, 0u);
    expectNoDuplicates(r.trace);
    expectLossesAddUp(r.trace);
    return r;
  }
  /// Why calls are missing, as the trace has it.
  static std::string missing(const Trace& trace) {
    for (size_t i = 0; i < trace.loss.size(); ++i) {
      const LossRow row = trace.loss.row(i);
      if (trace.text(row.source) == "OpenCL libraries") return std::string(trace.text(row.reason));
    }
    return {};
  }
};

class LoaderTest : public LoadersTest, public ::testing::WithParamInterface<Injection> {};

TEST_P(LoaderTest, AnOpenedLoaderIsSeen) {
  const Recording r = through(GetParam(), {"libOpenCL.so.1"});
  EXPECT_EQ(r.trace.kernel.size(), kLaunches);
  EXPECT_EQ(missing(r.trace), "");
}

TEST_P(LoaderTest, EachOfTwoLoadersIsSeen) {
  const Recording r = through(GetParam(), {"libOpenCL.so.1", loader("AA", true)});
  EXPECT_EQ(r.trace.kernel.size(), 2 * kLaunches);
  EXPECT_EQ(missing(r.trace), "");
}

TEST_P(LoaderTest, CallsOfMoreLoadersThanTheAgentServesAreNamed) {
  std::vector<std::string> libraries = {"libOpenCL.so.1"};
  for (const char* tag : {"AA", "BB", "CC", "DD", "EE", "FF", "GG"}) {
    libraries.push_back(loader(tag, true));
  }
  const Recording r = through(GetParam(), libraries);
  EXPECT_EQ(r.trace.kernel.size(), 4 * kLaunches);
  for (const char* tag : {"DD", "EE", "FF", "GG"}) {
    const std::string name = std::string("libOpen") + tag + ".so.1";
    EXPECT_THAT(missing(r.trace), HasSubstr(name));
    EXPECT_THAT(r.outcome.warnings, ::testing::Contains(HasSubstr(name)));
  }
}

/// Each knows only its own objects, also where the driver calls us on a thread of its own.
TEST_P(LoaderTest, ACallReachesTheLoaderThatTheProgramAsked) {
  const bool layer = GetParam() == Injection::kLayer;
  const std::vector<std::string> libraries = {
      helper("named_loader_1.so"), helper("named_loader_3.so"),
      helper(layer ? "named_loader_1.so" : "named_loader_2.so"),
      helper(layer ? "named_loader_3.so" : "named_loader_4.so")};
  const Recording r = through(GetParam(), libraries);
  EXPECT_EQ(r.trace.kernel.size(), libraries.size() * kLaunches);
  EXPECT_EQ(missing(r.trace), "");
}

INSTANTIATE_TEST_SUITE_P(, LoaderTest, ::testing::Values(Injection::kLayer, Injection::kPreload),
                         [](const auto& each) {
                           return each.param == Injection::kLayer ? "Layer" : "Preload";
                         });

TEST_F(LoadersTest, APreloadedAgentSeesALoaderOlderThanLayers) {
  const Recording r =
      through(Injection::kPreload, {loader("AA", false), "libOpenCL.so.1", loader("BB", false)});
  EXPECT_EQ(r.trace.kernel.size(), 3 * kLaunches);
  EXPECT_EQ(missing(r.trace), "");
}

TEST_F(LoadersTest, ALayerNamesALoaderOlderThanLayers) {
  const Recording r = through(Injection::kLayer, {"libOpenCL.so.1", loader("AA", false)});
  EXPECT_EQ(r.trace.kernel.size(), kLaunches);
  EXPECT_THAT(missing(r.trace), HasSubstr("libOpenAA.so.1"));
  EXPECT_THAT(missing(r.trace), HasSubstr("--inject preload"));
}

TEST_F(LoadersTest, AProcessWithNothingButAnOlderLoaderIsNamed) {
  const Recording r = through(Injection::kLayer, {loader("CL", false)});
  EXPECT_EQ(r.outcome.gpu_processes, 0u);
  EXPECT_THAT(r.outcome.warnings, ::testing::Contains(HasSubstr("try --inject preload")));
}

/// Where the system's loader is older than layers the agent is preloaded, and is a layer besides.
TEST_F(LoadersTest, TheAutomaticChoiceSeesEachCallOnce) {
  const std::string with_layers = loader("AA", true);
  copyOf(systemLoader(), "libOpenCL.so.1", "CL", false);
  const ScopedVariable libraries("LD_LIBRARY_PATH", directory());
  SpawnOptions said;
  said.output = path("said");
  ASSERT_EQ(run(driver({}, {helper("cl_loaders"), std::to_string(kLaunches), "libOpenCL.so.1",
                            with_layers}),
                said)
                .exit_code,
            0);
  const Recording r = load(path("out.sbt"));
  EXPECT_EQ(r.trace.kernel.size(), 2 * kLaunches);
  EXPECT_EQ(missing(r.trace), "");
  expectNoDuplicates(r.trace);
  expectLossesAddUp(r.trace);
}

/// As a wheel of Python does that brings its own loader: the system may have none.
TEST_F(LoadersTest, AModuleGetsTheLoaderThatItIsLinkedTo) {
  for (const bool layers : {true, false}) {
    loader("AA", layers);
    const std::string module = copyOf(helper("cl_module"), "module", "AA", true);
    const ScopedVariable libraries("LD_LIBRARY_PATH", directory());
    ASSERT_EQ(run({helper("cl_dlopens"), module}).exit_code, 0);
    ProfileOptions o = options({helper("cl_dlopens"), module});
    o.injection = Injection::kPreload;
    const Recording r = record(o);
    EXPECT_EQ(r.outcome.exit_code, 0);
    EXPECT_EQ(r.outcome.kernels, 1u);
  }
}

/// What a library opened for itself before the agent came is nobody else's.
TEST_F(LoadersTest, ALoaderThatALibraryOpenedForItselfIsNotThatOfOthers) {
  const ScopedVariable opened("PRIVATE_LOADER", helper("named_loader_1.so"));
  ASSERT_EQ(run({helper("cl_private"), helper("cl_module")}).exit_code, 0);
  ProfileOptions o = options({helper("cl_private"), helper("cl_module")});
  o.injection = Injection::kPreload;
  const Recording r = record(o);
  EXPECT_EQ(r.outcome.exit_code, 0);
  EXPECT_EQ(r.outcome.kernels, 1u);
}

TEST_F(LoadersTest, DlsymAnswersAsWithoutTheAgent) {
  SpawnOptions alone, watched;
  alone.output = path("alone");
  watched.output = path("watched");
  const std::vector<std::string> command = {helper("cl_loaders"), "answers", "libOpenCL.so.1"};
  ASSERT_EQ(run(command, alone).exit_code, 0);
  ASSERT_EQ(run(driver({"preload"}, command), watched).exit_code, 0);
  EXPECT_THAT(readFile(path("alone")), HasSubstr("in the library: found, no error"));
  EXPECT_THAT(readFile(path("alone")), HasSubstr("by default: not found, error"));
  EXPECT_EQ(readFile(path("watched")), readFile(path("alone")));
}

/// A function that the program can do without is one of the preloaded library's, which refuses.
TEST_F(LoadersTest, ALibraryMayDefineAPartOfOpenCl) {
  const std::vector<std::string> command = {helper("cl_partial")};
  SpawnOptions alone, watched;
  alone.output = path("alone");
  watched.output = path("watched");
  ASSERT_EQ(run(command, alone).exit_code, 0);
  ASSERT_EQ(run(driver({"preload"}, command), watched).exit_code, 0);
  const std::string in_library = "in libcl_partial_library.so, named clCreateBuffer\n";
  const std::string in_agent = "in libtracesmith-opencl-preload.so, named clCreateBuffer\n";
  EXPECT_THAT(readFile(path("alone")), HasSubstr("buffer -4\n"));
  EXPECT_THAT(readFile(path("alone")), HasSubstr("by name " + in_library));
  EXPECT_THAT(readFile(path("watched")), HasSubstr("buffer -4\n"));
  EXPECT_THAT(readFile(path("watched")), HasSubstr("sampler -59\n"));
  EXPECT_THAT(readFile(path("watched")), HasSubstr("by name " + in_agent));
}

/// As `oclgrind PROGRAM` does.
TEST_F(LoadersTest, ADriverThatIsPreloadedIsNamed) {
  const std::string oclgrind = "/usr/lib/oclgrind/liboclgrind-rt.so";
  if (!std::filesystem::exists(oclgrind)) GTEST_SKIP() << oclgrind << " is not installed";
  const ScopedVariable in_front("LD_PRELOAD", oclgrind);
  for (const Injection injection : {Injection::kPreload, Injection::kLayer}) {
    ProfileOptions o = options({helper("cl_mix"), path("made"), "1", "10"});
    o.injection = injection;
    const Recording r = record(o);
    EXPECT_EQ(r.outcome.kernels, 0u);
    EXPECT_THAT(r.outcome.warnings, ::testing::Contains(HasSubstr("liboclgrind-rt.so")));
  }
}

}  // namespace
}  // namespace tracesmith
