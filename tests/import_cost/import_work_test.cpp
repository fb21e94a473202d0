// SPDX-License-Identifier: Apache-2.0
// A bound on the work of every reader: so many steps for each byte of its source, whatever is in
// there. A step is a basic block of the room "import" (the compiler calls a function in each), or
// 16 bytes that the C library moves or compares for it. That is the same number in every run, and
// time is not. Each source is read in two sizes: twice the bytes may cost little more than twice
// the steps, or a source of a hundred MiB would never end.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/import/common/importer_test_util.hpp"
#include "tracesmith/import/common/proto_message_test_util.hpp"
#include "tracesmith/import/sqlite/sqlite_test_util.hpp"
#include "tracesmith/import/xray/xray_test_util.hpp"

namespace {

std::atomic<uint64_t> g_steps{0};

void count(uint64_t steps) { g_steps.fetch_add(steps, std::memory_order_relaxed); }

}  // namespace

extern "C" {
void __sanitizer_cov_trace_pc() { count(1); }

void* __real_memmove(void* to, const void* from, size_t bytes);
void* __real_memcpy(void* to, const void* from, size_t bytes);
int __real_memcmp(const void* a, const void* b, size_t bytes);
void* __real_memchr(const void* in, int byte, size_t bytes);
void* __wrap_memmove(void* to, const void* from, size_t bytes) {
  count(bytes / 16);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  count(bytes / 16);
  return __real_memcpy(to, from, bytes);
}
int __wrap_memcmp(const void* a, const void* b, size_t bytes) {
  count(bytes / 16);
  return __real_memcmp(a, b, bytes);
}
void* __wrap_memchr(const void* in, int byte, size_t bytes) {
  void* const found = __real_memchr(in, byte, bytes);
  const auto looked_at =
      found == nullptr
          ? bytes
          : static_cast<size_t>(static_cast<char*>(found) - static_cast<const char*>(in));
  count(looked_at / 16);
  return found;
}
}

namespace tracesmith::import {
namespace {

using test::Message;

/// A source of about so many bytes.
using Make = std::function<std::string(size_t bytes)>;

/// Of one thing without an end: larger than the buffers that grow for it.
constexpr size_t kBeyondBuffers = 4u << 20;

struct Case {
  std::string title;
  Make make;
  size_t bytes = 1u << 20;  ///< of the smaller one
};

/// `head`, `part` again and again, `tail`.
Make repeated(std::string head, std::string part, std::string tail) {
  return [=](size_t bytes) {
    std::string text = head;
    while (text.size() < bytes) text += part;
    return text + tail;
  };
}

/// The same with parts of their own.
Make numbered(std::string head, std::function<std::string(size_t)> part, std::string tail) {
  return [=](size_t bytes) {
    std::string text = head;
    for (size_t i = 0; text.size() < bytes; ++i) text += part(i);
    return text + tail;
  };
}

struct Work {
  uint64_t steps = 0;
  uint64_t bytes = 0;  // that were read
  bool recognised = false;
};

Work workOf(const std::string& source, size_t unpacked) {
  g_steps = 0;
  const test::ImportedText got = test::importText(source);
  return {g_steps, unpacked, got.ok || got.error.find("known format") == std::string::npos};
}

/// Of any reader; what is usual is 10 to 50. A message of one byte can be a node of a trace.
constexpr uint64_t kMostStepsPerByte = 600;
/// Tables grow and caches fill; twice the square of it would be 4.
constexpr double kMostGrowth = 2.6;
/// Tables that grow at other places than their sources.
constexpr uint64_t kUneven = 500'000;

void expectLinear(const Case& c) {
  SCOPED_TRACE(c.title);
  const std::string once = c.make(c.bytes);
  const std::string twice = c.make(2 * c.bytes);
  // What a reader does once, whatever it reads.
  const std::string least = c.make(1);
  const uint64_t always = workOf(least, least.size()).steps;
  const Work a = workOf(once, once.size());
  const Work b = workOf(twice, twice.size());
  EXPECT_TRUE(a.recognised && b.recognised) << "no importer has taken it";
  ASSERT_GE(a.steps, always);
  EXPECT_LE(b.steps, kMostStepsPerByte * b.bytes + always);
  EXPECT_LE(static_cast<double>(b.steps - always),
            kMostGrowth * static_cast<double>(a.steps - always) + kUneven)
      << a.steps << " steps for " << a.bytes << " bytes, " << b.steps << " for " << b.bytes << ", "
      << always << " for " << least.size();
  if (::getenv("TRACESMITH_SHOW_WORK") != nullptr) {
    std::printf("%6.1f steps a byte, %5.2f times for twice the bytes: %s\n",
                static_cast<double>(b.steps) / static_cast<double>(b.bytes),
                static_cast<double>(b.steps) / static_cast<double>(a.steps), c.title.c_str());
  }
}

void expectAllLinear(const std::vector<Case>& cases) {
  for (const Case& c : cases) expectLinear(c);
}

const std::string kEvent = R"({"ph":"X","name":"e","pid":1,"tid":1,"ts":1,"dur":1})";
const std::string kEvents = R"({"traceEvents":[)" + kEvent;

std::string event(char phase, const std::string& name, size_t time) {
  return std::string(R"({"ph":")") + phase + R"(","pid":1,"tid":1,"name":")" + name + R"(","ts":)" +
         std::to_string(time) + "},";
}

TEST(ImportWork, ChromeEventsOfAnyKind) {
  expectAllLinear({
      {"plain events", repeated("[", kEvent + ",", kEvent + "]")},
      {"each with a key of its own", numbered(
                                         "[",
                                         [](size_t i) {
                                           return R"({"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"k)" +
                                                  std::to_string(i) + R"(":1},)";
                                         },
                                         kEvent + "]")},
      {"each with a key of its own between others",
       numbered(
           "[",
           [](size_t i) {
             return R"({"k)" + std::to_string(i % 997) + R"(":1,"j)" + std::to_string(i % 991) +
                    R"(":"a","ph":"i","ts":1},)";
           },
           kEvent + "]")},
      {"each on a thread and a stream of its own",
       numbered(
           "[",
           [](size_t i) {
             const std::string n = std::to_string(i);
             return R"({"ph":"X","cat":"kernel","name":"k","pid":)" + n + R"(,"tid":)" + n +
                    R"(,"ts":1,"dur":1,"args":{"device":)" + n + R"(,"stream":)" + n + "}},";
           },
           kEvent + "]")},
      {"counters with tracks of their own",
       numbered(
           "[",
           [](size_t i) {
             return R"({"ph":"C","name":"c","pid":1,"ts":1,"args":{"v)" + std::to_string(i) +
                    R"(":1}},)";
           },
           kEvent + "]")},
      {"slices that never end",
       numbered(
           "[", [](size_t i) { return event('B', "b" + std::to_string(i), i); }, kEvent + "]")},
      {"ends that match none of many open slices",
       [](size_t bytes) {
         std::string text = "[";
         for (size_t i = 0; text.size() < bytes; ++i) {
           text +=
               event(text.size() < bytes / 2 ? 'B' : 'E', text.size() < bytes / 2 ? "b" : "e", i);
         }
         return text + kEvent + "]";
       }},
      {"slices that cross", numbered(
                                "[",
                                [](size_t i) {
                                  return event(i % 4 < 3 ? 'B' : 'E',
                                               i % 4 == 3 ? "s1" : "s" + std::to_string(i % 4), i);
                                },
                                kEvent + "]")},
      {"outer slices that end while a thousand inner ones are open",
       numbered(
           "[",
           [](size_t i) {
             return event(i % 1000 < 900 ? 'B' : 'E', "s" + std::to_string(i % 1000 % 900),
                          i / 1000);
           },
           kEvent + "]")},
      {"numbers of many digits",
       repeated("[",
                R"({"ph":"i","ts":)" + std::string(200, '7') + "." + std::string(200, '7') + "},",
                kEvent + "]")},
      {"one number",
       [](size_t bytes) {
         return R"([{"ph":"i","ts":)" + std::string(bytes, '7') + "}," + kEvent + "]";
       },
       kBeyondBuffers},
      {"control characters in texts",
       repeated("[", "{\"ph\":\"i\",\"ts\":1,\"name\":\"" + std::string(40, '\1') + "\"},",
                kEvent + "]")},
      {"bytes that are no UTF-8",
       repeated("[", "{\"ph\":\"i\",\"ts\":1,\"name\":\"" + std::string(40, '\xff') + "\"},",
                kEvent + "]")},
      {"invalid numbers",
       repeated("[", R"({"ph":"i","ts":1,"args":{"a":[NaN,NaN,NaN,NaN,NaN,NaN]}},)", kEvent + "]")},
  });
}

TEST(ImportWork, DamagedChromeDocuments) {
  const std::string members = kEvents + "],";
  expectAllLinear({
      {"cut within a member behind the events", repeated(members + R"("m":")", "x", ""), 9u << 20},
      {"cut within a list behind the events", repeated(members + R"("m":[)", "[1,", "")},
      {"a large member", repeated(members + R"("m":")", "\\n", "\"}")},
      {"many members",
       numbered(
           members, [](size_t i) { return "\"m" + std::to_string(i) + "\":1,"; }, "\"z\":1}")},
      {"a text that never ends", repeated("[" + kEvent + R"(,{"ph":"X","name":")", "x", ""),
       2u << 20},
      {"a text that never ends, with events in it",
       repeated("[" + kEvent + R"(,{"ph":"X","name":")", kEvent + ",", "")},
      {"every text lacks its end", repeated("[" + kEvent, R"(,{"ph":"X","name":"e,"ts":1})", "]")},
      {"events without an end", repeated("[" + kEvent, R"(,{"ph":"X","args":{)", "")},
      {"brackets that do not match", repeated("[" + kEvent, R"(,{"ph":"X","args":{"a":]})", "]")},
      {"brackets alone", repeated("[" + kEvent + ",", "[", "")},
      {"braces alone", repeated("[" + kEvent + ",", "{", "")},
      {"closing brackets alone", repeated("[" + kEvent + ",", "]", "")},
      {"quotes alone", repeated("[" + kEvent + ",", "\"", "")},
      {"commas alone", repeated("[" + kEvent, ",", "]")},
      {"spaces alone", repeated("[" + kEvent, " ", "]")},
      {"backslashes alone", repeated("[" + kEvent + ",\"", "\\", "")},
      {"events in lists of an argument",
       repeated("[" + kEvent + R"(,{"ph":"X","args":{"a":[)", kEvent + ",", "")},
      {"broken events, each with a list of events in it",
       repeated("[" + kEvent, R"(,{"ph":"X","a":oops,"l":[)" + kEvent + "," + kEvent + "]}", "]")},
      {"nested lists, each with an event", repeated("[" + kEvent, R"(,[{"ph":"X","a":oops})", "")},
      {"something behind the end", repeated("[" + kEvent + "]", "x{\"ph\":", "")},
  });
}

TEST(ImportWork, OtherJson) {
  const std::string nodes = R"({"schema":"1.1.1-chakra","pid":1,"nodes":[)";
  const std::string node = R"({"id":1,"name":"n","ctrl_deps":0,"inputs":{"values":[]},"attrs":[]})";
  const std::string run = R"({"rocprofiler-sdk-tool":[{"buffer_records":{"kernel_dispatch":[)";
  const std::string record = R"({"start_timestamp":1,"end_timestamp":2,"kind":1})";
  expectAllLinear({
      {"nodes", repeated(nodes, node + ",", node + "]}")},
      {"a node that does not end", repeated(nodes + node + R"(,{"id":2,"name":")", "x", "")},
      {"nested nodes", repeated(nodes + node + ",", R"({"a":)", "")},
      {"dependencies", repeated(nodes + R"({"id":1,"name":"n","data_deps":[)", "1,", "1]}]}")},
      {"records", repeated(run, record + ",", record + "]}}]}")},
      {"records of their own make", numbered(
                                        run,
                                        [](size_t i) {
                                          return R"({"start_timestamp":1,"end_timestamp":2,"k)" +
                                                 std::to_string(i) + R"(":1},)";
                                        },
                                        record + "]}}]}")},
      {"a record that does not end", repeated(run + R"({"a":")", "x", "")},
      {"lists of records", repeated(run, R"(],"x":[)", record + "]}}]}")},
      {"processes", repeated(run + "]}}", R"(,{"buffer_records":{"hip_api":[]}})", "]}")},
      {"strings",
       numbered(R"({"rocprofiler-sdk-tool":[{"strings":{"marker_api":[)",
                [](size_t i) { return R"({"key":)" + std::to_string(i) + R"(,"value":"m"},)"; },
                R"({"key":1}]}}]})")},
  });
}

TEST(ImportWork, Tables) {
  const std::string header =
      "\"Kind\",\"Domain\",\"Function\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\","
      "\"End_Timestamp\"\n";
  expectAllLinear({
      {"records", repeated(header, "\"a\",\"HIP\",\"hipMalloc\",1,2,3,4\n", "")},
      {"empty lines", repeated(header, "\n", "")},
      {"empty fields", repeated(header, ",", "\n")},
      {"a field that does not end", repeated(header + "\"", "x", "")},
      {"doubled quotes", repeated(header + "\"", "\"\"", "")},
      {"other fields in each",
       numbered(
           header, [](size_t i) { return std::string(i % 4000, ',') + "1\n"; }, "")},
      {"records of one field in a table of 4,000",
       repeated("\"Kind\",\"Operation\",\"Start_Timestamp\",\"End_Timestamp\"" +
                    std::string(4000, ',') + "\n",
                "1\n", "")},
  });
}

std::string packet(const Message& message) { return Message().of(1, message).bytes(); }

std::string slice(uint64_t type, uint64_t time, std::string_view name, uint64_t track = 5) {
  Message e;
  e.number(9, type).number(11, track);
  if (!name.empty()) e.text(23, name);
  return packet(Message().number(8, time).number(10, 1).of(11, e));
}

TEST(ImportWork, Perfetto) {
  const std::string first = slice(1, 1, "a") + slice(2, 2, "a");
  expectAllLinear({
      {"slices", repeated(first, first, "")},
      {"empty packets", repeated(first, std::string("\x0a\x00", 2), "")},
      {"slices that never end", numbered(
                                    first, [](size_t i) { return slice(1, i, "b"); }, "")},
      {"ends that match none of many open slices",
       [](size_t bytes) {
         std::string all;
         for (size_t i = 0; all.size() < bytes; ++i) {
           const bool begin = all.size() < bytes / 2;
           all += slice(begin ? 1 : 2, i, begin ? "b" : "e");
         }
         return all;
       }},
      {"a track for each", numbered(
                               first, [](size_t i) { return slice(1, i, "b", 100 + i); }, "")},
      {"times that go back", numbered(
                                 first, [](size_t i) { return slice(3, 1'000'000 - i, "b"); }, "")},
      {"a packet that does not end",
       repeated(first + std::string("\x0a\xff\xff\xff\x7f", 5), "x", ""), kBeyondBuffers},
      {"descriptors that describe one another",
       numbered(
           first,
           [](size_t i) {
             return packet(Message().of(60, Message().number(1, i + 1).number(5, i)));
           },
           slice(1, 5, "leaf", 1))},
      {"clock snapshots", numbered(
                              first,
                              [](size_t i) {
                                return packet(Message().of(
                                    6, Message()
                                           .of(1, Message().number(1, 6).number(2, i))
                                           .of(1, Message().number(1, 3).number(2, i + 7))));
                              },
                              "")},
  });
}

TEST(ImportWork, Chakra) {
  const auto sized = [](const Message& m) {
    std::string out(1, static_cast<char>(m.bytes().size()));
    return out + m.bytes();
  };
  const std::string head =
      sized(Message().text(1, "0.0.4").of(2, Message().text(1, "schema").text(29, "x")));
  const std::string node = sized(Message().number(1, 1).text(2, "n").number(6, 5).number(7, 1));
  expectAllLinear({
      {"nodes", repeated(head + node, node, "")},
      {"empty messages", repeated(head + node, std::string(1, '\0'), "")},
      {"a message that does not end", repeated(head + node + "\xff\xff\xff\x0f", "x", ""),
       kBeyondBuffers},
  });
}

TEST(ImportWork, XRayLogs) {
  using Builder = test::XRayLogBuilder;
  const auto basic = [](const std::function<void(Builder&, size_t)>& add) -> Make {
    return [=](size_t bytes) {
      Builder log(3, XRayMode::kBasic);
      for (size_t i = 0; log.bytes.size() < bytes; ++i) add(log, i);
      return log.string();
    };
  };
  expectAllLinear({
      {"calls", basic([](Builder& log, size_t i) { log.basic(i % 2 == 0 ? 0 : 1, 5, i); })},
      {"entries without exits", basic([](Builder& log, size_t i) { log.basic(0, 5, i); })},
      {"exits that match none of many entries",
       [](size_t bytes) {
         Builder log(3, XRayMode::kBasic);
         for (size_t i = 0; log.bytes.size() < bytes; ++i) {
           const bool entry = log.bytes.size() < bytes / 2;
           log.basic(entry ? 0 : 1, entry ? static_cast<int32_t>(i % 7 + 1) : 99, i);
         }
         return log.string();
       }},
      {"a thread for each",
       basic([](Builder& log, size_t i) { log.basic(0, 5, i, static_cast<uint32_t>(i)); })},
      {"arguments alone", basic([](Builder& log, size_t i) {
         i == 0 ? log.basic(0, 5, 1) : log.basicArgument(5, i);
       })},
      {"no records",
       [](size_t bytes) {
         return Builder(3, XRayMode::kBasic).basic(0, 5, 1).string() + std::string(bytes, '\xee');
       }},
      {"empty buffers of the flight recorder",
       [](size_t bytes) {
         Builder log(5, XRayMode::kFdr, 1'000'000'000, 64);
         while (log.bytes.size() < bytes) log.metadata(7, uint64_t{16}).metadata(0, uint32_t{1});
         return log.string();
       }},
  });
}

TEST(ImportWork, Xctrace) {
  const std::string head =
      "<?xml version=\"1.0\"?><trace-query-result><node><schema name=\"metal-gpu-intervals\">"
      "<col><mnemonic>start</mnemonic></col><col><mnemonic>duration</mnemonic></col>"
      "<col><mnemonic>event-label</mnemonic></col></schema>";
  const std::string tail = "</node></trace-query-result>";
  expectAllLinear({
      {"rows", numbered(
                   head,
                   [](size_t i) {
                     const std::string n = std::to_string(3 * i + 1);
                     return "<row><start-time id=\"" + n + "\">5</start-time><duration id=\"" + n +
                            "9\">7</duration><string ref=\"1\"/></row>";
                   },
                   tail)},
      {"rows of nothing", repeated(head, "<row/>", tail)},
      {"one text", repeated(head + "<row><start-time>5</start-time><duration>1</duration><string>",
                            "x", "</string></row>" + tail)},
      {"nesting without end", repeated(head + "<row>", "<a>", "")},
      {"many schemas",
       numbered(
           head,
           [](size_t i) {
             return "</node><node><schema name=\"s" + std::to_string(i) +
                    "\"><col><mnemonic>start</mnemonic></col></schema><row><t>1</t></row>";
           },
           tail)},
      {"many columns", repeated(head.substr(0, head.find("</schema>")),
                                "<col><mnemonic>c</mnemonic></col>", "</schema><row/>" + tail)},
  });
}

/// A gzip member of stored blocks of `piece` bytes each; RFC 1951, 1952.
std::string gzipped(std::string_view text, size_t piece) {
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
  }
  crc = ~crc;
  const auto word = [&](uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i);
  };
  const auto size = static_cast<uint32_t>(text.size());
  do {
    const std::string_view block = text.substr(0, piece);
    text.remove_prefix(block.size());
    out += text.empty() ? '\1' : '\0';
    word(static_cast<uint32_t>(block.size()), 2);
    word(~static_cast<uint32_t>(block.size()), 2);
    out += block;
  } while (!text.empty());
  word(crc, 4);
  word(size, 4);
  return out;
}

TEST(ImportWork, PackedSources) {
  const std::string events = "[" + kEvent;
  expectAllLinear({
      {"one member",
       [&](size_t bytes) { return gzipped(repeated(events, "," + kEvent, "]")(bytes), 60'000); }},
      {"blocks of one byte",
       [&](size_t bytes) { return gzipped(repeated(events, "," + kEvent, "]")(bytes / 6), 1); }},
      {"members of one event", repeated(gzipped(events, 100), gzipped("," + kEvent, 100), "")},
      {"empty members", repeated(gzipped(events, 100), gzipped("", 1), "")},
      {"zeros behind the members", repeated(gzipped(events, 100), std::string(1, '\0'), "")},
      {"something else behind", repeated(gzipped(events, 100), "x", "")},
      {"cut within a block",
       [&](size_t bytes) {
         return gzipped(repeated(events, "," + kEvent, "]")(bytes + 100), 60'000).substr(0, bytes);
       }},
  });
}

/// A database of the tables that rocmProfileData has, and what `sql` adds to it.
std::string database(const std::vector<std::string>& sql) {
  const test::TempFile file;
  {
    test::Database made(file.path());
    made.run(
        "PRAGMA journal_mode = OFF; PRAGMA writable_schema = ON; BEGIN;"
        "CREATE TABLE rocpd_string (id integer PRIMARY KEY, string text);"
        "CREATE TABLE rocpd_api (id integer PRIMARY KEY, pid integer, tid integer,"
        " start integer, end integer, apiName_id integer, args_id integer);"
        "CREATE TABLE rocpd_op (id integer PRIMARY KEY, gpuId integer, queueId integer,"
        " start integer, end integer, description_id integer, opType_id integer);");
    for (const std::string& statement : sql) made.run(statement);
    made.run("COMMIT;");
  }
  return std::string(asText(file.bytes()));
}

TEST(ImportWork, Databases) {
  const auto filled = [](const std::string& statement, size_t row_bytes) -> Make {
    return [=](size_t bytes) {
      return database({"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                       std::to_string(bytes / row_bytes) + ") " + statement});
    };
  };
  expectAllLinear({
      {"operations", filled("INSERT INTO rocpd_op SELECT i, 0, 0, i, i + 1, 1, 1 FROM n;", 12)},
      {"texts of their own",
       filled("INSERT INTO rocpd_string SELECT i, 'kernel ' || i FROM n;", 16)},
      {"one text",
       [](size_t bytes) {
         return database({"INSERT INTO rocpd_string VALUES (1, hex(zeroblob(" +
                          std::to_string(bytes / 2) + ")));"});
       }},
      {"a stream for each",
       filled("INSERT INTO rocpd_op SELECT i, i, i, i, i + 1, 1, 1 FROM n;", 18)},
      {"a process for each",
       filled("INSERT INTO rocpd_api SELECT i, i, i, i, i + 1, 1, 1 FROM n;", 20)},
      {"many tables",
       [](size_t bytes) {
         std::vector<std::string> sql;
         for (size_t i = 0; i < bytes / 4096; ++i) {
           sql.push_back("CREATE TABLE t" + std::to_string(i) + " (a); INSERT INTO t" +
                         std::to_string(i) + " VALUES (1);");
         }
         return database(sql);
       }},
      {"pages of nothing",
       [](size_t bytes) {
         std::string made = database(
             {"INSERT INTO rocpd_string VALUES (1, zeroblob(" + std::to_string(bytes) + "));"});
         return made.replace(made.size() / 2, made.size() / 2, made.size() / 2, '\0');
       }},
      {"pages that go round in circles",
       [](size_t bytes) {
         std::string made = database(
             {"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
              std::to_string(bytes / 16) + ") INSERT INTO rocpd_string SELECT i, 'k' FROM n;"});
         // Every page of leaves becomes a copy of the page above them, which leads to them all.
         constexpr size_t kPage = 4096;
         std::string above;
         for (size_t at = kPage; at < made.size(); at += kPage) {
           if (made[at] == '\x05') above = made.substr(at, kPage);
         }
         for (size_t at = 3 * kPage, n = 0; !above.empty() && at + kPage <= made.size();
              at += kPage) {
           if (made[at] == '\x0d' && ++n % 3 == 0) made.replace(at, kPage, above);
         }
         return made;
       }},
  });
}

}  // namespace
}  // namespace tracesmith::import
