// Every word of a ladder is explained, in one place.
#include "analysis/ladder_explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/status/status.h"
#include "analysis/ladder_evidence.h"
#include "analysis/ladder_input.h"
#include "analysis/model/ladder.h"
#include "analysis/model/ladder_factors.h"
#include "analysis/model/ladder_rungs.h"
#include "analysis/model/ladder_terms.h"

namespace gx::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void ExpectComplete(const LadderExplanation& one) {
  EXPECT_FALSE(one.meaning.empty()) << one.word;
  EXPECT_FALSE(one.formula.empty()) << one.word;
  EXPECT_FALSE(one.sources.empty()) << one.word;
  EXPECT_FALSE(one.here.empty()) << one.word;
}

TEST(LadderExplainTest, EveryTermHasAnEntryUnderItsName) {
  for (size_t i = 0; i < model::kTermCount; ++i) {
    const auto kind = static_cast<model::TermKind>(i);
    const LadderExplanation& one = ExplanationOf(kind);
    ExpectComplete(one);
    // The table's title of the step without a useful share is longer.
    EXPECT_THAT(std::string(model::TermName(kind)), ::testing::StartsWith(std::string(one.word)));
  }
}

TEST(LadderExplainTest, EveryRungHasAnEntryUnderItsName) {
  for (size_t i = 0; i < model::kRungCount; ++i) {
    const auto rung = static_cast<model::Rung>(i);
    ExpectComplete(ExplanationOf(rung));
    EXPECT_EQ(ExplanationOf(rung).word, model::RungName(rung));
  }
}

TEST(LadderExplainTest, EveryKindOfExcessHasAnEntryUnderItsNameAndACure) {
  for (size_t i = 0; i < model::kExcessFactorCount; ++i) {
    const auto factor = static_cast<model::ExcessFactor>(i);
    ExpectComplete(ExplanationOf(factor));
    EXPECT_EQ(ExplanationOf(factor).word, model::ExcessFactorName(factor));
    EXPECT_FALSE(ExplanationOf(factor).cure.empty());
  }
}

TEST(LadderExplainTest, KeysAreDistinctAndOneWordEach) {
  std::set<std::string> keys;
  for (const LadderExplanation* one : LadderExplanations()) {
    EXPECT_TRUE(keys.insert(std::string(one->key)).second) << one->key;
    EXPECT_THAT(std::string(one->key), Not(HasSubstr(" ")));
  }
  EXPECT_EQ(keys.size(), model::kTermCount + model::kRungCount + model::kExcessFactorCount);
}

TEST(LadderExplainTest, AWordIsFoundByKeyAndByName) {
  const auto by_key = ExplainLadderWord("LAUNCH");
  const auto by_name = ExplainLadderWord("launch and drain");
  ASSERT_TRUE(by_key.ok() && by_name.ok());
  EXPECT_EQ(*by_key, *by_name);
  EXPECT_THAT(*by_key, HasSubstr("machine file: empty kernels"));
  EXPECT_THAT(*by_key, HasSubstr("usual cure    Fewer and larger kernels"));
}

TEST(LadderExplainTest, AnUnknownWordIsRefusedWithAllThatAreKnown) {
  const auto unknown = ExplainLadderWord("magic\033");
  ASSERT_EQ(unknown.status().code(), absl::StatusCode::kNotFound);
  const std::string message(unknown.status().message());
  EXPECT_THAT(message, HasSubstr("useful"));
  EXPECT_THAT(message, HasSubstr("r5"));
  EXPECT_THAT(message, HasSubstr("write_back"));
  EXPECT_THAT(message, Not(HasSubstr("\033")));
}

TEST(LadderEvidenceTest, AMetricOfSeveralGroupsIsThatOfTheTermsOwn) {
  LadderFacts facts;
  facts.counters = {{.group = 1, .name = "sm__warps_active.sum", .group_name = "light+"},
                    {.group = 2, .name = "sm__warps_active.sum", .group_name = "st1"}};
  model::Ladder ladder;
  constexpr auto kLatency = static_cast<size_t>(model::TermKind::kLatency);
  ladder.terms[kLatency] = {10, model::TermClass::kModelled};
  const auto all = LadderTermEvidence(facts, ladder);
  for (const TermEvidence& evidence : all[kLatency]) {
    if (evidence.source != "sm__warps_active.sum") continue;
    EXPECT_EQ(evidence.group, "st1");
  }
  ASSERT_GT(all[kLatency].size(), 3);
  EXPECT_EQ(all[kLatency][3].source, "sm__warps_active.sum");
}

}  // namespace
}  // namespace gx::analysis
