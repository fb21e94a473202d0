// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/flight_recorder/pickle.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tracesmith/import/flight_recorder/pickle_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::PickleText;
using ::testing::HasSubstr;

constexpr size_t kMostJson = 1u << 20;

/// A pickle's value as JSON, and why reading it stopped.
std::string jsonOf(std::string_view bytes) {
  const Result<Pickle> pickle = Pickle::read(bytes);
  if (!pickle) return "error: " + pickle.error().message;
  std::string json;
  if (!pickle->appendJson(pickle->root(), kMostJson, json)) return "too large";
  return json + (pickle->problem().empty() ? "" : " " + pickle->problem());
}

/// The value below, as Python's `pickle.dumps(value, protocol)` writes it:
///   {"a": [1, -1, 255, 65535, 65536, -2**31, 2**40, -2**70, 1.5, True, False, None, ""],
///    "t": (1,), "u": (1, (2, 3)), "d": {"x": {}}, "é\n": "\\u"}
constexpr std::string_view kOfPython[] = {
    {"(dp0\012Va\012p1\012(lp2\012I1\012aI-1\012aI255\012aI65535\012aI65536\012aI-2147"
     "483648\012aL1099511627776L\012aL-1180591620717411303424L\012aF1.5\012aI01\012aI0"
     "0\012aNaV\012p3\012asVt\012p4\012(I1\012tp5\012sVu\012p6\012(I1\012(I2\012I3\012"
     "tp7\012tp8\012sVd\012p9\012(dp10\012Vx\012p11\012(dp12\012ssV\351\134u000a\012p1"
     "3\012V\134u005cu\012p14\012s.",
     226},
    {"}q\000(X\001\000\000\000aq\001]q\002(K\001J\377\377\377\377K\377M\377\377J\000"
     "\000\001\000J\000\000\000\200L1099511627776L\012L-1180591620717411303424L\012G"
     "\077\370\000\000\000\000\000\000I01\012I00\012NX\000\000\000\000q\003eX\001\000"
     "\000\000tq\004(K\001tq\005X\001\000\000\000uq\006(K\001(K\002K\003tq\007tq\010X"
     "\001\000\000\000dq\011}q\012X\001\000\000\000xq\013}q\014sX\003\000\000\000\303"
     "\251\012q\015X\002\000\000\000\134uq\016u.",
     186},
    {"\200\002}q\000(X\001\000\000\000aq\001]q\002(K\001J\377\377\377\377K\377M\377"
     "\377J\000\000\001\000J\000\000\000\200\212\006\000\000\000\000\000\001\212\011"
     "\000\000\000\000\000\000\000\000\300G\077\370\000\000\000\000\000\000\210\211NX"
     "\000\000\000\000q\003eX\001\000\000\000tq\004K\001\205q\005X\001\000\000\000uq"
     "\006K\001K\002K\003\206q\007\206q\010X\001\000\000\000dq\011}q\012X\001\000\000"
     "\000xq\013}q\014sX\003\000\000\000\303\251\012q\015X\002\000\000\000\134uq\016u.",
     156},
    {"\200\003}q\000(X\001\000\000\000aq\001]q\002(K\001J\377\377\377\377K\377M\377"
     "\377J\000\000\001\000J\000\000\000\200\212\006\000\000\000\000\000\001\212\011"
     "\000\000\000\000\000\000\000\000\300G\077\370\000\000\000\000\000\000\210\211NX"
     "\000\000\000\000q\003eX\001\000\000\000tq\004K\001\205q\005X\001\000\000\000uq"
     "\006K\001K\002K\003\206q\007\206q\010X\001\000\000\000dq\011}q\012X\001\000\000"
     "\000xq\013}q\014sX\003\000\000\000\303\251\012q\015X\002\000\000\000\134uq\016u.",
     156},
    {"\200\004\225s\000\000\000\000\000\000\000}\224(\214\001a\224]\224(K\001J\377\377"
     "\377\377K\377M\377\377J\000\000\001\000J\000\000\000\200\212\006\000\000\000\000"
     "\000\001\212\011\000\000\000\000\000\000\000\000\300G\077\370\000\000\000\000"
     "\000\000\210\211N\214\000\224e\214\001t\224K\001\205\224\214\001u\224K\001K\002K"
     "\003\206\224\206\224\214\001d\224}\224\214\001x\224}\224s\214\003\303\251\012"
     "\224\214\002\134u\224u.",
     126},
    {"\200\005\225s\000\000\000\000\000\000\000}\224(\214\001a\224]\224(K\001J\377\377"
     "\377\377K\377M\377\377J\000\000\001\000J\000\000\000\200\212\006\000\000\000\000"
     "\000\001\212\011\000\000\000\000\000\000\000\000\300G\077\370\000\000\000\000"
     "\000\000\210\211N\214\000\224e\214\001t\224K\001\205\224\214\001u\224K\001K\002K"
     "\003\206\224\206\224\214\001d\224}\224\214\001x\224}\224s\214\003\303\251\012"
     "\224\214\002\134u\224u.",
     126},
};
constexpr std::string_view kAsJson =
    R"({"a":[1,-1,255,65535,65536,-2147483648,1099511627776,-1180591620717411303424,1.5,true,false,)"
    R"(null,""],"t":[1],"u":[1,[2,3]],"d":{"x":{}},"é\u000a":"\\u"})";

TEST(Pickle, ReadsWhatPythonWritesInAllProtocols) {
  for (const std::string_view bytes : kOfPython) EXPECT_EQ(jsonOf(bytes), kAsJson);
}

TEST(Pickle, AValueInSeveralPlacesIsOne) {
  // x = [1]; pickle.dumps([x, x], 2)
  const Result<Pickle> pickle =
      Pickle::read({"\x80\x02]q\0(]q\x01K\x01"
                    "ah\x01"
                    "e.",
                    16});
  ASSERT_TRUE(pickle) << pickle.error().message;
  const PickleValue& list = pickle->at(pickle->root());
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[0], list.items[1]);
}

TEST(Pickle, OtherFormsOfPlainData) {
  EXPECT_EQ(jsonOf("S'a\\n\\x41\\'\\q'\n."), R"("a\u000aA'\\q")");  // of Python 2
  EXPECT_EQ(jsonOf("V\\U0001f600\n."), "\"\xf0\x9f\x98\x80\"");
  EXPECT_EQ(jsonOf({"\x80\x03"
                    "C\x02\x00\xff.",
                    7}),
            R"({"blob":"00ff"})");
  EXPECT_EQ(jsonOf("\x80\x04\x8f(K\x01K\x02\x90."), "[1,2]");  // a set
  EXPECT_EQ(jsonOf("\x80\x04(K\x01K\x02\x91."), "[1,2]");      // a frozenset
  EXPECT_EQ(jsonOf("}(K\x01K\x02(K\x03tNu."), R"({"1":2,"[3]":null})");
  EXPECT_EQ(jsonOf("Fnan\n."), "null");
  EXPECT_EQ(jsonOf("(K\x01K\x02"
                   "1K\x03."),
            "3");  // POP_MARK
  EXPECT_EQ(jsonOf("K\x01K\x02"
                   "0."),
            "1");  // POP
  EXPECT_EQ(jsonOf("]K\x01"
                   "2\x86"
                   "a."),
            "[[1,1]]");  // DUP
}

TEST(Pickle, ObjectsAreRefused) {
  const std::pair<std::string_view, std::string_view> refused[] = {
      {"cos\nsystem\n(S'id'\ntR.", "opcode GLOBAL at byte 0"},
      {"(ios\nsystem\n.", "opcode INST at byte 1"},
      {"(S'x'\no.", "opcode OBJ at byte 6"},
      {"\x80\x04\x8c\x02os\x8c\x06system\x93.", "opcode STACK_GLOBAL at byte 14"},
      {"]]R.", "opcode REDUCE at byte 2"},
      {"]]b.", "opcode BUILD at byte 2"},
      {"Pid\n.", "opcode PERSID at byte 0"},
      {"NQ.", "opcode BINPERSID at byte 1"},
      {"N)\x81.", "opcode NEWOBJ at byte 2"},
      {"N)}\x92.", "opcode NEWOBJ_EX at byte 3"},
      {"\x82\x01.", "opcode EXT1 at byte 0"},
      {"\x83\x01\x01.", "opcode EXT2 at byte 0"},
      {"\x84\x01\x01\x01\x01.", "opcode EXT4 at byte 0"},
      {"\x80\x05\x97.", "opcode NEXT_BUFFER at byte 2"},
      {"N\x98.", "opcode READONLY_BUFFER at byte 1"},
  };
  for (const auto& [bytes, message] : refused) {
    const Result<Pickle> pickle = Pickle::read(bytes);
    ASSERT_FALSE(pickle) << message;
    EXPECT_EQ(pickle.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(pickle.error().message, HasSubstr(std::string(message)));
    EXPECT_THAT(pickle.error().message, HasSubstr("can run code"));
  }
}

TEST(Pickle, WhatAPickleClaimsTakesNoMemory) {
  EXPECT_THAT(jsonOf("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"), HasSubstr("within a text"));
  EXPECT_THAT(jsonOf("]X\xff\xff\xff\xff"
                     "abc"),
              "[] the pickle ends within a text");
  EXPECT_THAT(jsonOf("]\x8b\xff\xff\xff\x7f"), HasSubstr("within an integer"));
  EXPECT_EQ(jsonOf("]r\xff\xff\xff\xffj\xff\xff\xff\xff"
                   "0."),
            "[]");  // a high register
  EXPECT_EQ(jsonOf("]p18446744073709551615\n."), "[]");
}

/// Each list holds the one before twice, so that 2^40 elements take 200 bytes.
std::string bomb() {
  std::string bytes =
      "](K\x01"
      "e";
  for (int i = 0; i < 40; ++i) bytes += "2\x86";
  return bytes + ".";
}

TEST(Pickle, BombsAreNotUnfolded) {
  EXPECT_EQ(jsonOf(bomb()), "too large");
  EXPECT_EQ(jsonOf("]q\1h\1a."), "too large");  // a list within itself
  const std::string deep(100'000, '(');
  EXPECT_EQ(jsonOf("N" + deep + std::string(100'000, 't') + "."), "too large");
  const std::string empty_lists(5u << 20, ']');
  const Result<Pickle> many = Pickle::read(empty_lists);
  ASSERT_TRUE(many);
  EXPECT_THAT(many->problem(), HasSubstr("holds more than"));
}

TEST(Pickle, ACutPickleHasWhatWasBefore) {
  const std::string whole =
      PickleText::dict({{"version", "2.10"},
                        {"entries", PickleText::list({PickleText::dict({{"a", 1}}),
                                                      PickleText::dict({{"b", 2}, {"c", 3}})})}})
          .file();
  for (size_t cut = 3; cut < whole.size(); ++cut) {
    const Result<Pickle> pickle = Pickle::read(std::string_view(whole).substr(0, cut));
    ASSERT_TRUE(pickle) << cut;
    EXPECT_FALSE(pickle->problem().empty());
    EXPECT_LE(pickle->usedBytes(), cut);
    const PickleValue& root = pickle->at(pickle->root());
    EXPECT_EQ(root.kind, PickleKind::kDict);
    EXPECT_EQ(root.is_cut, cut < whole.size() - 1) << cut;
    const PickleValue* const entries = pickle->find(root, "entries");
    if (entries == nullptr || entries->items.size() < 2) continue;
    EXPECT_FALSE(pickle->at(entries->items[0]).is_cut);
    // The second one is whole as soon as its SETITEMS was read.
    EXPECT_EQ(pickle->at(entries->items[1]).is_cut, cut < whole.size() - 3) << cut;
  }
  EXPECT_FALSE(Pickle::read("\x80\x02"));
  EXPECT_FALSE(Pickle::read(""));
}

TEST(Pickle, CutsOfEveryProtocolAreNoCrash) {
  for (const std::string_view bytes : kOfPython) {
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      const Result<Pickle> pickle = Pickle::read(bytes.substr(0, cut));
      if (pickle) EXPECT_FALSE(pickle->problem().empty()) << cut;
    }
  }
}

TEST(Pickle, FlippedBitsAreNoCrash) {
  std::mt19937 random(7);
  for (const std::string_view bytes : kOfPython) {
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged(bytes);
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        const std::string json = jsonOf(damaged);
        EXPECT_FALSE(json.empty());
      }
    }
  }
}

TEST(Pickle, NonsenseIsSaid) {
  const std::pair<std::string_view, std::string_view> wrong[] = {
      {"]K\x01K\x02s.", "not a dict"},
      {"K\x01K\x02"
       "a.",
       "not a list"},
      {"]e.", "without its start"},
      {"](K\x01u.", "no value"},
      {"}(K\x01u.", "no value"},
      {"]h\5.", "not stored"},
      {"]\xfe.", "0xfe is no opcode"},
      {"]Iabc\n.", "not an integer"},
      {"](.", "without a value"},
      {"\x80\x09].", "without a value: protocol 9"},
      {"]V\\u12\n.", "broken escape"},
      {"]Sabc\n.", "without quotes"},
      {"]\x8a\x41"
       "a",
       "within an integer"},
  };
  for (const auto& [bytes, message] : wrong) {
    EXPECT_THAT(jsonOf(bytes), HasSubstr(std::string(message)));
  }
}

}  // namespace
}  // namespace tracesmith::import
