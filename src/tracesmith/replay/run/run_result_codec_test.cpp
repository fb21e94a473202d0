// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/run/run_result_codec.hpp"

#include <gtest/gtest.h>

namespace tracesmith {
namespace {

RunResult full() {
  RunResult r;
  r.device = "a device";
  r.same_device = true;
  r.executed = 1, r.failed_alike = 2, r.skipped = 3, r.launches = 4;
  r.shown = 5, r.shown_equal = 6, r.not_comparable = 7;
  r.differences = {{8, 9, 10, 11}, {12, 13, 14, 15}};
  r.problems = {{16, "seventeen"}};
  r.problem_count = 18;
  r.launches_compared = 63, r.launches_equal = 64;
  r.launch_differences = {{65, 66, 67}};
  LaunchHash hash;
  hash.launch = 19, hash.input = 20;
  hash.outputs = {{21, {{22, 23}, {24, 25}}}};
  hash.repeats = {{26, {{27, 28}}}};
  hash.permuted = {{29, {}}};
  hash.permuted_runs = 30, hash.runs_again = 31, hash.recorded = true;
  hash.unlike_recorded = {{32, {{33, 34}}}};
  r.launch_hashes = {hash, {}};
  r.examples = {{35, 36, "float*", {37, 38}, {39}}};
  r.uninitialised = {{40, 41, 42, 43}};
  r.order = {44, 45};
  r.seen = {{54, 55, 56, {{57, 58}}, {59, 60}}};
  r.not_executed = {61, 62};
  r.dumps = {{{46, 47}, 48, {49, 50, 51}}};
  r.duration_ns = 52, r.building_ns = 53;
  return r;
}

TEST(RunResultCodec, EachFieldComesBack) {
  const Bytes bytes = encodeRunResult(full());
  RunResult r;
  ASSERT_TRUE(decodeRunResult(bytes, r));
  // Equal bytes mean an equal result.
  EXPECT_EQ(encodeRunResult(r), bytes);
  EXPECT_EQ(r.device, "a device");
  EXPECT_TRUE(r.same_device);
  EXPECT_EQ(r.not_comparable, 7u);
  ASSERT_EQ(r.differences.size(), 2u);
  EXPECT_EQ(r.differences[1].differing_bytes, 15u);
  EXPECT_EQ(r.problems.at(0).text, "seventeen");
  EXPECT_EQ(r.launches_equal, 64u);
  EXPECT_EQ(r.launch_differences.at(0).first_chunk, 67u);
  ASSERT_EQ(r.launch_hashes.size(), 2u);
  EXPECT_EQ(r.launch_hashes[0].outputs, full().launch_hashes[0].outputs);
  EXPECT_EQ(r.launch_hashes[0].unlike_recorded, full().launch_hashes[0].unlike_recorded);
  EXPECT_TRUE(r.launch_hashes[0].recorded);
  EXPECT_EQ(r.examples.at(0).argument_type, "float*");
  EXPECT_EQ(r.uninitialised.at(0).bytes, 43u);
  EXPECT_EQ(r.order, full().order);
  EXPECT_EQ(r.seen.at(0).after, 55u);
  EXPECT_EQ(r.seen.at(0).chunks, full().seen[0].chunks);
  EXPECT_EQ(r.seen.at(0).bytes, (Bytes{59, 60}));
  EXPECT_EQ(r.not_executed, full().not_executed);
  EXPECT_EQ(r.dumps.at(0).bytes, (Bytes{49, 50, 51}));
  EXPECT_EQ(r.building_ns, 53);
}

TEST(RunResultCodec, NothingThatIsCutOrTooLongIsAResult) {
  Bytes bytes = encodeRunResult(full());
  for (size_t n = 0; n < bytes.size(); ++n) {
    RunResult r;
    EXPECT_FALSE(decodeRunResult(ByteView(bytes).first(n), r)) << n;
  }
  bytes.push_back(0);
  RunResult r;
  EXPECT_FALSE(decodeRunResult(bytes, r));
}

template <class... Lists>
size_t bytesOf(const Lists&... lists) {
  return (0 + ... + (lists.capacity() * sizeof(typename Lists::value_type)));
}
size_t bytesOf(const std::vector<LaunchHash::Output>& outputs) {
  size_t bytes = outputs.capacity() * sizeof outputs[0];
  for (const LaunchHash::Output& o : outputs) bytes += o.chunks.capacity() * sizeof o.chunks[0];
  return bytes;
}
/// Memory held by the lists of a result.
size_t heldBy(const RunResult& r) {
  size_t bytes = bytesOf(r.device, r.differences, r.launch_differences, r.problems, r.launch_hashes,
                         r.examples, r.uninitialised, r.pairs, r.shown_hashes, r.left, r.order,
                         r.seen, r.not_executed, r.dumps);
  for (const StepProblem& p : r.problems) bytes += p.text.capacity();
  for (const LaunchHash& h : r.launch_hashes) {
    for (const auto* list : {&h.outputs, &h.repeats, &h.permuted, &h.unlike_recorded}) {
      bytes += bytesOf(*list);
    }
  }
  for (const DifferenceExample& e : r.examples) bytes += bytesOf(e.argument_type, e.one, e.other);
  for (const Observation& s : r.seen) bytes += bytesOf(s.chunks, s.bytes);
  for (const Dump& d : r.dumps) bytes += d.bytes.capacity();
  return bytes;
}

TEST(RunResultCodec, HostileCountsCostNothing) {
  const Bytes bytes = encodeRunResult(full());
  size_t refused = 0;
  for (size_t at = 0; at + 8 <= bytes.size(); ++at) {
    for (const uint64_t value : {UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 40}) {
      Bytes damaged = bytes;
      std::memcpy(damaged.data() + at, &value, sizeof value);
      RunResult r;
      if (decodeRunResult(damaged, r)) {
        EXPECT_EQ(encodeRunResult(r).size(), damaged.size()) << at;  // all of it was read
      } else {
        ++refused;
      }
      // An element in memory is a few times larger than its bytes, and lists grow by doubling.
      EXPECT_LT(heldBy(r), 8 * damaged.size() + 4096) << at << " " << value;
    }
  }
  EXPECT_GT(refused, bytes.size());  // some of the changed bytes were counts
}

}  // namespace
}  // namespace tracesmith
