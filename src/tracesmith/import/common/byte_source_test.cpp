// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/common/byte_source.hpp"

#include <gmock/gmock.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <random>

#include "tracesmith/format/trace_test_util.hpp"
#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/common/proto_message_test_util.hpp"
#include "tracesmith/import/xctrace/xctrace_sample_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::TempFile;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Bytes gzip(const Bytes& content) {
  Bytes out(content.size() + (64u << 10));
  isal_zstream stream;
  isal_deflate_init(&stream);
  Bytes room(ISAL_DEF_LVL1_DEFAULT);
  stream.level = 1;
  stream.level_buf = room.data();
  stream.level_buf_size = static_cast<uint32_t>(room.size());
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.next_in = const_cast<uint8_t*>(content.data());
  stream.avail_in = static_cast<uint32_t>(content.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uint32_t>(out.size());
  EXPECT_EQ(isal_deflate(&stream), COMP_OK);
  out.resize(stream.total_out);
  return out;
}

Bytes zstd(const Bytes& content) {
  Bytes out(ZSTD_compressBound(content.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), content.data(), content.size(), 1));
  return out;
}

Bytes sample(size_t bytes) {
  std::mt19937_64 random(1);
  Bytes content(bytes);
  for (uint8_t& b : content) b = static_cast<uint8_t>("abcdefgh"[random() % 8]);
  return content;
}

struct Content {
  Bytes bytes;
  std::string error;
};
Content readAll(const std::string& path, size_t piece_bytes) {
  Content content;
  auto source = ByteSource::open(path);
  if (!source) return {{}, source.error().toString()};
  Bytes piece(piece_bytes);
  for (;;) {
    const auto n = (*source)->read(piece);
    if (!n) {
      content.error = n.error().toString();
      return content;
    }
    content.bytes.insert(content.bytes.end(), piece.begin(),
                         piece.begin() + static_cast<ptrdiff_t>(*n));
    if (*n < piece.size()) {
      // Read again: a deferred error is reported now, and an end stays an end.
      const auto again = (*source)->read(piece);
      if (!again) {
        content.error = again.error().toString();
      } else {
        EXPECT_EQ(*again, 0U);
      }
      return content;
    }
  }
}

TEST(ByteSource, GivesTheSameFromAnyPacking) {
  const Bytes content = sample(3'000'000);
  const TempFile file;
  Bytes members = gzip(sample(1'000));
  const Bytes second = gzip(content);
  members.insert(members.end(), second.begin(), second.end());
  Bytes both = sample(1'000);
  both.insert(both.end(), content.begin(), content.end());
  for (const size_t piece : {size_t{1'000}, size_t{65'536}, size_t{5'000'000}}) {
    file.write(content);
    EXPECT_EQ(readAll(file.path(), piece).bytes, content);
    file.write(gzip(content));
    EXPECT_EQ(readAll(file.path(), piece).bytes, content);
    file.write(zstd(content));
    EXPECT_EQ(readAll(file.path(), piece).bytes, content);
    file.write(members);
    EXPECT_EQ(readAll(file.path(), piece).bytes, both) << "two members, one after the other";
  }
}

TEST(ByteSource, WhatIsCutGivesWhatIsThereAndSaysSo) {
  const Bytes content = sample(200'000);
  const TempFile file;
  for (const Bytes& packed : {gzip(content), zstd(content)}) {
    for (size_t cut = 5; cut < packed.size(); cut += 997) {
      file.write(ByteView(packed).first(cut));
      const Content got = readAll(file.path(), 64 << 10);
      EXPECT_THAT(got.error, HasSubstr("ends too early")) << cut;
      EXPECT_LE(got.bytes.size(), content.size());
      EXPECT_TRUE(std::equal(got.bytes.begin(), got.bytes.end(), content.begin()));
    }
  }
}

TEST(ByteSource, DamageIsNoticed) {
  const Bytes content = sample(200'000);
  const TempFile file;
  std::mt19937_64 random(2);
  for (int i = 0; i < 100; ++i) {
    Bytes packed = gzip(content);
    packed[20 + random() % (packed.size() - 20)] ^= static_cast<uint8_t>(1 + random() % 255);
    file.write(packed);
    const Content got = readAll(file.path(), 64 << 10);
    EXPECT_FALSE(got.error.empty() && got.bytes == content) << "the checksum would not hold";
  }
}

TEST(ByteSource, WhatFollowsAMemberIsAMemberPaddingOrDamage) {
  const TempFile file;
  Bytes packed = gzip(sample(1'000));
  const size_t first = packed.size();
  packed.resize(first + 700, 0);
  file.write(packed);
  EXPECT_EQ(readAll(file.path(), 300).error, "") << "zeros";
  const Bytes second = gzip(sample(2'000));
  packed.insert(packed.end(), second.begin(), second.end());
  file.write(packed);
  EXPECT_EQ(readAll(file.path(), 300).bytes.size(), 3'000U);
  for (size_t byte = 0; byte < 3; ++byte) {
    Bytes broken = packed;
    broken[first + 700 + byte] ^= 1;
    file.write(broken);
    const Content got = readAll(file.path(), 300);
    EXPECT_EQ(got.bytes, sample(1'000));
    EXPECT_THAT(got.error, HasSubstr("after 1000 unpacked bytes")) << byte;
  }
}

TEST(ByteSource, EveryReaderHearsOfDamageBehindItsLastByte) {
  const std::string csv =
      "\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Dispatch_Id\",\"Start_Timestamp\",\"End_"
      "Timestamp\"\n"
      "\"KERNEL_DISPATCH\",1,\"k\",1,10,20\n";
  const std::string nodes =
      R"({"schema":"1.1.1","pid":1,"nodes":[{"id":1,"name":"a","start_time_micros":1}]})";
  const std::string chrome = R"({"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1}]})";
  const std::string rocprof = R"({"rocprofiler-sdk-tool":[{"metadata":{"pid":1}}]})";
  const test::Message event = test::Message().number(9, 3).text(23, "a");
  const std::string perfetto =
      test::Message().of(1, test::Message().number(8, 5).of(11, event)).bytes();
  const test::Message attribute = test::Message().text(1, "pid").number(9, 7);
  const test::Message facts = test::Message().text(1, "v1").of(2, attribute);
  const test::Message node = test::Message().number(1, 1).text(2, "a").number(6, 1);
  std::string chakra;
  for (const std::string& message : {facts.bytes(), node.bytes()}) {
    chakra += static_cast<char>(message.size());
    chakra += message;
  }
  for (const std::string& text :
       {csv, nodes, chrome, rocprof, perfetto, chakra, std::string(test::kXctraceIntervals)}) {
    SCOPED_TRACE(text.substr(0, 40));
    Bytes packed = gzip(Bytes(text.begin(), text.end()));
    const test::ImportedText sound = test::importText(asText(packed));
    ASSERT_TRUE(sound.ok) << sound.error;
    EXPECT_THAT(sound.counts.damage, IsEmpty());
    for (const char c : std::string("JUNK")) packed.push_back(static_cast<uint8_t>(c));
    const test::ImportedText got = test::importText(asText(packed));
    ASSERT_TRUE(got.ok) << got.error;
    ASSERT_EQ(got.counts.damage.size(), 1U);
    EXPECT_THAT(got.counts.damage[0].reason, HasSubstr("data other than gzip follows"));
  }
}

TEST(ByteSource, SaysWhatCanNotBeOpened) {
  EXPECT_FALSE(ByteSource::open("/nonexistent"));
  EXPECT_FALSE(ByteSource::open("/"));
  const TempFile file;
  file.write({});
  EXPECT_THAT(ByteSource::open(file.path()).error().message, HasSubstr("empty"));
}

}  // namespace
}  // namespace tracesmith::import
