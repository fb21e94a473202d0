// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/c_api/c_api.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tracesmith/export/sbt/rank_merge.hpp"
#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/query/arrow/arrow_abi.hpp"
#include "tracesmith/replay/plan/recording_test_util.hpp"
#include "tracesmith/state/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

using testing::HasSubstr;

#define EXPECT_OK(call) EXPECT_EQ(call, TRACESMITH_OK) << tracesmith_last_error()
#define ASSERT_OK(call) ASSERT_EQ(call, TRACESMITH_OK) << tracesmith_last_error()

template <class T>
T sized() {
  T info{};
  info.struct_size = sizeof(T);
  return info;
}

/// A trace in memory: `spans` spans "step", a counter that counts them, an allocation.
class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(tracesmith_session_start(nullptr, &session));
    const uint32_t step = tracesmith_session_intern(session, "step", 4);
    const uint32_t odd = tracesmith_session_intern(session, "odd \xff name", 10);
    const uint32_t count = tracesmith_session_counter_track(session, "steps", "1");
    for (int i = 0; i < 100; ++i) {
      const int64_t begin = tracesmith_session_stamp(session);
      ASSERT_TRUE(tracesmith_session_span(session, step, begin, tracesmith_session_stamp(session)));
      ASSERT_TRUE(tracesmith_session_counter(session, count, i));
    }
    ASSERT_TRUE(tracesmith_session_marker(session, odd));
    ASSERT_TRUE(tracesmith_session_memory(session, step, 0x1000, 4096, 1));
    ASSERT_OK(tracesmith_session_stop(session));
    ASSERT_OK(tracesmith_open(tracesmith_session_path(session), &trace));
  }
  void TearDown() override {
    tracesmith_close(trace);
    tracesmith_session_free(session);
  }

  tracesmith_session* session = nullptr;
  tracesmith_trace* trace = nullptr;
};

TEST_F(CApi, ColumnsAreThoseOfTheTraceAndOutliveIt) {
  uint64_t rows = 0;
  ASSERT_OK(tracesmith_row_count(trace, "range", &rows));
  EXPECT_EQ(rows, 101u);
  const char* const both[] = {"duration_ns", "name"};
  ASSERT_OK(tracesmith_load(trace, "range", both, 2));
  tracesmith_column *durations = nullptr, *names = nullptr, *values = nullptr;
  ASSERT_OK(tracesmith_column_read(trace, "range", "duration_ns", &durations));
  ASSERT_OK(tracesmith_column_read(trace, "range", "name", &names));
  ASSERT_OK(tracesmith_column_read(trace, "counter", "value", &values));
  tracesmith_close(trace);
  trace = nullptr;

  auto view = sized<tracesmith_column_view>();
  ASSERT_OK(tracesmith_column_get(durations, &view));
  ASSERT_TRUE(view.type == TRACESMITH_INT64 || view.type == TRACESMITH_UINT64);
  ASSERT_EQ(view.rows, 101u);
  for (uint64_t i = 0; i < view.rows; ++i) {
    EXPECT_LT(static_cast<const uint64_t*>(view.values)[i], 1'000'000'000u) << "ns";
  }

  ASSERT_OK(tracesmith_column_get(names, &view));
  ASSERT_EQ(view.type, uint32_t{TRACESMITH_TEXT});
  std::set<std::string> seen;
  for (uint64_t i = 0; i < view.rows; ++i) {
    const int32_t number = static_cast<const int32_t*>(view.values)[i];
    ASSERT_LT(static_cast<uint64_t>(number), view.text_count);
    seen.emplace(view.texts + view.text_begins[number], view.texts + view.text_begins[number + 1]);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"step", "odd \xef\xbf\xbd name"}));

  ASSERT_OK(tracesmith_column_get(values, &view));
  ASSERT_EQ(view.type, uint32_t{TRACESMITH_DOUBLE});
  EXPECT_EQ(static_cast<const double*>(view.values)[99], 99);
  tracesmith_column_free(durations);
  tracesmith_column_free(names);
  tracesmith_column_free(values);
}

TEST_F(CApi, EachColumnOfEachTableCanBeRead) {
  const size_t tables = tracesmith_table_count(trace);
  ASSERT_GT(tables, 20u);
  for (size_t t = 0; t < tables; ++t) {
    auto table = sized<tracesmith_table_info>();
    ASSERT_OK(tracesmith_table_at(trace, t, &table));
    EXPECT_STRNE(table.meaning, "");
    uint64_t rows = 0;
    ASSERT_OK(tracesmith_row_count(trace, table.name, &rows));
    for (size_t c = 0; c < table.columns; ++c) {
      auto column = sized<tracesmith_column_info>();
      ASSERT_OK(tracesmith_column_at(trace, table.name, c, &column));
      tracesmith_column* read = nullptr;
      ASSERT_OK(tracesmith_column_read(trace, table.name, column.name, &read));
      auto view = sized<tracesmith_column_view>();
      ASSERT_OK(tracesmith_column_get(read, &view));
      EXPECT_EQ(view.rows, rows) << table.name << "." << column.name;
      EXPECT_EQ(view.type == TRACESMITH_TEXT, std::strcmp(column.type, "TEXT") == 0);
      tracesmith_column_free(read);
    }
    auto column = sized<tracesmith_column_info>();
    EXPECT_EQ(tracesmith_column_at(trace, table.name, table.columns, &column),
              TRACESMITH_NOT_FOUND);
  }
  auto table = sized<tracesmith_table_info>();
  EXPECT_EQ(tracesmith_table_at(trace, tables, &table), TRACESMITH_NOT_FOUND);
}

int64_t firstNumber(ArrowArrayStream& stream) {
  ArrowArray batch{};
  EXPECT_EQ(stream.get_next(&stream, &batch), 0) << stream.get_last_error(&stream);
  if (batch.release == nullptr) return -1;
  const int64_t number = static_cast<const int64_t*>(batch.children[0]->buffers[1])[0];
  batch.release(&batch);
  return number;
}

TEST_F(CApi, AnswersComeAsArrowAndOutliveTheTrace) {
  ArrowArrayStream stream{};
  ASSERT_OK(tracesmith_query(trace, "SELECT count(*) FROM range", &stream));
  EXPECT_EQ(firstNumber(stream), 101);
  stream.release(&stream);

  ASSERT_OK(tracesmith_query(trace, "SELECT count(*) FROM counter", &stream));
  ArrowArrayStream columns{};
  const char* const names[] = {"duration_ns"};
  ASSERT_OK(tracesmith_arrow(trace, "range", names, 1, &columns));
  tracesmith_close(trace);
  trace = nullptr;
  EXPECT_EQ(firstNumber(stream), 100);
  EXPECT_GE(firstNumber(columns), 0);
  stream.release(&stream);
  columns.release(&columns);
}

TEST_F(CApi, AQueryThatWouldTakeForEverIsInterrupted) {
  ArrowArrayStream stream{};
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) {
      tracesmith_interrupt(trace);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  const char* const sql =
      "SELECT sum(a.duration_ns + b.duration_ns + c.duration_ns + d.duration_ns + e.duration_ns) "
      "FROM range a, range b, range c, range d, range e";
  bool interrupted = tracesmith_query(trace, sql, &stream) != TRACESMITH_OK;
  std::string said = tracesmith_last_error();
  if (!interrupted) {
    ArrowArray batch{};
    interrupted = stream.get_next(&stream, &batch) != 0;
    said = stream.get_last_error(&stream);
    stream.release(&stream);
  }
  over = true;
  other.join();
  EXPECT_TRUE(interrupted);
  EXPECT_THAT(said, HasSubstr("interrupted"));
  ASSERT_OK(tracesmith_query(trace, "SELECT count(*) FROM range", &stream));
  EXPECT_EQ(firstNumber(stream), 101);
  stream.release(&stream);
}

TEST_F(CApi, OneInterruptReachesAlsoWhatWaits) {
  const char* const sql =
      "SELECT sum(a.duration_ns + b.duration_ns + c.duration_ns + d.duration_ns + e.duration_ns) "
      "FROM range a, range b, range c, range d, range e";
  std::atomic<int> asking{0};
  std::vector<std::thread> threads;
  std::vector<tracesmith_status> ended(3, TRACESMITH_OK);
  for (tracesmith_status& status : ended) {
    threads.emplace_back([&] {
      ArrowArrayStream stream{};
      ++asking;
      status = tracesmith_query(trace, sql, &stream);
    });
  }
  while (asking < 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::seconds(1));  // by then all threads are in the call
  tracesmith_interrupt(trace);
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(ended, testing::Each(tracesmith_status{TRACESMITH_INTERRUPTED}));
}

TEST_F(CApi, AnalysesAreJsonAndExportsAreFiles) {
  char* json = nullptr;
  const char* const memory[] = {"memory"};
  ASSERT_OK(tracesmith_analyze(trace, memory, 1, 0, &json));
  EXPECT_EQ(json[0], '{');
  EXPECT_THAT(json, HasSubstr("4096"));
  tracesmith_string_free(json);
  const char* const none[] = {"gpu-utilisation"};
  EXPECT_EQ(tracesmith_analyze(trace, none, 1, 0, &json), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(json, nullptr);
  EXPECT_THAT(tracesmith_last_error(), HasSubstr("gpu-utilisation"));

  const std::string path = testing::TempDir() + "c_api_export.json";
  ASSERT_OK(tracesmith_export(trace, path.c_str()));
  std::string first;
  std::getline(std::ifstream(path), first);
  EXPECT_EQ(first[0], '{');
  EXPECT_EQ(tracesmith_export(trace, "/nowhere/x.json"), TRACESMITH_NOT_FOUND);
  ASSERT_OK(tracesmith_export_all_frames(trace, path.c_str()));
  EXPECT_EQ(tracesmith_export_all_frames(trace, nullptr), TRACESMITH_INVALID_ARGUMENT);
  ASSERT_OK(tracesmith_session_export(session, path.c_str()));
}

TEST(CApiRanks, AreAlignedForViewersAndNeverComparedByTime) {
  const std::string path = testing::TempDir() + "c_api_ranks.sbt";
  Result<RankMerge> merge = RankMerge::create(path);
  ASSERT_TRUE(merge);
  std::vector<RankMerge::Rank> ranks;
  for (const int64_t start_ns : {1'000'000, 900'000'000}) {
    test::SampleTrace rank;
    const StreamId stream = rank.stream(rank.device("GPU"), rank.process(100, "train"));
    rank.kernel("k", stream, start_ns, 50, 1);
    ASSERT_TRUE(merge->add(std::move(rank.trace)));
    ranks.push_back({static_cast<uint32_t>(ranks.size()), RankSource::kTrace, 2, "rank"});
  }
  ASSERT_TRUE(merge->finish(ranks));

  tracesmith_trace* trace = nullptr;
  ASSERT_OK(tracesmith_open(path.c_str(), &trace));
  char* json = nullptr;
  EXPECT_EQ(tracesmith_analyze(trace, nullptr, 0, 0, &json), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(json, nullptr);
  EXPECT_THAT(tracesmith_last_error(), HasSubstr("ranks 0 and 1"));

  const std::string shown = testing::TempDir() + "c_api_ranks.json";
  ASSERT_OK(tracesmith_export(trace, shown.c_str()));
  std::ostringstream text;
  text << std::ifstream(shown).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("rank 1"));
  std::set<std::string> starts;
  const std::string key = "\"ts\":";
  for (size_t at = text.str().find(key); at != std::string::npos;
       at = text.str().find(key, at + 1)) {
    starts.insert(text.str().substr(at, text.str().find(',', at) - at));
  }
  EXPECT_EQ(starts.size(), 1u) << text.str();
  tracesmith_close(trace);

  auto options = sized<tracesmith_replay_options>();
  options.device = "simulated";
  tracesmith_replay_result* result = nullptr;
  ASSERT_OK(tracesmith_replay(path.c_str(), &options, &result));
  auto info = sized<tracesmith_replay_info>();
  ASSERT_OK(tracesmith_replay_get_info(result, &info));
  EXPECT_FALSE(info.success) << info.summary;
  ASSERT_GT(info.errors, 0u);
  EXPECT_THAT(tracesmith_replay_error(result, 0), HasSubstr("ranks 0 and 1"));
  tracesmith_replay_free(result);
}

TEST_F(CApi, ThreadsShareATrace) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 20; ++n) {
        tracesmith_column* column = nullptr;
        if (tracesmith_column_read(trace, "range", i % 2 == 0 ? "name" : "start_ns", &column) !=
            0) {
          ++wrong;
        }
        tracesmith_column_free(column);
        ArrowArrayStream stream{};
        if (tracesmith_query(trace, "SELECT count(*) FROM range", &stream) != 0 ||
            firstNumber(stream) != 101) {
          ++wrong;
        }
        stream.release(&stream);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(CApi, StructsOfOlderAndNewerProgramsAreHeeded) {
  struct Newer {
    tracesmith_trace_info info;
    uint64_t later;
  } newer{};
  newer.info.struct_size = sizeof(Newer);
  newer.later = 7;
  ASSERT_OK(tracesmith_trace_get_info(trace, &newer.info));
  EXPECT_EQ(newer.later, 0u) << "what this version does not know is nothing";
  EXPECT_EQ(newer.info.struct_size, sizeof(Newer));
  EXPECT_EQ(newer.info.complete, 1u);
  EXPECT_GT(newer.info.file_bytes, 0u);

  tracesmith_trace_info older{};
  older.struct_size = 8;
  older.file_bytes = 5;
  ASSERT_OK(tracesmith_trace_get_info(trace, &older));
  EXPECT_EQ(older.complete, 1u);
  EXPECT_EQ(older.file_bytes, 5u) << "beyond what the program says that it has";

  tracesmith_trace_info unset{};
  EXPECT_EQ(tracesmith_trace_get_info(trace, &unset), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_THAT(tracesmith_last_error(), HasSubstr("struct_size"));
  unset.struct_size = 0x7fff1234;
  EXPECT_EQ(tracesmith_trace_get_info(trace, &unset), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(TRACESMITH_INIT(tracesmith_replay_options).struct_size,
            sizeof(tracesmith_replay_options));

  struct NewerOptions {
    tracesmith_session_options options;
    uint64_t wish;
  } options{};
  options.options.struct_size = sizeof(NewerOptions);
  tracesmith_session* made = nullptr;
  ASSERT_OK(tracesmith_session_start(&options.options, &made));
  tracesmith_session_free(made);
  options.wish = 1;
  EXPECT_EQ(tracesmith_session_start(&options.options, &made), TRACESMITH_UNSUPPORTED);
  EXPECT_EQ(made, nullptr);
}

TEST_F(CApi, NothingIsNoHandle) {
  uint64_t rows = 0;
  tracesmith_column* column = nullptr;
  ArrowArrayStream stream{};
  auto* other = reinterpret_cast<tracesmith_trace*>(1);
  EXPECT_EQ(tracesmith_open(nullptr, &other), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(tracesmith_open("x", nullptr), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(tracesmith_row_count(nullptr, "range", &rows), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(tracesmith_table_count(nullptr), 0u);
  EXPECT_EQ(tracesmith_column_read(nullptr, "range", "name", &column), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(tracesmith_column_get(nullptr, nullptr), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(tracesmith_query(nullptr, "SELECT 1", &stream), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(tracesmith_session_stop(nullptr), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(tracesmith_session_span(nullptr, 1, 0, 1), 0);
  EXPECT_EQ(tracesmith_session_intern(nullptr, "x", 1), 0u);
  EXPECT_EQ(tracesmith_replay(nullptr, nullptr, nullptr), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(tracesmith_replay_error(nullptr, 0), nullptr);
  EXPECT_THAT(tracesmith_last_error(), HasSubstr("NULL"));
  tracesmith_close(nullptr);
  tracesmith_column_free(nullptr);
  tracesmith_session_free(nullptr);
  tracesmith_replay_free(nullptr);
  tracesmith_string_free(nullptr);
  tracesmith_interrupt(nullptr);
}

TEST_F(CApi, WhatIsNotThereIsSaid) {
  tracesmith_column* column = nullptr;
  EXPECT_EQ(tracesmith_column_read(trace, "ranges", "name", &column), TRACESMITH_NOT_FOUND);
  EXPECT_THAT(tracesmith_last_error(), HasSubstr("ranges"));
  EXPECT_EQ(tracesmith_column_read(trace, "range", "nam", &column), TRACESMITH_NOT_FOUND);
  ArrowArrayStream stream{};
  EXPECT_EQ(tracesmith_query(trace, "SELECT nope FROM range", &stream),
            TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(tracesmith_query(trace, "ATTACH 'x.db' AS x", &stream), TRACESMITH_PERMISSION);
  EXPECT_EQ(stream.release, nullptr);
  tracesmith_trace* other = nullptr;
  EXPECT_EQ(tracesmith_open("/nowhere.sbt", &other), TRACESMITH_NOT_FOUND);
  EXPECT_EQ(tracesmith_open("/", &other), TRACESMITH_INVALID_ARGUMENT);
  const std::string long_name(5000, 'x');
  EXPECT_NE(tracesmith_open(long_name.c_str(), &other), TRACESMITH_OK);
  EXPECT_THAT(tracesmith_last_error(), HasSubstr(long_name));
  const std::string no_text(3000, '\x80');
  EXPECT_NE(tracesmith_open(no_text.c_str(), &other), TRACESMITH_OK);
  EXPECT_THAT(tracesmith_last_error(), HasSubstr(no_text));

  // After an error, results must be safe to free or release.
  column = reinterpret_cast<tracesmith_column*>(1);
  stream.release = reinterpret_cast<void (*)(ArrowArrayStream*)>(1);
  EXPECT_EQ(tracesmith_column_read(nullptr, "range", "name", &column), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(column, nullptr);
  EXPECT_EQ(tracesmith_query(nullptr, "SELECT 1", &stream), TRACESMITH_INVALID_ARGUMENT);
  EXPECT_EQ(stream.release, nullptr);
}

TEST_F(CApi, SessionsCountWhatTheyWereGiven) {
  auto info = sized<tracesmith_session_info>();
  ASSERT_OK(tracesmith_session_get_info(session, &info));
  EXPECT_EQ(info.running, 0u);
  EXPECT_EQ(info.events, 102u);
  EXPECT_EQ(info.counters, 100u);
  EXPECT_EQ(info.dropped, 0u);
  EXPECT_OK(tracesmith_session_stop(session));  // again
  EXPECT_FALSE(tracesmith_session_marker(session, 1));

  auto options = sized<tracesmith_session_options>();
  options.overflow = 9;
  tracesmith_session* other = nullptr;
  EXPECT_EQ(tracesmith_session_start(&options, &other), TRACESMITH_INVALID_ARGUMENT);
  options.overflow = TRACESMITH_DROP_NEWEST;
  options.output_file = "/nowhere/x.sbt";
  EXPECT_EQ(tracesmith_session_start(&options, &other), TRACESMITH_NOT_FOUND);
}

TEST(CApiSession, IsStoppedByManyThreadsAtOnce) {
  for (int i = 0; i < 20; ++i) {
    tracesmith_session* session = nullptr;
    ASSERT_OK(tracesmith_session_start(nullptr, &session));
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n) {
      threads.emplace_back([&, n] {
        EXPECT_OK(n % 2 == 0 ? tracesmith_session_stop(session)
                             : tracesmith_session_flush(session));
      });
    }
    for (std::thread& thread : threads) thread.join();
    tracesmith_session_free(session);
  }
}

TEST(CApiSession, RecordsNothingOfStampsAndNamesThatAreNone) {
  tracesmith_session* session = nullptr;
  ASSERT_OK(tracesmith_session_start(nullptr, &session));
  const uint32_t name = tracesmith_session_intern(session, "name", 4);
  EXPECT_FALSE(tracesmith_session_span(session, name, 0, tracesmith_session_stamp(session)));
  EXPECT_FALSE(tracesmith_session_span(session, name, tracesmith_session_stamp(session), 0));
  for (const uint32_t none : {0xffffffffu, 0x80000000u, 16u << 20, 3u}) {
    tracesmith_session_marker(session, none);
    tracesmith_session_counter(session, none, 1);
    tracesmith_session_memory(session, none, 1, 1, 1);
  }
  ASSERT_TRUE(tracesmith_session_marker(session, name));
  ASSERT_OK(tracesmith_session_stop(session));
  tracesmith_trace* trace = nullptr;
  ASSERT_OK(tracesmith_open(tracesmith_session_path(session), &trace));
  ArrowArrayStream stream{};
  ASSERT_OK(tracesmith_query(
      trace, "SELECT count(*) FROM range WHERE name = 'name' AND duration_ns = 0", &stream));
  EXPECT_EQ(firstNumber(stream), 1);
  stream.release(&stream);
  tracesmith_close(trace);
  tracesmith_session_free(session);
}

TEST(CApiReplay, TellsWhatAReplayDid) {
  test::RecordingBuilder r;
  const auto queue = r.queue();
  const auto buffer = r.bufferWith<int>({1, 2, 3});
  const auto program = r.program("kernel void twice(global int* a) { a[get_global_id(0)] *= 2; }");
  const auto kernel = r.kernel(program, "twice");
  r.argument(kernel, 0, buffer);
  r.launch(queue, kernel, 3);
  r.read(queue, buffer, std::vector<int>{2, 4, 6});
  (void)r.reader();

  auto options = sized<tracesmith_replay_options>();
  tracesmith_replay_result* result = nullptr;
  options.mode = 9;
  EXPECT_EQ(tracesmith_replay(r.path().c_str(), &options, &result), TRACESMITH_INVALID_ARGUMENT);
  options.mode = TRACESMITH_REPLAY_FULL;
  options.flags = 1u << 30;
  EXPECT_EQ(tracesmith_replay(r.path().c_str(), &options, &result), TRACESMITH_UNSUPPORTED);
  options.flags = 0;
  for (const double limit : {-1.0, std::nan(""), HUGE_VAL}) {
    options.step_limit_s = limit;
    EXPECT_EQ(tracesmith_replay(r.path().c_str(), &options, &result), TRACESMITH_INVALID_ARGUMENT);
  }
  options.step_limit_s = 0;
  EXPECT_EQ(tracesmith_replay("/nowhere.sbr", &options, &result), TRACESMITH_NOT_FOUND);
  EXPECT_EQ(result, nullptr);

  options.device = test::kRunsDrivers ? nullptr : "simulated";
  ASSERT_OK(tracesmith_replay(r.path().c_str(), &options, &result));
  auto info = sized<tracesmith_replay_info>();
  ASSERT_OK(tracesmith_replay_get_info(result, &info));
  EXPECT_TRUE(info.success) << info.summary;
  EXPECT_EQ(info.errors, 0u);
  EXPECT_EQ(tracesmith_replay_error(result, 0), nullptr);
  EXPECT_EQ(info.total, info.executed + info.simulated_operations + info.skipped);
  EXPECT_GT(info.total, 0u);
  if (!info.simulated) {
    EXPECT_TRUE(info.deterministic) << info.summary;
    EXPECT_EQ(info.read_backs, 1u);
    EXPECT_STRNE(info.device, "");
  }
  tracesmith_replay_free(result);
}

/// Programs written for the former names.
TEST_F(CApi, FormerNamesDoTheSame) {
  auto of_trace = sized<tracesmith_trace_facts>();
  ASSERT_OK(tracesmith_trace_get_facts(trace, &of_trace));
  EXPECT_EQ(of_trace.complete, 1u);
  auto of_session = sized<tracesmith_session_facts>();
  ASSERT_OK(tracesmith_session_get_facts(session, &of_session));
  EXPECT_EQ(of_session.counters, 100u);
  tracesmith_session* other = nullptr;
  ASSERT_OK(tracesmith_session_start(nullptr, &other));
  const uint32_t step = tracesmith_session_name(other, "step", 4);
  EXPECT_NE(step, 0u);
  EXPECT_EQ(step, tracesmith_session_intern(other, "step", 4));
  tracesmith_session_free(other);
  char* json = nullptr;
  ASSERT_OK(tracesmith_analyze(trace, nullptr, 0, 10, &json));
  tracesmith_text_free(json);  // otherwise the leak sanitizer reports it
  auto of_replay = sized<tracesmith_replay_facts>();
  EXPECT_EQ(tracesmith_replay_get_facts(nullptr, &of_replay), TRACESMITH_INVALID_ARGUMENT);
}

TEST(CApiVersion, IsThatOfTheHeader) {
  EXPECT_EQ(tracesmith_abi(), uint32_t{TRACESMITH_ABI});
  EXPECT_STREQ(tracesmith_version(), "1.0.0");
}

}  // namespace
}  // namespace tracesmith
