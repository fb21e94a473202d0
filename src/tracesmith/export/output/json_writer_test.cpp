// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/output/json_writer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tracesmith/export/perfetto/sample_trace_test_util.hpp"

namespace tracesmith {
namespace {

template <class F>
std::string written(F&& f, int indent = 0) {
  std::string text;
  Output out = Output::toString(&text);
  JsonWriter json(out, indent);
  f(json);
  EXPECT_TRUE(out.finish());
  return text;
}

TEST(JsonWriter, writesOneLineOrForPeople) {
  const auto document = [](JsonWriter& json) {
    json.beginObject().field("a", 1).key("b").beginArray().value("x").value(true).null();
    json.endArray().key("c").beginObject().endObject().endObject();
  };
  EXPECT_EQ(written(document), R"({"a":1,"b":["x",true,null],"c":{}})");
  EXPECT_EQ(written(document, 2),
            "{\n  \"a\": 1,\n  \"b\": [\n    \"x\",\n    true,\n    null\n  ],\n  \"c\": {}\n}");
}

TEST(JsonWriter, anyTextReadsBack) {
  for (const std::string& name : sample::hostileNames()) {
    const std::string text =
        written([&](JsonWriter& json) { json.beginObject().field(name, name).endObject(); });
    const auto parsed = nlohmann::json::parse(text);
    ASSERT_EQ(parsed.size(), 1u);
    // The parser checks UTF-8, so the result must equal the input, except for replaced bytes.
    const std::string back = parsed.begin().value().get<std::string>();
    EXPECT_EQ(parsed.begin().key(), back);
    if (back.find("\xef\xbf\xbd") == std::string::npos) {
      EXPECT_EQ(back, name);
    }
  }
}

TEST(JsonWriter, eachBrokenByteBecomesOneReplacementCharacter) {
  const struct {
    std::string in, out;
  } cases[] = {
      {"a\xff"
       "b",
       "a\xef\xbf\xbd"
       "b"},
      {"\xc3(", "\xef\xbf\xbd("},                                // truncated two-byte sequence
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // surrogate
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                  // overlong
      {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // past U+10FFFF
      // Truncated at the end.
      {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
  };
  for (const auto& c : cases) {
    const auto parsed = nlohmann::json::parse(written([&](JsonWriter& json) { json.value(c.in); }));
    EXPECT_EQ(parsed.get<std::string>(), c.out);
  }
}

TEST(JsonWriter, randomBytesAlwaysGiveValidJson) {
  sample::Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random.below(40), '\0');
    for (char& c : bytes) c = static_cast<char>(random.next());
    const std::string text = written([&](JsonWriter& json) { json.value(bytes); });
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  }
}

TEST(JsonWriter, numbersReadBackExactly) {
  for (double v : {0.0, -0.0, 0.1, 1e300, -1.5e-300, 40.5, 1.0 / 3}) {
    const std::string text = written([&](JsonWriter& json) { json.value(v); });
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), v) << text;
  }
  EXPECT_EQ(written([](JsonWriter& json) { json.value(std::nan("")); }), "null");
  EXPECT_EQ(written([](JsonWriter& json) { json.value(std::numeric_limits<int64_t>::min()); }),
            "-9223372036854775808");
  EXPECT_EQ(written([](JsonWriter& json) { json.value(std::numeric_limits<uint64_t>::max()); }),
            "18446744073709551615");
}

TEST(Microseconds, areExactToTheNanosecond) {
  const struct {
    int64_t ns;
    const char* text;
  } cases[] = {
      {0, "0.000"},
      {1, "0.001"},
      {999, "0.999"},
      {1000, "1.000"},
      {1234567, "1234.567"},
      {-1, "-0.001"},
      {-1234567, "-1234.567"},
      {std::numeric_limits<int64_t>::max(), "9223372036854775.807"},
      {std::numeric_limits<int64_t>::min(), "-9223372036854775.808"},
  };
  for (const auto& c : cases) {
    char text[32];
    EXPECT_EQ(std::string(text, putMicroseconds(text, c.ns)), c.text);
  }
}

}  // namespace
}  // namespace tracesmith
