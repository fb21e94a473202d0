// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/symbols/symbolizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/stacks/symbols/built_program_test_util.hpp"

namespace tracesmith {
namespace {

using test::buildIdOf;
using test::BuiltProgram;
using test::contentsOf;
using test::FunctionSymbol;
using test::outputOf;
using test::TempFolder;
using test::works;
using testing::HasSubstr;

constexpr const char* kGcc = "g++ -g -O2";

std::string shown(const std::vector<SymbolizedFrame>& frames) {
  std::ostringstream s;
  for (const SymbolizedFrame& f : frames)
    s << f.function << "\n" << f.file << ":" << f.line << "\n";
  return s.str();
}

const FunctionSymbol* named(const std::vector<FunctionSymbol>& functions, std::string_view name) {
  for (const FunctionSymbol& f : functions) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

class SymbolizerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!Symbolizer::isAvailable()) GTEST_SKIP() << "built without libdw";
    if (!works("g++ --version") || !works("objcopy --version")) GTEST_SKIP() << "no g++ or objcopy";
  }
  static std::vector<SymbolizedFrame> lookup(const std::string& path, uint64_t address,
                                             SymbolizerOptions options = {}) {
    return Symbolizer(std::move(options)).lookup({path, buildIdOf(path), address, true});
  }
  FrameId frame(const std::string& module, uint64_t offset, const std::string& build_id,
                uint32_t flags = 0) {
    trace.frame.push({.address = 0x7f0000000000 + offset,
                      .module = trace.strings.intern(module),
                      .module_offset = offset,
                      .build_id = trace.strings.intern(build_id),
                      .flags = flags});
    return idAt<FrameId>(trace.frame.size() - 1);
  }
  std::string nameOf(FrameId id) const {
    const FrameSymbols names(trace);
    std::vector<FrameFunction> functions;
    names.functions(id, functions);
    return functions.empty() ? "" : names.label(id, functions.back());
  }

  TempFolder folder;
  Trace trace;
};

/// LLVM's spelling of lambdas.
std::string llvmSpelling(std::string text) {
  const std::string gnu = "{lambda(int)#1}";
  for (size_t at = 0; (at = text.find(gnu, at)) != std::string::npos;) {
    text.replace(at, gnu.size(), "'lambda'(int)");
  }
  return text;
}

/// The output of llvm-symbolizer, without columns, and without the linker's names that it uses
/// where the compiler cloned a function ("f(int) (.isra.0)").
std::vector<std::string> asLlvmSays(const std::string& path, const std::string& addresses) {
  const std::string text =
      outputOf("llvm-symbolizer-14 --no-untag-addresses --output-style=LLVM --obj=" + path + " <" +
               addresses);
  std::vector<std::string> answers(1);
  std::istringstream lines(text);
  bool is_place = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      answers.emplace_back();
      is_place = false;
      continue;
    }
    const size_t cut = is_place ? line.rfind(':') : line.find(" (.");
    answers.back() += line.substr(0, cut) + "\n";
    is_place = !is_place;
  }
  return answers;
}

TEST_F(SymbolizerTest, EveryInstructionIsInTheFunctionsAndLinesThatLlvmSays) {
  if (!works("llvm-symbolizer-14 --version")) GTEST_SKIP() << "no llvm-symbolizer-14";
  const std::pair<const char*, std::string> ways[] = {
      {"pie", kGcc},
      {"fixed", std::string(kGcc) + " -no-pie -gdwarf-4"},
      {"library.so", std::string(kGcc) + " -shared -fPIC -DLIBRARY"},
      {"unoptimised", "g++ -g -O0"},
      {"clang", "clang++-14 -g -O2 -gdwarf-4"},
  };
  for (const auto& [name, compiler] : ways) {
    const BuiltProgram program(folder, name, compiler);
    if (program.path().empty()) continue;  // this compiler is not installed
    std::vector<uint64_t> addresses;
    std::ofstream list(folder.path("addresses"));
    for (const FunctionSymbol& f : program.functions()) {
      for (uint64_t a = f.address; a < f.address + f.size; ++a) {
        addresses.push_back(a);
        list << "0x" << std::hex << a << "\n";
      }
    }
    list.close();
    ASSERT_GT(addresses.size(), 100u) << name;
    const std::vector<std::string> theirs = asLlvmSays(program.path(), folder.path("addresses"));
    ASSERT_GE(theirs.size(), addresses.size()) << name;
    Symbolizer symbolizer;
    const std::string build_id = buildIdOf(program.path());
    size_t inlined = 0;
    for (size_t i = 0; i < addresses.size(); ++i) {
      const auto ours = symbolizer.lookup({program.path(), build_id, addresses[i], true});
      ASSERT_EQ(llvmSpelling(shown(ours)), theirs[i]) << name << " " << std::hex << addresses[i];
      inlined += ours.size() > 2;
    }
    EXPECT_GT(inlined, 0u) << name;
  }
}

TEST_F(SymbolizerTest, AReturnAddressIsThatOfItsCall) {
  const BuiltProgram program(folder, "p", kGcc);
  const auto functions = program.functions();
  const FunctionSymbol* const f = named(functions, "plain");
  ASSERT_NE(f, nullptr);
  // Another function may start after the last instruction.
  Symbolizer symbolizer;
  const auto frames =
      symbolizer.lookup({program.path(), buildIdOf(program.path()), f->address + f->size, false});
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().function, "plain");
}

TEST_F(SymbolizerTest, WithoutDebugInformationTheSymbolTablesName) {
  const BuiltProgram program(folder, "lib.so", "g++ -O2 -shared -fPIC -DLIBRARY");
  const auto functions = program.functions();
  for (const bool stripped : {false, true}) {
    ASSERT_TRUE(works((stripped ? "strip " : "nm ") + program.path()));
    const auto name = [&](const char* function) {
      return shown(lookup(program.path(), named(functions, function)->address + 1));
    };
    EXPECT_EQ(name("app::outer(int)"), "app::outer(int)\n:0\n");
    EXPECT_EQ(name("app::(anonymous namespace)::hidden(int)"),
              stripped ? "" : "app::(anonymous namespace)::hidden(int)\n:0\n");
  }
}

TEST_F(SymbolizerTest, ADistributionsSmallCompressedTableNames) {
  if (!works("xz --version")) GTEST_SKIP() << "no xz";
  const BuiltProgram program(folder, "p", "g++ -O2");
  const auto functions = program.functions();
  const std::string p = program.path();
  ASSERT_TRUE(works("objcopy --only-keep-debug " + p + " " + p + ".mini && strip " + p + " && xz " +
                    p + ".mini && objcopy --add-section .gnu_debugdata=" + p + ".mini.xz " + p));
  EXPECT_EQ(shown(lookup(p, named(functions, "app::outer(int)")->address)),
            "app::outer(int)\n:0\n");
}

TEST_F(SymbolizerTest, DebugInformationIsFoundByBuildIdAndByName) {
  const BuiltProgram program(folder, "p", std::string(kGcc) + " -Wl,--build-id");
  const BuiltProgram without(folder, "q", std::string(kGcc) + " -Wl,--build-id=none");
  for (const BuiltProgram* const built : {&program, &without}) {
    const std::string p = built->path();
    const uint64_t address = named(built->functions(), "app::outer(int)")->address;
    const std::string whole = shown(lookup(p, address));
    ASSERT_THAT(whole, HasSubstr(".cpp:"));
    ASSERT_TRUE(works("objcopy --only-keep-debug " + p + " " + p + ".debug && strip " + p +
                      " && objcopy --add-gnu-debuglink=" + p + ".debug " + p));
    EXPECT_EQ(shown(lookup(p, address)), whole) << "beside it";

    const std::string id = buildIdOf(p);
    EXPECT_EQ(id.empty(), built == &without);
    const std::filesystem::path kept = folder.folder() / "kept";
    std::filesystem::create_directories(kept);
    std::filesystem::rename(p + ".debug", kept / std::filesystem::path(p + ".debug").filename());
    EXPECT_EQ(shown(lookup(p, address)), "") << "nowhere";
    EXPECT_EQ(shown(lookup(p, address, {.debug_dirs = {kept}})), whole) << "by its name";

    const std::string other = id.empty() ? "x" : id.substr(2);
    const std::filesystem::path by_id = kept / ".build-id" / id.substr(0, 2);
    std::filesystem::create_directories(by_id);
    std::filesystem::rename(kept / std::filesystem::path(p + ".debug").filename(),
                            by_id / (other + ".debug"));
    EXPECT_EQ(shown(lookup(p, address, {.debug_dirs = {kept}})), id.empty() ? "" : whole);
    if (id.empty()) continue;
    // The module itself is not needed when the debug information is complete.
    std::filesystem::remove(p);
    Symbolizer symbolizer({.debug_dirs = {kept}});
    EXPECT_EQ(shown(symbolizer.lookup({p, id, address, true})), whole);
  }
}

TEST_F(SymbolizerTest, DebugInformationOfAnotherBuildIsNotUsed) {
  const BuiltProgram program(folder, "p", std::string(kGcc) + " -Wl,--build-id=none");
  const std::string p = program.path();
  const uint64_t address = named(program.functions(), "app::outer(int)")->address;
  ASSERT_TRUE(works("objcopy --only-keep-debug " + p + " " + p + ".debug && strip " + p +
                    " && objcopy --add-gnu-debuglink=" + p + ".debug " + p + " && printf x >>" + p +
                    ".debug"));
  EXPECT_EQ(shown(lookup(p, address)), "");
}

TEST_F(SymbolizerTest, FramesWithoutANameAreCountedByReason) {
  const BuiltProgram program(folder, "p", kGcc);
  const std::string p = program.path();
  const std::string id = buildIdOf(p);
  const uint64_t address = named(program.functions(), "plain")->address;
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  std::ofstream(folder.path("text")) << "#!/bin/sh";
  const auto text = [&](const char* t) { return trace.strings.intern(t); };

  const FrameId good = frame(p, address + 1, id);
  frame(p, address + 1, "0123456789");
  frame(p, 0x10, id);
  frame(p + ".gone", 16, id);
  frame(folder.path("was") + " (deleted)", 16, id);
  frame(folder.path("pipe"), 16, id);
  frame(folder.path("text"), 16, "");
  frame("[vdso]", 16, id);
  trace.frame.push({.address = 77});
  trace.frame.push({.address = 78, .function = text("work"), .file = text("a.py"), .line = 3});
  trace.frame.push({.function = text("imported"), .module = text("libx.so")});
  const SymbolReport report = Symbolizer().symbolize(trace);

  EXPECT_EQ(nameOf(good), "plain");
  EXPECT_EQ(report.frames, 11u);
  EXPECT_EQ(report.named, 1u);
  EXPECT_EQ(report.with_line, 1u);
  EXPECT_EQ(report.had_names, 2u);
  EXPECT_EQ(report.unnamedInAll(), 8u);
  const auto unnamed = [&](NoSymbol why) { return report.unnamed[static_cast<size_t>(why)]; };
  EXPECT_EQ(unnamed(NoSymbol::kChanged), 1u);
  EXPECT_EQ(unnamed(NoSymbol::kNoSymbols), 1u);
  EXPECT_EQ(unnamed(NoSymbol::kMissing), 1u);
  EXPECT_EQ(unnamed(NoSymbol::kDeleted), 1u);
  EXPECT_EQ(unnamed(NoSymbol::kUnreadable), 2u);
  EXPECT_EQ(unnamed(NoSymbol::kKernelPage), 1u);
  EXPECT_EQ(unnamed(NoSymbol::kNoModule), 1u);
  EXPECT_EQ(report.modules.size(), 7u);
  for (uint32_t f = 1; f <= trace.frame.size(); ++f) EXPECT_NE(nameOf(FrameId{f}), "");
}

TEST_F(SymbolizerTest, FramesAreNotResolvedTwiceButBetterNamesReplaceThem) {
  const BuiltProgram program(folder, "p", std::string(kGcc) + " -Wl,--build-id");
  const std::string p = program.path();
  std::vector<FrameId> frames;
  for (const FunctionSymbol& f : program.functions()) {
    frames.push_back(frame(p, f.address, buildIdOf(p), frame_flags::kExact));
  }
  ASSERT_TRUE(works("objcopy --only-keep-debug " + p + " " + p + ".debug && strip -g " + p));
  const SymbolReport first = Symbolizer().symbolize(trace);
  EXPECT_EQ(first.named, frames.size());
  EXPECT_EQ(first.with_line, 0u);
  const size_t rows = trace.symbol.size();
  EXPECT_EQ(rows, frames.size());

  const SymbolReport again = Symbolizer().symbolize(trace);
  EXPECT_EQ(again.named, 0u);
  EXPECT_EQ(again.had_names, frames.size());
  EXPECT_EQ(trace.symbol.size(), rows);

  ASSERT_TRUE(works("objcopy --add-gnu-debuglink=" + p + ".debug " + p));
  const SymbolReport better = Symbolizer().symbolize(trace);
  EXPECT_EQ(better.replaced, frames.size());
  EXPECT_EQ(better.with_line, frames.size());
  const size_t more = trace.symbol.size();
  EXPECT_GE(more, rows + frames.size());
  const FrameSymbols names(trace);
  std::vector<FrameFunction> functions;
  for (const FrameId id : frames) {
    names.functions(id, functions);
    for (const FrameFunction& f : functions) EXPECT_GT(f.line, 0u) << f.function;
  }
  EXPECT_EQ(Symbolizer().symbolize(trace).modules.size(), 0u);
  EXPECT_EQ(trace.symbol.size(), more);
}

TEST_F(SymbolizerTest, CodeMadeWhileRunningIsNamedByTheMapOfItsProcess) {
  std::string boot = contentsOf("/proc/sys/kernel/random/boot_id");
  boot.resize(36);
  const auto process = [&](uint32_t pid, std::string_view boot_id, int64_t start_ns) {
    trace.process.push({.id = idAt<ProcessId>(trace.process.size()),
                        .pid = pid,
                        .boot_id = trace.strings.intern(boot_id),
                        .start_ns = start_ns});
    std::ofstream(folder.path("perf-" + std::to_string(pid) + ".map"))
        << "1000 100 name of " << pid << "\n";
    return idAt<ProcessId>(trace.process.size() - 1);
  };
  const auto called = [&](ProcessId id, FrameId inner) {
    trace.call_path.push({.parent = CallPathId::kNone, .frame = inner});
    trace.host_call.push(
        {.process_id = id, .call_path_id = idAt<CallPathId>(trace.call_path.size() - 1)});
  };
  for (int i = 0; i < 4; ++i) trace.frame.push({.address = 0x1010});
  trace.frame.push({.address = 0x1000, .flags = frame_flags::kExact});
  const ProcessId ours = process(101, boot, monotonicNs() - 1000);
  called(ours, FrameId{1});
  called(process(102, "of another machine", 0), FrameId{2});
  called(process(103, boot, monotonicNs() + 60'000'000'000), FrameId{3});  // its map is too old
  called(ours, FrameId{4});
  called(idAt<ProcessId>(1), FrameId{4});
  called(ours, FrameId{5});
  const SymbolReport report = Symbolizer({.perf_map_dir = folder.folder()}).symbolize(trace);
  EXPECT_EQ(nameOf(FrameId{1}), "name of 101");
  EXPECT_EQ(nameOf(FrameId{2}), "0x1010");
  EXPECT_EQ(nameOf(FrameId{3}), "0x1010");
  EXPECT_EQ(nameOf(FrameId{4}), "0x1010");
  EXPECT_EQ(nameOf(FrameId{5}), "name of 101");
  EXPECT_EQ(report.unnamed[static_cast<size_t>(NoSymbol::kTwoPrograms)], 1u);
  EXPECT_EQ(report.unnamed[static_cast<size_t>(NoSymbol::kNoModule)], 2u);
}

}  // namespace
}  // namespace tracesmith
