// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json/json_events.hpp"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/import/common/import_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::TextSource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Read {
  Status status;
  std::vector<std::string> names;
  std::map<std::string, std::string> members;
  std::vector<SourceDamage> damage;
  uint64_t bytes = 0;
};

Read read(std::string_view text, size_t window_bytes = 1u << 20,
          size_t largest_member = 512u << 20) {
  TextSource source(text);
  JsonEvents events(source, window_bytes, largest_member);
  Read out;
  out.status = events.run(
      [&](std::string_view name, std::string_view raw) { out.members[std::string(name)] = raw; },
      [&](const ChromeEvent& event) { out.names.emplace_back(event[EventField::kName].raw); });
  out.damage = events.damage();
  out.bytes = events.documentBytes();
  return out;
}

/// Events with nested objects, and with texts that look like boundaries between events.
std::string document(int events) {
  std::string text = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0}, {"id": 1}],
 "traceEvents": [)";
  for (int i = 0; i < events; ++i) {
    if (i > 0) text += i % 3 == 0 ? ",\n  " : ",";
    text +=
        R"({"ph":"X","name":"e)" + std::to_string(i) + R"(","ts":)" + std::to_string(i) +
        R"(.5,"dur":1,"args":{"text":"},{\"ph\":\"X\"","list":[{"a":1},{"b":"},{"},{"ph":2}],"n":null}})";
  }
  return text +
         R"(], "traceName": "a },{ b", "distributedInfo": {"rank": 0, "list": [{"x":1},{"y":2}]}})";
}

TEST(JsonEvents, AreTheSameThroughWindowsOfAnySize) {
  const std::string text = document(50);
  for (size_t window = 300; window < 6'000; window += 37) {
    const Read got = read(text, window);
    ASSERT_TRUE(got.status) << window << ": " << got.status.error().toString();
    ASSERT_EQ(got.names.size(), 50U) << window;
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(got.names[static_cast<size_t>(i)], "e" + std::to_string(i));
    EXPECT_EQ(got.members.size(), 4U);
    EXPECT_EQ(got.members.at("traceName"), "\"a },{ b\"");
    EXPECT_THAT(got.damage, IsEmpty()) << window << ": " << got.damage[0].reason;
  }
}

TEST(JsonEvents, ADocumentThatIsCutAtAnyByteKeepsWhatIsBefore) {
  const std::string text = document(6);
  const size_t first_event = text.find("\"traceEvents\": [") + 16;
  for (size_t cut = 0; cut < text.size(); ++cut) {
    for (const size_t window : {size_t{256}, size_t{1} << 20}) {
      const Read got = read(text.substr(0, cut), window);
      if (cut < first_event) {
        EXPECT_FALSE(got.status) << cut;
        continue;
      }
      ASSERT_TRUE(got.status) << cut;
      size_t whole = 0;  // events that end before the cut
      for (size_t i = 0; i < 6; ++i) {
        const size_t begin = text.find("\"name\":\"e" + std::to_string(i));
        const size_t end = text.find("\"n\":null}}", begin) + 10;
        whole += end <= cut;
      }
      EXPECT_EQ(got.names.size(), whole) << "cut at " << cut << ", windows of " << window;
      EXPECT_FALSE(got.damage.empty()) << cut;
    }
  }
}

TEST(JsonEvents, DamageCostsTheEventsThatItIsIn) {
  std::string text = document(40);
  const size_t at = text.find("\"name\":\"e20\"");
  text.replace(at, 12, "\"name\" e20 x");
  for (const size_t window : {size_t{700}, size_t{1} << 20}) {
    const Read got = read(text, window);
    ASSERT_TRUE(got.status);
    EXPECT_EQ(got.names.size(), 39U);
    EXPECT_EQ(got.names.back(), "e39");
    ASSERT_EQ(got.damage.size(), 1U);
    EXPECT_GT(got.damage[0].bytes, 50U);
    EXPECT_LT(got.damage[0].bytes, 300U);
    EXPECT_EQ(got.members.size(), 4U) << "what follows the events is there, too";
  }
}

TEST(JsonEvents, ABracketThatIsTornOutOfAnEventEndsNothing) {
  const std::string event =
      R"({"ph":"X","name":"","args":{"types":["float","int"],"n":[[1],[2]]}})";
  for (const std::string& torn :
       {std::string(R"({"ph":"X","name":"","args":{"types":]"float","int"],"n":[[1],[2]]}})"),
        std::string(R"({"ph":"X","name":"","args":{"types":["float","int"],"n":[[1],[2]]}]})"),
        std::string(R"({"ph":"X","name":"","args":{"types":["float,"int"],"n":[[1],[2]]}})"),
        std::string(R"({"ph":"X","name":"","args":"types":["float","int"],"n":[[1],[2]]}})"),
        "[ " + event, "] " + event, event + " ]", event + "] ,", event + "}"}) {
    for (const bool isBareArray : {false, true}) {
      std::string text = isBareArray ? "[" : R"({"schemaVersion":1,"traceEvents":[)";
      for (int i = 0; i < 60; ++i) {
        std::string one = i == 20 ? torn : event;
        one.replace(one.find("\"name\":\"") + 8, 0, "e" + std::to_string(i));
        text += (i == 0 ? "" : ", ") + one;
      }
      text += isBareArray ? "]" : R"(],"traceName":"t","own":5})";
      for (const size_t window : {size_t{300}, size_t{1} << 20}) {
        const Read got = read(text, window);
        ASSERT_TRUE(got.status) << torn;
        EXPECT_GE(got.names.size(), 59U) << torn << window;
        EXPECT_EQ(got.names.back(), "e59") << torn;
        EXPECT_FALSE(got.damage.empty()) << torn;
        EXPECT_EQ(got.members.count("traceName"), isBareArray ? 0U : 1U) << torn;
      }
    }
  }
}

TEST(JsonEvents, WhatLooksLikeAnEventWithinADamagedOneIsNone) {
  const Read got = read(R"({"traceEvents":[{"ph":"X","name":"a"},
    {"ph":"X","name":oops,"args":{"name":"inner","device":0}},{"ph":"X","name":"b"}]})");
  EXPECT_THAT(got.names, ElementsAre("a", "b"));
  const Read list = read(R"({"traceEvents":[{"ph":"X","name":"a"},
    {"ph":"X","dur":1,,"args":{"sub":[{"ph":"X","name":"i1"},{"ph":"X","name":"i2"}]}},
    {"ph":"X","name":"b"}]})");
  EXPECT_THAT(list.names, ElementsAre("a", "b"));
}

TEST(JsonEvents, LargeEventsAreWhole) {
  const std::string large =
      R"({"ph":"X","name":"large","args":{"text":")" + std::string(9u << 20, 'x') + R"("}})";
  const std::string too_large = R"({"ph":"X","name":"too large","args":{"list":["[{",)" +
                                std::string(40u << 20, '1') + R"(]}})";
  const std::string other = R"({"ph":"X","name":"other","args":{"n":[[1],[2]]}})";
  const Read got = read("{\"traceEvents\":[" + other + "," + large + "," + other + "," + too_large +
                        "," + other + "]}");
  ASSERT_TRUE(got.status);
  EXPECT_THAT(got.names, ElementsAre("other", "large", "other", "other"));
  ASSERT_EQ(got.damage.size(), 1U);
  EXPECT_EQ(got.damage[0].bytes, too_large.size());
  EXPECT_THAT(got.damage[0].reason, HasSubstr("more than 16 MiB"));
}

TEST(JsonEvents, MembersOfAnySizeAreWhole) {
  for (const size_t mib : {15, 16, 17, 31, 32, 33, 40}) {
    for (const bool in_front : {false, true}) {
      const std::string value = "[\"}\",\"" + std::string(mib << 20, 'x') + "\"]";
      const std::string events = R"("traceEvents":[{"ph":"X","name":"a"}])";
      const std::string member = "\"large\":" + value;
      const Read got =
          read("{" + (in_front ? member + "," + events : events + "," + member) + ",\"last\":2}");
      ASSERT_TRUE(got.status) << mib;
      EXPECT_TRUE(got.members.at("large") == value) << mib;
      EXPECT_EQ(got.members.at("last"), "2") << mib;
      EXPECT_TRUE(got.damage.empty()) << mib;
      EXPECT_THAT(got.names, ElementsAre("a")) << mib;
    }
  }
}

TEST(JsonEvents, MembersThatAreTooLargeArePassedOver) {
  const std::string value = "[\"}\"," + std::string(5u << 20, '1') + "]";
  const Read got = read(R"({"traceEvents":[{"ph":"X","name":"a"}],"large":)" + value +
                            ",\"bad\x01\xff\":1,\"last\":2}",
                        1u << 20, 1u << 20);
  ASSERT_TRUE(got.status);
  EXPECT_EQ(got.members.size(), 2U);
  EXPECT_EQ(got.members.at("last"), "2");
  EXPECT_EQ(got.members.at("bad ?"), "1");
  ASSERT_GE(got.damage.size(), 1U);
  EXPECT_EQ(got.damage[0].offset, 47U);
  EXPECT_EQ(got.damage[0].bytes, value.size());
}

// Regression: skipped bytes were subtracted twice, which moved the cursor beyond the end.
TEST(JsonEvents, MembersThatDoNotEndAreCountedOnce) {
  constexpr size_t kBytes = 5u << 20;
  for (const std::string open : {"\"", "[1,\"", "{\"a\":[", "[[[", "{\"a\":\"\\", "1"}) {
    for (const size_t largest : {size_t{1} << 20, size_t{64} << 20}) {
      const std::string head = R"({"traceEvents":[{"ph":"X","name":"a"}],"m":)";
      const std::string text = head + open + std::string(kBytes, open == "1" ? '1' : 'x');
      const Read got = read(text, 1u << 20, largest);
      ASSERT_TRUE(got.status) << open;
      EXPECT_THAT(got.names, ElementsAre("a")) << open;
      uint64_t lost = 0;
      for (const SourceDamage& d : got.damage) lost += d.bytes;
      EXPECT_EQ(lost, text.size() - head.size()) << open << ' ' << largest;
      EXPECT_EQ(got.bytes, text.size()) << open << ' ' << largest;
    }
  }
}

TEST(JsonEvents, MembersAreWholeThroughReadsOfAnySize) {
  const std::string member = R"("a \\ b \" c \\\" },{ \u00e9 ][")";
  const std::string text =
      R"({"name\"s": )" + member + R"(, "traceEvents": [], "last": )" + member + "}";
  for (size_t window = 256; window < 400; ++window) {
    // Leading spaces move the escape sequence across the end of each read.
    for (size_t spaces = 180; spaces < 260; ++spaces) {
      const Read got = read(std::string(spaces, ' ') + text, window);
      ASSERT_TRUE(got.status) << window << ' ' << spaces << got.status.error().toString();
      ASSERT_EQ(got.members.at("last"), member) << window << ' ' << spaces;
      ASSERT_EQ(got.members.at("name\\\"s"), member) << window << ' ' << spaces;
    }
  }
}

TEST(JsonEvents, MuchDamageTakesNoLongerThanItsBytes) {
  std::string text = "[";
  for (int i = 0; i < 100'000; ++i) text += R"({"ph":"X","name":oops},)";
  const int64_t began = monotonicNs();
  const Read got = read(text + R"({"ph":"X","name":"last"}])", 8u << 20);
  EXPECT_THAT(got.names, ElementsAre("last"));
  EXPECT_LT(monotonicNs() - began, 60'000'000'000) << "2.3 MB, each byte looked at a few times";
}

TEST(JsonEvents, BracketsThatNeverCloseTakeNoLongerThanTheirBytes) {
  for (const std::string piece :
       {R"({"ph":"X","a":[{"b":1},)", R"({"ph":"X","n":oops,"args":{"l":[{"c":1},)"}) {
    const auto cpuTime = [&](int pieces) {
      std::string text = "[";
      for (int i = 0; i < pieces; ++i) text += piece;
      const int64_t began = clockNs(CLOCK_PROCESS_CPUTIME_ID);
      EXPECT_THAT(read(text + R"({"ph":"X","name":"last"}])").names, ElementsAre("last"));
      return static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - began);
    };
    const double few = cpuTime(2'000);
    EXPECT_LT(cpuTime(8'000) / few, 8) << "four times the bytes; their square would be 16";
  }
}

TEST(JsonEvents, ListsThatNeverCloseTakeNoLongerThanListsThatDo) {
  const auto cpuTime = [](std::string_view piece) {
    std::string text = R"([{"ph":"X","name":"first"},)";
    for (int i = 0; i < 20'000; ++i) text += piece;
    text += R"({"ph":"X","name":"last"}])";
    double best = 1e18;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const int64_t began = clockNs(CLOCK_PROCESS_CPUTIME_ID);
      EXPECT_THAT(read(text, 1u << 20).names, ElementsAre("first", "last")) << piece;
      best = std::min(best, static_cast<double>(clockNs(CLOCK_PROCESS_CPUTIME_ID) - began));
    }
    return best;
  };
  const double closed = cpuTime("[0],");
  for (const std::string_view piece : {"[0,", "[[0],", R"([{"a":0},)", R"(["a",)"}) {
    EXPECT_LT(cpuTime(piece) / closed, 30) << piece;
  }
}

TEST(JsonEvents, StopsWhenItIsTold) {
  TextSource source(document(50));
  JsonEvents events(source, 512);
  int seen = 0;
  EXPECT_TRUE(events.run([](std::string_view, std::string_view) {},
                         [&](const ChromeEvent&) {
                           if (++seen == 7) events.stop();
                         }));
  EXPECT_EQ(seen, 7);
}

TEST(JsonEvents, TextsThatJsonDoesNotAllowCostThemselves) {
  std::string text = document(10);
  text[text.find("e5")] = '\n';
  Read got = read(text);
  ASSERT_TRUE(got.status);
  ASSERT_EQ(got.names.size(), 10U);
  EXPECT_EQ(got.names[5], " 5");
  ASSERT_EQ(got.damage.size(), 1U);
  EXPECT_THAT(got.damage[0].reason, HasSubstr("1 control characters"));

  text = document(10);
  text[text.find("e5")] = '\xff';
  got = read(text);
  ASSERT_TRUE(got.status);
  ASSERT_EQ(got.names.size(), 10U);
  EXPECT_EQ(got.names[5], "?5");
  EXPECT_THAT(got.damage[0].reason, HasSubstr("not UTF-8"));
}

TEST(JsonEvents, ABareArrayNeedsNoEnd) {
  for (const std::string end : {"]", "\n]\n", "", ",", ",\n"}) {
    const Read got = read(R"([{"ph":"B","name":"a"},{"ph":"E","name":"b"})" + end);
    ASSERT_TRUE(got.status) << end;
    EXPECT_THAT(got.names, ElementsAre("a", "b")) << '"' << end << '"';
  }
  EXPECT_TRUE(read("[]").status);
  EXPECT_THAT(read("[").names, IsEmpty());
}

TEST(JsonEvents, WhatFollowsTheDocumentIsSaid) {
  for (const std::string& text :
       {std::string("[{\"ph\":\"X\",\"name\":\"a\"}] [1]"), document(3) + "{}"}) {
    for (const size_t window : {size_t{256}, size_t{1} << 20}) {
      const Read got = read(text, window);
      ASSERT_TRUE(got.status);
      ASSERT_EQ(got.damage.size(), 1U);
      EXPECT_EQ(got.damage[0].reason, "after the end of the document");
      EXPECT_GE(got.damage[0].bytes, 2U);
      EXPECT_LE(got.damage[0].bytes, 3U);
    }
  }
}

TEST(JsonEvents, ShapesThatBeginLikeOthersAreToldApart) {
  // A number with leading spaces, arguments that are not an object, and the opposite of both.
  const std::string head = R"({"ph":"X","cat":"kernel","name":")";
  for (int order = 0; order < 2; ++order) {
    std::string text = "[";
    for (int i = 0; i < 6; ++i) {
      const bool odd = (i + order) % 2 == 0;
      if (i > 0) text += ",";
      text += head + "e" + std::to_string(i) + "\",\"ts\":" + (odd ? " 1" : "2") +
              ",\"args\":" + (odd ? "null" : R"({"correlation":7})") + "}";
    }
    TextSource source(text + "]");
    JsonEvents events(source);
    int seen = 0;
    ASSERT_TRUE(events.run([](std::string_view, std::string_view) {},
                           [&](const ChromeEvent& event) {
                             const bool odd = (seen++ + order) % 2 == 0;
                             EXPECT_EQ(event[EventField::kTime].value, odd ? 1 : 2);
                             EXPECT_EQ(event[EventField::kArgCorrelation].integer(-1),
                                       odd ? -1 : 7);
                           }));
    EXPECT_EQ(seen, 6);
    EXPECT_THAT(events.damage(), IsEmpty());
  }
}

TEST(JsonEvents, WhatIsNoEventCostsItselfAlone) {
  const Read got = read(R"({"traceEvents":[null,{"ph":"X","name":"a"}, 5, [1,{"x":2}],
    {"ph":"X","name":"b"} garbage ,{"ph":"X","name":"c"} garbage ],"traceName":"x","last":5})");
  ASSERT_TRUE(got.status);
  EXPECT_THAT(got.names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(got.members.at("traceName"), "\"x\"");
  EXPECT_EQ(got.members.at("last"), "5");
  EXPECT_EQ(got.damage.size(), 5U);
}

TEST(JsonEvents, NumbersThatAreNoneReadAsNullWhereverTheyStand) {
  TextSource source(R"({"m": [1, NaN], "bad": [1, ], "traceEvents":[
    {"ph":"X","name":"a","args":{"v":NaN,"list":[1,-Infinity,{"x":nan}]}},{"ph":"X","name":"b"}]})");
  JsonEvents events(source);
  std::map<std::string, std::string> members;
  std::vector<std::string> values;
  ASSERT_TRUE(events.run(
      [&](std::string_view name, std::string_view raw) { members[std::string(name)] = raw; },
      [&](const ChromeEvent& event) {
        for (const JsonToken& token : event.values) values.emplace_back(token.raw);
      }));
  EXPECT_THAT(values, ElementsAre("a", "null", R"([1,null,{"x":null}])", "b"));
  EXPECT_EQ(members.at("m"), "[1, null]");
  EXPECT_EQ(members.count("bad"), 0U);
  EXPECT_EQ(events.damage().size(), 3U);
}

TEST(JsonEvents, SaysWhatIsNoTrace) {
  EXPECT_THAT(read("hello").status.error().message, HasSubstr("not a JSON document"));
  EXPECT_THAT(read("   ").status.error().message, HasSubstr("spaces"));
  EXPECT_THAT(read(R"({"a": 1})").status.error().message, HasSubstr("without \"traceEvents\""));
  EXPECT_FALSE(read(R"({"traceEvents": 5})").status);
  EXPECT_TRUE(read("\xef\xbb\xbf{\"traceEvents\": []}").status) << "with a byte order mark";
}

TEST(JsonToken, NumbersAreExact) {
  const auto ns = [](std::string_view raw) {
    int64_t value = 0;
    return JsonToken{.raw = raw}.nanoseconds(1000, value) ? value : -7;
  };
  EXPECT_EQ(ns("4458676980425.328"), 4458676980425328);
  EXPECT_EQ(ns("1711964646000000.001"), 1711964646000000001);
  EXPECT_EQ(ns("5"), 5000);
  EXPECT_EQ(ns("0.5"), 500);
  EXPECT_EQ(ns("-1.25"), -1250);
  EXPECT_EQ(ns("1.2345678"), 1235) << "to the nearest ns";
  EXPECT_EQ(ns("123.4560000001"), 123456);
  EXPECT_EQ(ns("0.1249999"), 125);
  EXPECT_EQ(ns("0.0004999999999999999999999999"), 0);
  EXPECT_EQ(ns("0.0005"), 1) << "halves away from zero";
  EXPECT_EQ(ns("-0.0005"), -1);
  EXPECT_EQ(ns("-0.00049"), 0);
  EXPECT_EQ(ns("1711964646000000.0014999"), 1711964646000000001) << "a double has no such digits";
  EXPECT_EQ(ns("1.7119646460000000015e15"), 1711964646000000002);
  EXPECT_EQ(ns("9223372036854775.8074"), INT64_MAX);
  EXPECT_EQ(ns("9223372036854775.8075"), -7) << "64 bits do not hold it";
  EXPECT_EQ(ns("-9223372036854775.808"), INT64_MIN);
  EXPECT_EQ(ns("5e-4"), 1);
  EXPECT_EQ(ns("4e-4"), 0);
  EXPECT_EQ(ns("1e-999999999999999999999"), 0);
  EXPECT_EQ(ns("1e999999999999999999999"), -7);
  EXPECT_EQ(ns("0e999999999999999999999"), 0);
  EXPECT_EQ(ns("1e3"), 1000000);
  EXPECT_EQ(ns("0.0000"), 0);
  EXPECT_EQ(ns("99999999999999999999999"), -7) << "no time";
  EXPECT_EQ(ns("9999999999999999999999999"), -7);
  EXPECT_EQ(ns("1e30"), -7);
  EXPECT_EQ(ns("x"), -7);
  const auto whole = [](std::string_view raw) { return JsonToken{.raw = raw}.integer(-7); };
  EXPECT_EQ(whole("-549452224"), -549452224);
  EXPECT_EQ(whole("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(whole("9223372036854775808"), -7);
  EXPECT_EQ(whole("PyTorch"), -7);
  EXPECT_EQ(whole("1.048576e+06"), 1048576) << "as C++ writes doubles";
  EXPECT_EQ(whole("1e3"), 1000);
  EXPECT_EQ(whole("1e99"), -7);
  EXPECT_EQ(whole("2.9"), 2);
  EXPECT_EQ(whole("12abc"), -7);
  EXPECT_EQ(whole("1.5.2"), -7);
  EXPECT_EQ(whole("1e"), -7);
  EXPECT_EQ(whole("1."), -7);
  EXPECT_EQ(whole(""), -7);
  const auto quoted = [](std::string_view raw) {
    return JsonToken{.raw = raw, .text = true}.integer(-7);
  };
  EXPECT_EQ(quoted("100a"), -7);
  EXPECT_EQ(quoted("a100"), -7);
  EXPECT_EQ(quoted(" 100 "), 100);
  EXPECT_EQ(quoted(R"(100\t)"), 100) << "as Ascend writes it";
  EXPECT_EQ(quoted("-100"), -100);
}

// Any number of ns with further digits, as a decimal fraction in µs.
TEST(JsonToken, TimesAreRoundedToTheNearestNanosecond) {
  std::mt19937_64 random(20261123);
  for (int i = 0; i < 20'000; ++i) {
    const auto ns = static_cast<int64_t>(random() >> (1 + random() % 63));
    const int digits = static_cast<int>(random() % 15);
    uint64_t scale = 1;
    for (int d = 0; d < digits; ++d) scale *= 10;
    const uint64_t rest = random() % scale;
    std::string text = std::to_string(ns / 1000) + "." + std::to_string(1000 + ns % 1000).substr(1);
    if (digits > 0) text += std::to_string(scale + rest).substr(1);
    int64_t got = 0;
    for (const bool negative : {false, true}) {
      const std::string signed_text = (negative ? "-" : "") + text;
      ASSERT_TRUE((JsonToken{.raw = signed_text}.nanoseconds(1000, got))) << signed_text;
      const int64_t nearest = ns + (2 * rest >= scale && digits > 0 ? 1 : 0);
      ASSERT_EQ(got, negative ? -nearest : nearest) << signed_text;
    }
  }
}

TEST(JsonToken, TextsAreUnescapedAsJsonSays) {
  std::string room;
  const std::string_view escaped = R"(a\"b\\c\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00 \ud800x)";
  const std::string expected =
      nlohmann::json::parse("\"" + std::string(escaped.substr(0, escaped.size() - 8)) + "\"")
          .get<std::string>();
  EXPECT_EQ(textOf({.raw = escaped, .escaped = true}, room), expected + " \xef\xbf\xbdx");
}

/// For every real trace: the same events in the same order as found by another parser.
TEST(JsonEvents, AreThoseThatAnotherParserFinds) {
  size_t compared = 0;
  for (const std::string& path : test::realChromeTraces()) {
    auto source = ByteSource::open(path);
    ASSERT_TRUE(source);
    std::string text;
    std::vector<uint8_t> piece(1 << 20);
    for (size_t n = 1; n > 0;) {
      n = (*source)->read(piece).value();
      text.append(reinterpret_cast<const char*>(piece.data()), n);
    }
    if (text.size() > 5'000'000) continue;  // the other parser is slow
    const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
    if (document.is_discarded()) continue;
    const nlohmann::json& events = document.is_array() ? document : document["traceEvents"];
    const Read got = read(text, 1 << 18);
    ASSERT_TRUE(got.status) << path;
    EXPECT_THAT(got.damage, IsEmpty()) << path << ": " << got.damage[0].reason;
    ASSERT_EQ(got.names.size(), events.size()) << path;
    std::string room;
    for (size_t i = 0; i < events.size(); ++i) {
      if (!events[i].contains("name") || !events[i]["name"].is_string()) continue;
      ASSERT_EQ(textOf({.raw = got.names[i], .escaped = true}, room), events[i]["name"]) << path;
    }
    ++compared;
  }
  std::printf("%zu real traces compared\n", compared);
  if (compared == 0) GTEST_SKIP() << "no real traces (TRACESMITH_TEST_DATA)";
}

}  // namespace
}  // namespace tracesmith::import
