// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/perfetto/proto_wire.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "tracesmith/base/proto_reader.hpp"
#include "tracesmith/export/perfetto/sample_trace_test_util.hpp"

namespace tracesmith::proto {
namespace {

template <class F>
std::string encoded(size_t bound, F&& f) {
  std::string bytes(bound, '\0');
  Cursor c(reinterpret_cast<uint8_t*>(bytes.data()));
  f(c);
  bytes.resize(static_cast<size_t>(c.at() - reinterpret_cast<uint8_t*>(bytes.data())));
  return bytes;
}

TEST(ProtoWire, writesTheBytesOfTheSpecification) {
  // The examples of https://protobuf.dev/programming-guides/encoding/.
  EXPECT_EQ(encoded(64, [](Cursor& c) { c.uint<1>(150); }), "\x08\x96\x01");
  EXPECT_EQ(encoded(64, [](Cursor& c) { c.text<2>("testing"); }), "\x12\x07testing");
  EXPECT_EQ(encoded(64, [](Cursor& c) { c.message<3>([&] { c.uint<1>(150); }); }),
            "\x1a\x03\x08\x96\x01");
  EXPECT_EQ(encoded(64, [](Cursor& c) { c.sint<1>(-2); }),
            "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(encoded(64, [](Cursor& c) { c.fixed64<1>(0x1122334455667788); }),
            "\x09\x88\x77\x66\x55\x44\x33\x22\x11");
}

TEST(ProtoWire, tagsOfEveryLengthComeBack) {
  const std::string bytes = encoded(128, [](Cursor& c) {
    c.uint<1>(1);
    c.uint<15>(2);
    c.uint<16>(3);
    c.uint<2047>(4);
    c.uint<2048>(5);
    c.uint<3000>(6);
    c.uint<(1u << 29) - 1>(7);
  });
  std::vector<uint32_t> numbers;
  std::vector<uint64_t> values;
  ASSERT_TRUE(forEachField(bytes, [&](const Field& f) {
    numbers.push_back(f.number);
    values.push_back(f.value);
  }));
  EXPECT_EQ(numbers, (std::vector<uint32_t>{1, 15, 16, 2047, 2048, 3000, (1u << 29) - 1}));
  EXPECT_EQ(values, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7}));
}

TEST(ProtoWire, lengthsWidenAsBodiesGrow) {
  for (size_t size : {0u, 1u, 126u, 127u, 128u, 129u, 16381u, 16383u, 16384u, 16385u, 2097152u}) {
    const std::string text(size, 'x');
    const std::string bytes = encoded(size + 64, [&](Cursor& c) {
      c.message<5>([&] { c.message<6>([&] { c.text<7>(text); }); });
      c.uint<8>(9);
    });
    std::string found;
    uint64_t after = 0;
    ASSERT_TRUE(forEachField(bytes, [&](const Field& f) {
      if (f.number == 8) after = f.value;
      forEachField(f.bytes, [&](const Field& g) {
        forEachField(g.bytes, [&](const Field& h) { found = h.bytes; });
      });
    }));
    EXPECT_EQ(found, text);
    EXPECT_EQ(after, 9u) << "what follows a widened message stays whole";
  }
}

/// A message of random fields, kept together with its bytes.
struct Node {
  uint64_t number = 0;
  std::string text;
  std::vector<Node> children;
  int kind = 0;  // 0 varint, 1 fixed, 2 text, 3 message
};

Node randomNode(sample::Random& random, int depth) {
  Node node;
  node.kind = static_cast<int>(random.below(depth > 0 ? 4 : 3));
  node.number = random.next() >> random.below(64);
  if (node.kind == 2) node.text.assign(random.below(random.below(4) == 0 ? 400 : 20), 't');
  if (node.kind == 3) {
    node.children.resize(random.below(8));
    for (Node& child : node.children) child = randomNode(random, depth - 1);
  }
  return node;
}

void write(Cursor& c, const Node& node) {
  if (node.kind == 0) c.uint<10>(node.number);
  if (node.kind == 1) c.fixed64<200>(node.number);
  if (node.kind == 2) c.text<3000>(node.text);
  if (node.kind == 3) {
    c.message<53>([&] {
      for (const Node& child : node.children) write(c, child);
    });
  }
}

void expectSame(const std::vector<Node>& nodes, std::string_view bytes) {
  size_t i = 0;
  EXPECT_TRUE(forEachField(bytes, [&](const Field& f) {
    ASSERT_LT(i, nodes.size());
    const Node& node = nodes[i++];
    constexpr uint32_t kNumbers[] = {10, 200, 3000, 53};
    EXPECT_EQ(f.number, kNumbers[node.kind]);
    if (node.kind <= 1) {
      EXPECT_EQ(f.value, node.number);
    } else if (node.kind == 2) {
      EXPECT_EQ(f.bytes, node.text);
    } else {
      expectSame(node.children, f.bytes);
    }
  }));
  EXPECT_EQ(i, nodes.size());
}

TEST(ProtoWire, randomMessagesComeBack) {
  sample::Random random(42);
  for (int round = 0; round < 500; ++round) {
    std::vector<Node> nodes(1 + random.below(6));
    for (Node& node : nodes) node = randomNode(random, 5);
    const std::string bytes = encoded(64 << 20 >> 4, [&](Cursor& c) {
      for (const Node& node : nodes) write(c, node);
    });
    expectSame(nodes, bytes);
  }
}

TEST(ProtoReader, endsEarlyOnDamageAndNeverLeavesItsBytes) {
  sample::Random random(43);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(random.below(60), '\0');
    for (char& c : bytes) c = static_cast<char>(random.next());
    forEachField(bytes, [&](const Field& f) {
      if (f.bytes.empty()) return;
      EXPECT_GE(f.bytes.data(), bytes.data());
      EXPECT_LE(f.bytes.data() + f.bytes.size(), bytes.data() + bytes.size());
    });
  }
  EXPECT_FALSE(forEachField("\x12\x07test", [](const Field&) {}));
  EXPECT_FALSE(forEachField("\x0b", [](const Field&) {})) << "groups are not read";
}

}  // namespace
}  // namespace tracesmith::proto
