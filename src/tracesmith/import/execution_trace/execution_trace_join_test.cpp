// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/execution_trace/execution_trace_join.hpp"

#include <gmock/gmock.h>

#include "tracesmith/import/common/importer_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::TempFile;
using ::testing::HasSubstr;

std::string node(int id, int rf, int tid, const std::string& name) {
  return R"({"id":)" + std::to_string(id) + R"(,"name":")" + name + R"(","rf_id":)" +
         std::to_string(rf) + R"(,"tid":)" + std::to_string(tid) + "}";
}

struct Joined {
  ExecutionTraceJoin join;
  explicit Joined(const std::vector<std::string>& nodes) {
    std::string text = R"({"schema":"1.0.1","nodes":[)";
    for (size_t i = 0; i < nodes.size(); ++i) text += (i > 0 ? "," : "") + nodes[i];
    const TempFile file("et.json");
    file.write(asBytes(text + "]}"));
    EXPECT_TRUE(join.read(file.path()));
  }
};

TEST(ExecutionTraceJoin, RecordFunctionIdsSayIt) {
  Joined j({node(10, 5, 1, "a"), node(11, 6, 1, "b")});
  j.join.addOperator("1", "7", 100, 5, "a");
  j.join.addOperator("1", "7", 101, 6, "other");
  EXPECT_TRUE(j.join.align());
  EXPECT_THAT(std::string(j.join.nodeOf(100, 5, "a")), HasSubstr("\"id\":10"));
  EXPECT_EQ(j.join.nodeOf(101, 6, "other"), "");  // different name, no match
  EXPECT_EQ(j.join.joined(), 1u);
  EXPECT_THAT(j.join.rest(), HasSubstr("\"id\":11"));
  EXPECT_THAT(j.join.describeUnjoined(), HasSubstr("1 of 2"));
}

/// Two kinds of ids, an operator only in the profile, and a node only in the execution trace.
TEST(ExecutionTraceJoin, OrderSaysItWhereIdsDoNot) {
  std::vector<std::string> nodes = {node(1, 0, 0, "process")};
  for (int i = 0; i < 40; ++i)
    nodes.push_back(
        node(100 + i, 50 + i, 1, "op" + std::to_string(i % 7) + "/" + std::to_string(i / 5)));
  nodes.push_back(node(900, 65, 1, "only here"));
  Joined j(nodes);
  j.join.addOperator("1", "77", 1, 0, "ProfilerStep#3");
  for (int i = 0; i < 40; ++i) {
    if (i == 20) j.join.addOperator("1", "77", 1000, 0, "only there");
    j.join.addOperator("1", "77", (i < 20 ? 2 : 1001) + i, 0,
                       "op" + std::to_string(i % 7) + "/" + std::to_string(i / 5));
  }
  EXPECT_TRUE(j.join.align());
  EXPECT_THAT(std::string(j.join.nodeOf(2, 0, "op0/0")), HasSubstr("\"id\":100"));
  EXPECT_THAT(std::string(j.join.nodeOf(1001 + 39, 0, "op4/7")), HasSubstr("\"id\":139"));
  EXPECT_EQ(j.join.nodeOf(1000, 0, "only there"), "");
}

TEST(ExecutionTraceJoin, WhatFitsInSeveralPlacesIsNotJoined) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 20; ++i) nodes.push_back(node(i, 1 + i, 1, "op" + std::to_string(i)));
  Joined j(nodes);
  for (int i = 0; i < 60; ++i)
    j.join.addOperator("1", "77", 1 + i, 0, "op" + std::to_string(i % 20));
  EXPECT_TRUE(j.join.align());
  EXPECT_EQ(j.join.nodeOf(1, 0, "op0"), "");
  EXPECT_THAT(j.join.describeUnjoined(), HasSubstr("several places"));
}

TEST(ExecutionTraceJoin, ImportGivesOperatorsTheirNodes) {
  const TempFile profile("kineto.json");
  const TempFile nodes("et.json");
  const TempFile output;
  profile.write(asBytes(std::string_view(R"({"traceEvents":[
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":5,"dur":3,"args":{"External id":9,"Record function id":4}},
    {"ph":"X","cat":"cpu_op","name":"aten::t","pid":1,"tid":1,"ts":1,"dur":2,"args":{"External id":8,"Record function id":3}}]})")));
  nodes.write(asBytes("{\"schema\":\"1.1.1\",\"nodes\":[" + node(70, 4, 1, "aten::mm") + "," +
                      node(71, 2, 1, "aten::add") + "]}"));
  ImportOptions options;
  options.more = {nodes.path()};
  const auto report = importTrace(profile.path(), output.path(), options);
  ASSERT_TRUE(report) << report.error().toString();
  auto reader = TraceReader::open(output.path());
  ASSERT_TRUE(reader);
  const Trace t = reader->read().value();
  ASSERT_EQ(t.attribute.size(), 1u);
  const size_t row = t.attribute.row_number[0];
  EXPECT_EQ(t.text(t.range.name[row]), "aten::mm");
  EXPECT_EQ(t.text(t.attribute.key[0]), "execution_trace.node");
  EXPECT_EQ(t.text(t.attribute.value[0]), node(70, 4, 1, "aten::mm"));
  EXPECT_THAT(std::string(t.metadataValue("execution_trace.rest")), HasSubstr("aten::add"));
  ASSERT_EQ(report->counts.notes.size(), 2u);
  EXPECT_THAT(report->counts.notes[0], HasSubstr("1 of 2 nodes"));
  // Files that are not execution traces, or belong to another process, are rejected.
  options.more = {profile.path()};
  EXPECT_FALSE(importTrace(profile.path(), output.path(), options));
  nodes.write(
      asBytes("{\"schema\":\"1\",\"pid\":2,\"nodes\":[" + node(70, 4, 1, "aten::mm") + "]}"));
  options.more = {nodes.path()};
  const auto other = importTrace(profile.path(), output.path(), options);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("different ranks"));
}

}  // namespace
}  // namespace tracesmith::import
