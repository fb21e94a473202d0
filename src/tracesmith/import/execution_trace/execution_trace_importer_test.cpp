// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/execution_trace/execution_trace_importer.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/import/common/import_test_util.hpp"
#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/common/proto_message_test_util.hpp"
#include "tracesmith/model/source_rows.hpp"

namespace tracesmith::import {
namespace {

using test::importDamaged;
using test::ImportedText;
using test::importText;
using test::Message;
using ::testing::HasSubstr;

constexpr std::string_view kOld = R"json({
  "schema": "1.0.1", "pid": 24248, "time": "2023-07-12 12:47:27", "start_ts": 69838573,
  "nodes": [
    {"name": "aten::t", "id": 10, "rf_id": 2, "parent": 9, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1,
     "inputs": [[5,6,0,1,4,"cuda:0"], "a ] } text"], "input_shapes": [[]], "op_schema": "aten::t(Tensor(a) self) -> \"x\""},
    {"name": "[process]", "id": 1, "rf_id": 0, "parent": 1, "ratio": 1.50, "none": null, "yes": true}
  ],
  "finish_ts": 69840401
})json";

/// The sources of events that are in no table, as JSON.
std::vector<nlohmann::json> sources(std::string_view text) {
  const test::TempFile file;
  file.write(asBytes(text));
  const test::TempFile output;
  EXPECT_TRUE(importTrace(file.path(), output.path()));
  auto reader = TraceReader::open(output.path());
  EXPECT_TRUE(reader);
  const Trace trace = reader->read().value();
  std::vector<nlohmann::json> found;
  SourceShapes shapes(trace.strings);
  for (size_t b = 0; b < reader->blocks().size(); ++b) {
    if (reader->blocks()[b].table != TableId::kSource) continue;
    SourceBlock read;
    EXPECT_TRUE(reader->readSources(b, trace.strings, shapes, read));
    const SourceBlock* const block = &read;
    std::vector<size_t> next(block->leaves.size());
    for (size_t row = 0; row < block->shape.size(); ++row) {
      const SourceShape* shape = shapes.at(block->shape[row]);
      EXPECT_NE(shape, nullptr);
      std::string json = shape->between[0];
      const std::vector<uint32_t>& places = block->places.at(block->shape[row]);
      size_t kept = 0;
      for (size_t g = 0; g < shape->gaps.size(); ++g) {
        if (isKept(shape->gaps[g].kind)) {
          const uint32_t leaf = places[kept++];
          const int64_t value = block->leaves[leaf].values[next[leaf]++];
          const auto words = trace.text(static_cast<StringId>(value));
          switch (shape->gaps[g].kind) {
            case SourceGap::kText:
              json += nlohmann::json(std::string(words)).dump();
              break;
            case SourceGap::kJson:
              json += words;
              break;
            default:
              json += std::to_string(value);
          }
        } else {
          json += "0";
        }
        json += shape->between[g + 1];
      }
      found.push_back(nlohmann::json::parse(json));
    }
  }
  return found;
}

TEST(ExecutionTraceImporter, NodesWithoutATimeAreKeptAsTheyAre) {
  const ImportedText got = importText(kOld);
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "PyTorch execution trace");
  EXPECT_EQ(got.counts.events, 2u);
  EXPECT_EQ(got.counts.rows, 0u);
  EXPECT_EQ(got.counts.others, 2u);
  EXPECT_TRUE(got.counts.damage.empty());
  EXPECT_TRUE(got.trace.range.empty());
  EXPECT_EQ(got.trace.metadataValue("source.finish_ts"), "69840401");
  EXPECT_EQ(got.trace.metadataValue("source.schema"), "\"1.0.1\"");
  EXPECT_THAT(std::string(got.trace.text(got.trace.loss.reason[0])),
              HasSubstr("have no readable start"));
  const auto nodes = nlohmann::json::parse(kOld)["nodes"];
  const auto kept = sources(kOld);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0], nodes[0]);
  EXPECT_EQ(kept[1], nodes[1]);
}

TEST(ExecutionTraceImporter, AttributesGoByNameAndType) {
  const auto kept = sources(R"json({"schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": [
    {"id": 7, "name": "aten::mm", "ctrl_deps": 2, "inputs": {"values": [1], "shapes": [[]], "types": ["Int"]},
     "attrs": [{"name": "rf_id", "type": "uint64", "value": 5}, {"name": "op_schema", "type": "string", "value": ""}]}]})json");
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0],
            nlohmann::json::parse(
                R"({"id":7,"name":"aten::mm","ctrl_deps":[2],"inputs":{"values":[1],"shapes":[[]],
                         "types":["Int"]},"attrs":{"rf_id:uint64":5,"op_schema:string":""}})"));
}

std::string delimited(const Message& message) {
  std::string length;
  size_t n = message.bytes().size();
  for (; n >= 0x80; n >>= 7) length += static_cast<char>(n | 0x80);
  return length + static_cast<char>(n) + message.bytes();
}
Message attribute(std::string_view name, uint32_t field, uint64_t value) {
  return Message().text(1, name).number(field, value);
}

std::string chakra() {
  return delimited(Message().text(1, "0.0.4").of(2, attribute("pid", 13, 99))) +
         delimited(Message()
                       .number(1, 5)
                       .text(2, "gemm")
                       .number(3, 4)
                       .text(4, "\x03")
                       .text(5, "\x01\x02")
                       .number(6, 100)
                       .number(7, 25)
                       .of(8, Message().text(1, "[[1]]").text(3, "['Int']"))
                       .of(10, attribute("is_cpu_op", 27, 0))
                       .of(10, attribute("tid", 9, 7))
                       .of(10, Message().text(1, "note").text(29, "\xc3\xa9"))) +
         delimited(Message()
                       .number(1, 6)
                       .text(2, "all_reduce")
                       .number(3, 7)
                       .text(5, "\x05")
                       .number(6, 130)
                       .number(7, 10)
                       .of(10, attribute("is_cpu_op", 27, 0))
                       .of(10, attribute("comm_size", 9, 4096))) +
         delimited(Message()
                       .number(1, 3)
                       .text(2, "aten::mm")
                       .number(3, 4)
                       .number(6, 90)
                       .number(7, 60)
                       .of(10, attribute("is_cpu_op", 27, 1))
                       .of(10, attribute("tid", 9, 1))) +
         delimited(Message().number(1, 1).text(2, "load").number(3, 2).number(7, 4));
}

TEST(ExecutionTraceImporter, NodesOfChakraThatHaveAStartAreRows) {
  const ImportedText got = importText(chakra());
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "Chakra");
  EXPECT_EQ(got.counts.events, 4u);
  EXPECT_EQ(got.counts.rows, 3u);
  EXPECT_TRUE(got.counts.damage.empty());
  const Trace& t = got.trace;
  ASSERT_EQ(t.kernel.size(), 2u);
  EXPECT_EQ(t.text(t.kernel.name[0]), "gemm");
  EXPECT_EQ(t.kernel.start_ns[0], 100'000);
  EXPECT_EQ(t.kernel.duration_ns[0], 25'000);
  EXPECT_EQ(t.stream.ordinal[indexOf(t.kernel.stream_id[0])], 7u);
  EXPECT_EQ(t.process.pid[0], 99u);
  ASSERT_EQ(t.range.size(), 1u);
  EXPECT_EQ(t.text(t.range.name[0]), "aten::mm");
  EXPECT_EQ(t.text(t.range.category[0]), "compute");
  ASSERT_EQ(t.flow.size(), 4u);  // 3, 1 and 2 before 5; 5 before 6
  EXPECT_EQ(t.flow.to_correlation_id[3], 6u);
  EXPECT_EQ(t.flow.kind[3], FlowKind::kWait);
  const auto kept = sources(chakra());
  const auto gemm =
      std::find_if(kept.begin(), kept.end(), [](const auto& n) { return n["id"] == 5; });
  ASSERT_NE(gemm, kept.end());
  EXPECT_EQ((*gemm)["attr"]["note:string"], "\xc3\xa9");
  EXPECT_EQ((*gemm)["inputs.types"], "['Int']");
  EXPECT_EQ((*gemm)["data_deps"], nlohmann::json::parse("[1,2]"));
}

std::string nodeOf(uint64_t id, std::string_view name, uint64_t type, uint64_t start,
                   const std::vector<Message>& attributes) {
  Message node = Message().number(1, id).text(2, name).number(3, type);
  if (start != 0) node = node.number(6, start).number(7, 10);
  for (const Message& a : attributes) node = node.of(10, a);
  return delimited(node);
}

std::string communicating(uint64_t start) {
  const Message group = Message().text(1, "pg_name").text(29, "3");
  return delimited(Message().text(1, "0.0.4").of(2, attribute("pid", 13, 99))) +
         nodeOf(1, "ncclDevKernel_AllReduce", 7, start,
                {attribute("is_cpu_op", 27, 0), attribute("comm_type", 9, 0),
                 attribute("comm_size", 9, 4096), group}) +
         nodeOf(2, "coll", 7, start,
                {attribute("is_cpu_op", 27, 1), attribute("comm_type", 9, 7),
                 attribute("comm_size", 9, 100)}) +
         nodeOf(3, "to 5", 5, start,
                {attribute("comm_size", 9, 10), attribute("comm_dst", 5, 0),
                 attribute("comm_dst", 9, 5), attribute("comm_tag", 9, 77)}) +
         nodeOf(4, "from 6", 6, start,
                {attribute("comm_size", 9, 20), attribute("comm_src", 9, 6)}) +
         nodeOf(5, "gemm", 4, start, {attribute("comm_type", 9, 0)});
}

TEST(ExecutionTraceImporter, NodesThatCommunicateAreCallsAsWell) {
  const ImportedText got = importText(communicating(100));
  ASSERT_TRUE(got.ok) << got.error;
  const Trace& t = got.trace;
  ASSERT_EQ(t.comm.size(), 4U);
  EXPECT_EQ(t.text(t.comm.function[0]), "ncclAllReduce");
  EXPECT_EQ(t.comm.kind[0], CommKind::kCollective);
  EXPECT_EQ(t.comm.send_bytes[0], 4096U);
  EXPECT_EQ(t.comm.correlation_id[0], 1U);
  EXPECT_EQ(t.comm.duration_ns[0], 0);
  ASSERT_EQ(t.comm_work.size(), 1U);  // one is on the device
  EXPECT_EQ(t.comm_work.start_ns[0], 100'000);
  EXPECT_EQ(t.comm_work.duration_ns[0], 10'000);
  EXPECT_EQ(t.text(t.comm.function[1]), "reduce_scatter");
  EXPECT_EQ(t.comm.duration_ns[1], 10'000);
  EXPECT_EQ(t.comm.kind[2], CommKind::kSend);
  EXPECT_EQ(t.comm.peer[2], 5);
  EXPECT_EQ(t.comm.tag[2], 77);
  EXPECT_EQ(t.comm.send_bytes[2], 10U);
  EXPECT_EQ(t.comm.kind[3], CommKind::kReceive);
  EXPECT_EQ(t.comm.peer[3], 6);
  EXPECT_EQ(t.comm.receive_bytes[3], 20U);
  ASSERT_EQ(t.communicator.size(), 1U);
  EXPECT_EQ(t.text(t.communicator.name[0]), "3");
  EXPECT_EQ(t.comm.communicator_id[1], CommunicatorId::kNone);
}

TEST(ExecutionTraceImporter, AGraphWithoutTimesStillSaysWhoCommunicates) {
  const ImportedText got = importText(communicating(0));
  ASSERT_TRUE(got.ok) << got.error;
  ASSERT_EQ(got.trace.comm.size(), 4U);
  EXPECT_EQ(got.trace.comm.start_ns[2], 0);
  EXPECT_EQ(got.trace.comm.peer[2], 5);
  EXPECT_EQ(got.trace.comm_work.size(), 0U);
  EXPECT_THAT(got.counts.notes,
              ::testing::ElementsAre(HasSubstr("communicate (4) are in comm, without times")));
  // With a node that has a time, nodes without one would be at a wrong time.
  const ImportedText mixed =
      importText(communicating(0) + nodeOf(9, "gemm", 4, 100, {attribute("is_cpu_op", 27, 0)}));
  EXPECT_EQ(mixed.trace.comm.size(), 0U);
}

TEST(ExecutionTraceImporter, ChakraInJson) {
  const ImportedText got = importText(R"json({"workload_graph": [
    {"Id": 216, "Name": "aten::add(0)", "NodeType": 4, "ctrlDeps": [3], "data_deps": [], "runtime": 318, "is_cpu_op": true}],
    "ngpus": 8})json");
  ASSERT_TRUE(got.ok) << got.error;
  EXPECT_EQ(got.format, "Chakra JSON");
  EXPECT_EQ(got.counts.others, 1u);
  EXPECT_EQ(got.trace.metadataValue("source.ngpus"), "8");
  EXPECT_THAT(got.counts.notes,
              ::testing::ElementsAre(HasSubstr("1 nodes have no readable start")));
}

TEST(ExecutionTraceImporter, KeepsWhatIsBeforeDamage) {
  const ImportedText cut = importText(kOld.substr(0, kOld.find("[process]")));
  ASSERT_TRUE(cut.ok);
  EXPECT_EQ(cut.counts.events, 1u);
  EXPECT_EQ(cut.counts.damage.size(), 1u);
  const std::string bytes = chakra();
  const ImportedText half = importText(std::string_view(bytes).substr(0, bytes.size() - 5));
  ASSERT_TRUE(half.ok);
  EXPECT_EQ(half.counts.events, 3u);
  EXPECT_THAT(half.counts.damage.at(0).reason, HasSubstr("ends within"));
  const ImportedText absurd = importText(bytes + "\xff\xff\xff\xff\xff\xff\x01");
  ASSERT_TRUE(absurd.ok);
  EXPECT_THAT(absurd.counts.damage.at(0).reason, HasSubstr("impossible length"));
  std::string deep = R"({"schema":"1","nodes":[{"id":1,"x":)";
  deep.append(100000, '[').append(100000, ']').append("},{\"id\":2}]}");
  const ImportedText nested = importText(deep);
  ASSERT_TRUE(nested.ok);
  EXPECT_EQ(nested.counts.events + nested.counts.damage.size(), 2u);
}

TEST(ExecutionTraceImporter, EveryDamageIsAnErrorOrCounted) {
  importDamaged(kOld, test::Cut::kShows, 60, 150);
  importDamaged(chakra(), test::Cut::kHides, 60, 150);
}

TEST(ExecutionTraceImporter, RealOnesComeInWhole) {
  const char* data = std::getenv("TRACESMITH_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "TRACESMITH_TEST_DATA is not set";
  size_t files = 0;
  std::error_code ec;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(data) + "/traces", ec)) {
    const std::string path = entry.path().string();
    const bool json = path.ends_with("_et.json.gz");
    if (!json && !path.ends_with(".et")) continue;
    SCOPED_TRACE(path);
    const test::TempFile output;
    const auto report = importTrace(path, output.path());
    ASSERT_TRUE(report) << report.error().toString();
    EXPECT_TRUE(report->counts.damage.empty());
    EXPECT_GT(report->counts.events, 0u);
    ++files;
    if (!json) continue;
    auto source = ByteSource::open(path);
    ASSERT_TRUE(source);
    std::string text(2u << 20, '\0');
    text.resize((*source)->read({reinterpret_cast<uint8_t*>(text.data()), text.size()}).value());
    if (text.size() == (2u << 20)) continue;  // counting would take too long
    EXPECT_EQ(report->counts.events, nlohmann::json::parse(text)["nodes"].size());
  }
  if (files == 0) GTEST_SKIP() << "there are no execution traces below TRACESMITH_TEST_DATA";
  std::printf("%zu real execution traces\n", files);
}

}  // namespace
}  // namespace tracesmith::import
