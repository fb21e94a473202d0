// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/sql_completion.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

namespace tracesmith::cli {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::array<std::string_view, 4> kCommands = {".help", ".mode", ".schema", ".tables"};
constexpr std::array<std::string_view, 2> kModes = {"csv", "json"};

class SqlCompletionTest : public ::testing::Test {
 protected:
  using Words = std::vector<std::string>;
  Completion complete(std::string_view before, std::string_view after = "") const {
    return completion_.complete(before, after);
  }
  Words words(std::string_view before, std::string_view after = "") const {
    return complete(before, after).words;
  }

  Trace trace_;
  Result<QueryEngine> engine_ = QueryEngine::open(trace_);
  SqlCompletion completion_{*engine_, kCommands, kModes};
};

TEST_F(SqlCompletionTest, TablesFollowFromAndJoin) {
  EXPECT_THAT(words("SELECT * FROM kern"), ElementsAre("kernel", "kernel_summary"));
  EXPECT_THAT(words("SELECT * FROM kernel JOIN stre"), Contains("stream"));
  EXPECT_THAT(words("SELECT * FROM kernel, dev"), Contains("device"));
  EXPECT_THAT(words("SELECT * FROM "), Not(Contains("duration_ns")));
  const Completion one = complete("SELECT * FROM flow_e");
  EXPECT_THAT(one.words, ElementsAre("flow_event"));
  EXPECT_EQ(one.typed_bytes, 6u);
  EXPECT_TRUE(one.ends_with_space);
}

TEST_F(SqlCompletionTest, ColumnsAreThoseOfTheNamedTables) {
  EXPECT_THAT(words("SELECT start FROM kernel WHERE dur"), ElementsAre("duration_ns"));
  EXPECT_THAT(words("SELECT inline_", " FROM symbol"), ElementsAre("inline_level"));
  EXPECT_THAT(words("SELECT inline_", " FROM kernel"), IsEmpty()) << "kernel has no such column";
  EXPECT_THAT(words("SELECT inline_"), ElementsAre("inline_level")) << "any table may follow";
  EXPECT_FALSE(complete("SELECT dur", " FROM kernel").ends_with_space);
}

TEST_F(SqlCompletionTest, AliasesStandForTheirTables) {
  EXPECT_THAT(words("SELECT k.glob", " FROM kernel k"), Each(StartsWith("glob")));
  EXPECT_THAT(words("SELECT k.global_", " FROM kernel AS k"),
              IsSupersetOf({"global_x", "global_y", "global_z"}));
  EXPECT_THAT(words("SELECT kernel.duration_"), ElementsAre("duration_ns"));
  EXPECT_THAT(words("SELECT nothing.dur", " FROM kernel k"), IsEmpty());
}

TEST_F(SqlCompletionTest, KeywordsAndFunctionsTakeTheCaseThatIsTyped) {
  EXPECT_THAT(words("SEL"), Contains("SELECT"));
  EXPECT_THAT(words("sel"), Contains("select"));
  EXPECT_THAT(words("SELECT coun"), Contains("count("));
}

TEST_F(SqlCompletionTest, NothingIsCompletedInTextsAndComments) {
  for (const char* text : {"SELECT 'kern", "SELECT \"kern", "SELECT 1 -- kern", "SELECT /* kern"}) {
    EXPECT_THAT(words(text), IsEmpty()) << text;
  }
  EXPECT_THAT(words("SELECT 'it''s' FROM kern"), Contains("kernel"));
  EXPECT_THAT(words("SELECT 1 -- note\nFROM kern"), Contains("kernel"));
}

TEST_F(SqlCompletionTest, AnEarlierStatementDoesNotCount) {
  EXPECT_THAT(words("SELECT 1 FROM symbol; SELECT inline_", " FROM kernel"), IsEmpty());
}

TEST_F(SqlCompletionTest, CommandsAndTheirArguments) {
  EXPECT_THAT(words(".m"), ElementsAre(".mode"));
  EXPECT_THAT(words("."), ElementsAre(".help", ".mode", ".schema", ".tables"));
  EXPECT_THAT(words(".mode "), ElementsAre("csv", "json"));
  EXPECT_THAT(words(".schema kern"), Contains("kernel"));
  EXPECT_THAT(words(".tables kern"), IsEmpty());
}

TEST_F(SqlCompletionTest, WordsAreSortedOnceEachAndContinueWhatIsTyped) {
  for (const char* text :
       {"", "SELECT ", "SELECT s", "SELECT * FROM ", "SELECT * FROM kernel WHERE "}) {
    const Completion found = complete(text);
    EXPECT_TRUE(std::is_sorted(found.words.begin(), found.words.end())) << text;
    EXPECT_EQ(std::adjacent_find(found.words.begin(), found.words.end()), found.words.end())
        << text;
    for (const std::string& word : found.words) EXPECT_GE(word.size(), found.typed_bytes);
  }
}

TEST_F(SqlCompletionTest, AnyBytesAreHarmless) {
  for (const std::string& text :
       {std::string("\xff\xfe"), std::string(3, '\0'), std::string("(((("),
        std::string("FROM ,,, ."), std::string(". . ."), std::string("''''")}) {
    (void)complete(text, text);
  }
}

}  // namespace
}  // namespace tracesmith::cli
