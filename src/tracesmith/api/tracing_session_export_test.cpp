// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tracesmith/api/tracing_session.hpp"
#include "tracesmith/format/trace_reader.hpp"

namespace tracesmith {
namespace {

std::string exportedText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(TracingSessionExport, WritesEachFormatWhileItRunsAndAfterwards) {
  std::string directory = testing::TempDir() + "session.XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  TracingSession session;
  EXPECT_FALSE(session.exportToFile(directory + "/nothing.json")) << "nothing was recorded";
  ASSERT_TRUE(session.start({.enable_counter_tracks = false}));
  { const TracingSession::Span span(session, session.spanName("a span")); }
  session.emitCounter("a counter", 5);
  ASSERT_TRUE(session.exportToFile(directory + "/running.json"));
  EXPECT_THAT(exportedText(directory + "/running.json"), testing::HasSubstr("a span"));
  EXPECT_THAT(exportedText(directory + "/running.json"),
              testing::Not(testing::HasSubstr("a counter")));
  ASSERT_TRUE(session.stop());
  ASSERT_TRUE(session.exportToFile(directory + "/ended.pftrace"));
  EXPECT_THAT(exportedText(directory + "/ended.pftrace"), testing::HasSubstr("a span"));
  ASSERT_TRUE(session.exportToFile(directory + "/ended.sbt"));
  const auto reader = TraceReader::open(directory + "/ended.sbt");
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->complete());
  EXPECT_EQ(reader->rows(TableId::kRange), 1U);
  const Status nowhere = session.exportToFile(directory + "/no/such.sbt");
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().toString(), testing::HasSubstr("no/such.sbt"));
  std::filesystem::remove_all(directory);
}

TEST(TracingSessionExport, StacksAreWithoutTheInterpretersFramesUnlessAllAreWanted) {
  std::string directory = testing::TempDir() + "session.XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  for (const bool all : {false, true}) {
    TracingSession session;
    ASSERT_TRUE(session.start({.all_frames = all}));
    TraceEvent event(EventType::Marker, getCurrentTimestamp());
    event.name = "a marker";
    event.call_stack = CallStack{{{0x7f10, "ffi_call_unix64", "", 0, "/usr/lib/libffi.so.8"},
                                  {0x4010, "_PyEval_Vector", "", 0, "/usr/bin/python3.11"},
                                  {0, "forward", "model.py", 7, "Python"}},
                                 1};
    ASSERT_TRUE(session.emit(event));
    ASSERT_TRUE(session.stop());
    for (const char* const name : {"/s.json", "/s.pftrace"}) {
      ASSERT_TRUE(session.exportToFile(directory + name));
      const std::string written = exportedText(directory + name);
      EXPECT_NE(written.find("forward"), std::string::npos) << name;
      EXPECT_EQ(written.find("ffi_call_unix64") != std::string::npos, all) << name;
      EXPECT_EQ(written.find("_PyEval_Vector") != std::string::npos, all) << name;
    }
    ASSERT_TRUE(session.exportToFile(directory + "/s.sbt"));
    EXPECT_EQ(TraceReader::open(directory + "/s.sbt")->read()->frame.size(), 3U)
        << "the trace keeps all of them";
    std::filesystem::remove(directory + "/s.sbt");
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tracesmith
