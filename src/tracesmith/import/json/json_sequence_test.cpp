// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/json/json_sequence.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tracesmith/import/common/import_test_util.hpp"

namespace tracesmith::import {
namespace {

using test::TextSource;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct ReadSequence {
  explicit ReadSequence(std::string_view text, size_t step = 8, size_t largest = 1u << 20) {
    TextSource source(text);
    JsonSequence sequence(source, damage, step, largest);
    for (std::string_view raw; sequence.next(raw);) {
      objects.emplace_back(raw);
      EXPECT_EQ(text.substr(sequence.offset(), raw.size()), raw);
    }
    bytes = sequence.bytes();
  }
  DamageLog damage;
  std::vector<std::string> objects;
  uint64_t bytes = 0;
};

TEST(JsonSequence, ObjectsAreOnLinesOrNot) {
  const ReadSequence got("\xef\xbb\xbf{\"a\":1}\n\n {\"b\":\n[2,\n3]}{}\n");
  EXPECT_THAT(got.objects, ElementsAre("{\"a\":1}", "{\"b\":\n[2,\n3]}", "{}"));
  EXPECT_THAT(got.damage.places(), IsEmpty());
}

TEST(JsonSequence, AnObjectMayLieAcrossStepsAnywhere) {
  const std::string object = R"({"name":"x","values":[1,2.5,null],"text":"a b"})";
  for (size_t before = 0; before < 40; ++before) {
    for (const size_t step : {1U, 7U, 16U, 64U}) {
      const ReadSequence got(std::string(before, ' ') + object + "\n" + object, step);
      ASSERT_THAT(got.objects, ElementsAre(object, object)) << before << ", " << step;
      ASSERT_THAT(got.damage.places(), IsEmpty());
    }
  }
}

TEST(JsonSequence, DamageCostsItsLine) {
  // A line that another process wrote into, one that is cut in a text, and one that is no object.
  const ReadSequence got("{\"a\":1}\n{\"b\":{\"c\n{\"d\":1}\n12\n{\"e\":[1,}\n{\"f\":1}\n{\"g\":");
  EXPECT_THAT(got.objects, ElementsAre("{\"a\":1}", "{\"d\":1}", "{\"f\":1}"));
  uint64_t lost = 0;
  for (const SourceDamage& d : got.damage.places()) lost += d.events.value_or(100);
  EXPECT_EQ(lost, 4U);
}

TEST(JsonSequence, ACutIsSaidWhereverItIs) {
  const std::string text = "{\"a\":1,\"b\":\"x\"}\n{\"c\":[1,2]}";
  for (size_t cut = 1; cut < text.size(); ++cut) {
    const ReadSequence got(std::string_view(text).substr(0, cut));
    EXPECT_EQ(got.objects.size(), cut >= 15 ? 1U : 0U) << cut;
    EXPECT_EQ(got.damage.empty(), cut == 15 || cut == 16) << cut;
    EXPECT_EQ(got.bytes, cut);
  }
}

TEST(JsonSequence, AnObjectThatIsTooLargeCostsItsLine) {
  const std::string large = "{\"a\":\"" + std::string(300, 'x') + "\"}";
  const ReadSequence got(large + "\n{\"b\":1}\n", 16, 100);
  EXPECT_THAT(got.objects, ElementsAre("{\"b\":1}"));
  ASSERT_EQ(got.damage.places().size(), 1U);
  EXPECT_EQ(got.damage.places()[0].bytes, large.size() + 1);
}

}  // namespace
}  // namespace tracesmith::import
