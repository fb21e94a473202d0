// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/stream_input.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/import/import_trace.hpp"
#include "tracesmith/import/sqlite/sqlite_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::TempFile;
using ::testing::HasSubstr;

/// A named pipe; a thread writes bytes to it.
class Pipe {
 public:
  explicit Pipe(Bytes bytes) : bytes_(std::move(bytes)) {
    EXPECT_EQ(::mkfifo(path().c_str(), 0600), 0);
    sender_ = std::thread([this] {
      const int fd = ::open(path().c_str(), O_WRONLY | O_CLOEXEC);
      for (size_t sent = 0; sent < bytes_.size();) {
        const ssize_t n = ::write(fd, bytes_.data() + sent, bytes_.size() - sent);
        if (n <= 0) break;
        sent += static_cast<size_t>(n);
      }
      ::close(fd);
    });
  }
  ~Pipe() {
    sender_.join();
    ::unlink(path().c_str());
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  std::string path() const { return beside_.path() + ".pipe"; }

 private:
  TempFile beside_;
  Bytes bytes_;
  std::thread sender_;
};

Bytes manyEvents() {
  std::string text = "[";
  for (int i = 0; i < 5'000; ++i) {
    text += R"({"ph":"X","name":"e","pid":1,"tid":1,"dur":1,"ts":)" + std::to_string(i) + "},\n";
  }
  text += R"({"ph":"i","name":"last","pid":1,"tid":1,"ts":9}])";
  const ByteView bytes = asBytes(text);
  return Bytes(bytes.begin(), bytes.end());
}

TEST(StreamInput, APipeIsImportedWhole) {
  const TempFile output;
  const Pipe pipe(manyEvents());
  const auto report = importTrace(pipe.path(), output.path());
  ASSERT_TRUE(report) << report.error().toString();
  EXPECT_EQ(report->counts.rows, 5'001U);
  auto reader = TraceReader::open(output.path());
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->read()->metadataValue("imported_from"), pipe.path());
}

TEST(StreamInput, APipeIsReadDirectlyWhateverComesThrough) {
  const TempFile output;
  {
    const Pipe pipe(manyEvents());
    ImportCounts counts;
    auto reader = openTrace(pipe.path(), counts);
    ASSERT_TRUE(reader) << reader.error().toString();
    EXPECT_EQ(counts.rows, 5'001U);
    EXPECT_EQ(reader->read()->range.size(), 5'001U);
  }
  {
    const Pipe pipe(manyEvents());
    ASSERT_TRUE(importTrace(pipe.path(), output.path()));
  }
  const Pipe pipe(output.bytes());  // an SBT trace
  ImportCounts counts;
  auto reader = openTrace(pipe.path(), counts);
  ASSERT_TRUE(reader) << reader.error().toString();
  EXPECT_EQ(counts.rows, 0U);
  EXPECT_EQ(reader->read()->range.size(), 5'001U);
}

TEST(StreamInput, ADatabaseMayComeThroughAPipe) {
  const TempFile made, output;
  test::Database(made.path())
      .run(
          "CREATE TABLE rocpd_string (id integer PRIMARY KEY, string text);"
          "CREATE TABLE rocpd_api (id integer PRIMARY KEY, pid integer, tid integer,"
          " start integer, end integer, apiName_id integer, args_id integer);"
          "CREATE TABLE rocpd_op (id integer PRIMARY KEY, gpuId integer, queueId integer,"
          " start integer, end integer, description_id integer, opType_id integer);"
          "INSERT INTO rocpd_string VALUES (1, 'KernelExecution'), (2, 'k');"
          "INSERT INTO rocpd_op VALUES (1, 0, 0, 5, 9, 2, 1);");
  const Pipe pipe(made.bytes());
  const auto report = importTrace(pipe.path(), output.path());
  ASSERT_TRUE(report) << report.error().toString();
  EXPECT_EQ(TraceReader::open(output.path())->read()->kernel.size(), 1U);
}

TEST(StreamInput, ErrorsNameWhatWasGiven) {
  const TempFile output;
  {
    const Pipe pipe({'n', 'o', ' ', 't', 'r', 'a', 'c', 'e'});
    const auto report = importTrace(pipe.path(), output.path());
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().where, pipe.path());
    EXPECT_THAT(report.error().message, HasSubstr("known format"));
  }
  {
    const Pipe pipe({'n', 'o', ' ', 't', 'r', 'a', 'c', 'e'});
    ImportCounts counts;
    const auto reader = openTrace(pipe.path(), counts);
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().where, pipe.path());
  }
  const Pipe pipe({});
  const auto report = importTrace(pipe.path(), output.path());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().where, pipe.path());
  EXPECT_THAT(report.error().message, HasSubstr("is empty"));
}

}  // namespace
}  // namespace tracesmith::import
