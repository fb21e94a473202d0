// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/symbols/symbolized_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tracesmith/format/trace_reader.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/stacks/symbols/built_program_test_util.hpp"

namespace tracesmith {
namespace {

using test::contentsOf;
using test::TempFolder;

class SymbolizedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!Symbolizer::isAvailable()) GTEST_SKIP() << "built without libdw";
    if (!test::works("g++ --version")) GTEST_SKIP() << "no g++";
    static const TempFolder built;  // once for all tests, which only read it
    static const test::BuiltProgram program(built, "p", "g++ -g -O2");
    Trace trace;
    const std::string id = test::buildIdOf(program.path());
    for (const test::FunctionSymbol& f : program.functions()) {
      trace.frame.push({.address = f.address,
                        .module = trace.strings.intern(program.path()),
                        .module_offset = f.address,
                        .build_id = trace.strings.intern(id),
                        .flags = frame_flags::kExact});
    }
    frames = trace.frame.size();
    auto writer = TraceWriter::create(file);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write(trace));
    ASSERT_TRUE(writer->finish());
    whole = contentsOf(file);
  }
  void put(const std::string& bytes) const {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }
  struct Seen {
    bool complete = false;
    size_t losses = 0;
    size_t frames = 0;
    size_t named = 0;
  };
  static Seen look(const std::string& path) {
    Seen seen;
    auto reader = TraceReader::open(path);
    if (!reader) return seen;
    const auto trace = reader->read();
    seen.complete = reader->complete();
    seen.losses = reader->losses().size();
    if (!trace) return seen;
    seen.frames = trace->frame.size();
    const FrameSymbols symbols(*trace);
    std::vector<FrameFunction> functions;
    for (uint32_t f = 1; f <= trace->frame.size(); ++f) {
      symbols.functions(FrameId{f}, functions);
      seen.named += !functions.empty() && !functions[0].function.empty();
    }
    return seen;
  }

  TempFolder folder;
  std::string file = folder.path("t.sbt");
  std::string whole;
  size_t frames = 0;
};

TEST_F(SymbolizedFileTest, SymbolsGoBehindWhatTheTraceHasAndOnlyOnce) {
  const auto done = symbolizeFile(file, "", {});
  ASSERT_TRUE(done) << done.error().toString();
  EXPECT_TRUE(done->written);
  EXPECT_EQ(done->report.with_line, frames);
  const Seen seen = look(file);
  EXPECT_TRUE(seen.complete);
  EXPECT_EQ(seen.losses, 0u);
  EXPECT_EQ(seen.named, frames);
  const std::string first = contentsOf(file);
  EXPECT_GT(first.size(), whole.size());

  const auto again = symbolizeFile(file, "", {});
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->written);
  EXPECT_EQ(again->report.had_names, frames);
  EXPECT_EQ(contentsOf(file), first);
}

TEST_F(SymbolizedFileTest, AnOutputOfItsOwnLeavesTheTraceAsItWas) {
  const std::string other = folder.path("named.sbt");
  ASSERT_TRUE(symbolizeFile(file, other, {}));
  EXPECT_EQ(contentsOf(file), whole);
  EXPECT_EQ(look(other).named, frames);
  EXPECT_TRUE(look(other).complete);
  // With nothing to add, the output is a copy.
  const std::string copy = folder.path("copy.sbt");
  ASSERT_TRUE(symbolizeFile(other, copy, {}));
  EXPECT_EQ(contentsOf(copy), contentsOf(other));
}

TEST_F(SymbolizedFileTest, KilledAnywhereItLosesNothingAndTheNextCallFinishes) {
  auto before = TraceReader::open(file);
  ASSERT_TRUE(before);
  const uint64_t end_of_rows = before->endOfBlocks();
  ASSERT_TRUE(symbolizeFile(file, "", {}));
  const std::string after = contentsOf(file);
  auto reader = TraceReader::open(file);
  ASSERT_TRUE(reader);
  uint64_t marked_at = 0;
  for (const BlockInfo& block : reader->blocks()) {
    if (block.offset >= end_of_rows && block.table == TableId::kMetadata) marked_at = block.end;
  }
  ASSERT_GT(marked_at, 0u);
  // A file to which one block after another is appended, the last one possibly incomplete.
  for (uint64_t length = end_of_rows; length <= after.size(); length += 61) {
    put(after.substr(0, length));
    const Seen cut = look(file);
    ASSERT_EQ(cut.frames, frames) << length;
    ASSERT_EQ(cut.losses, 0u) << length;
    const auto finished = symbolizeFile(file, "", {});
    ASSERT_TRUE(finished) << finished.error().toString();
    const Seen seen = look(file);
    EXPECT_EQ(seen.named, frames) << length;
    EXPECT_EQ(seen.losses, 0u) << length;
    EXPECT_EQ(seen.complete, length >= marked_at) << length;
  }
}

TEST_F(SymbolizedFileTest, ATraceThatWasCutStaysOneWithoutAnEnd) {
  auto reader = TraceReader::open(file);
  ASSERT_TRUE(reader);
  put(whole.substr(0, reader->endOfBlocks()));
  const auto done = symbolizeFile(file, "", {});
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->complete);
  EXPECT_EQ(look(file).named, frames);
  EXPECT_FALSE(look(file).complete);
}

TEST_F(SymbolizedFileTest, ARecordingThatIsNotOverIsLeftAlone) {
  auto reader = TraceReader::open(file);
  ASSERT_TRUE(reader);
  const std::string cut = whole.substr(0, reader->endOfBlocks());
  put(cut);
  std::filesystem::create_directory(file + ".session");
  EXPECT_FALSE(symbolizeFile(file, "", {}));
  EXPECT_EQ(contentsOf(file), cut);
}

}  // namespace
}  // namespace tracesmith
