#include "analysis/manifest/model_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "analysis/manifest/model_report.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::ContainsRegex;
using testing::FromText;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string TextOf(const v1::Manifest& manifest, const v1::Observation* observation = nullptr, bool colour = false) {
  return ModelReportText(manifest, BuildModelReport(manifest, {.observation = observation}), colour);
}

TEST(ModelText, WhatDoesNotFitComesFirst) {
  const v1::Manifest manifest = FromText<v1::Manifest>(
      "case_id: 'a' label: CLAIM_LABEL_ANALYTICAL warp_request { name: 'w' } expected { waves { slot_count: 3 } }");
  EXPECT_THAT(TextOf(manifest), StartsWith("MISMATCHES AND REFUSALS\n"
                                           "  mismatch expected.waves.slot_count: expected 3, derived absent\n"
                                           "  refused warp_request[0] 'w': "));
  EXPECT_THAT(TextOf(manifest), HasSubstr("\n  1 of 1 expected value differs\n"));
}

TEST(ModelText, NoObservationIsNoSectionAndAnEmptyOneIsAbsent) {
  const v1::Manifest manifest = FromText<v1::Manifest>("case_id: 'a' label: CLAIM_LABEL_ANALYTICAL");
  EXPECT_THAT(TextOf(manifest), Not(HasSubstr("PREDICTED AND OBSERVED")));
  const v1::Observation observation = FromText<v1::Observation>("label: CLAIM_LABEL_UNMEASURED");
  const std::string text = TextOf(manifest, &observation);
  EXPECT_THAT(text, HasSubstr("status            unmeasured\n"));
  EXPECT_THAT(text, HasSubstr("observed median   absent\n"));
  EXPECT_THAT(text, HasSubstr("residual          absent\n"));
}

TEST(ModelText, RefusalsOfAnObservationAreOneLineEach) {
  const v1::Manifest manifest = FromText<v1::Manifest>("case_id: 'a' label: CLAIM_LABEL_ANALYTICAL");
  const v1::Observation observation = FromText<v1::Observation>("label: CLAIM_LABEL_LOCALLY_MEASURED case_id: 'a'");
  const std::string text = TextOf(manifest, &observation);
  EXPECT_THAT(text, HasSubstr("\n  observation refused timing: got 0 raw samples, expected 20 or more\n"));
  EXPECT_THAT(text, HasSubstr("\n  observation refused profiler: no counters\n"));
  EXPECT_THAT(text, HasSubstr("status            observation refused\n"));
}

TEST(ModelText, NamesOfAFileCannotCommandATerminalNorWidenATable) {
  v1::Manifest manifest = FromText<v1::Manifest>("label: CLAIM_LABEL_ANALYTICAL");
  const std::string evil = "\x1b[2J\r\n\u202e" + std::string(5000, 'x');
  manifest.set_case_id(evil);
  manifest.set_description(evil);
  manifest.mutable_operation()->set_semantic_equation(evil);
  manifest.mutable_machine()->set_gpu_model(evil);
  v1::WarpRequest* request = manifest.add_warp_request();
  request->set_name(evil);
  request->set_element_bytes(4);
  manifest.add_bank_case()->set_name(evil);
  manifest.set_lower_bound_case(evil);
  const std::string text = TextOf(manifest);
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7F)) << static_cast<int>(c);
  EXPECT_LT(text.size(), 8000u);
}

TEST(ModelText, ColoursChangeNothingElse) {
  const v1::Manifest manifest =
      FromText<v1::Manifest>("case_id: 'a' label: CLAIM_LABEL_ANALYTICAL warp_request { name: 'w' }");
  const std::string coloured = TextOf(manifest, nullptr, true);
  EXPECT_NE(coloured, TextOf(manifest));
  EXPECT_EQ(absl::StrReplaceAll(coloured, {{"\x1b[1m", ""}, {"\x1b[31m", ""}, {"\x1b[2m", ""}, {"\x1b[0m", ""}}),
            TextOf(manifest));
}

TEST(ModelText, APercentageOfCountsIsRoundedOnce) {
  // 14 of 25 slots: 100 x 0.56 is 56.00000000000001.
  const std::string text = TextOf(FromText<v1::Manifest>(
      "case_id: 'a' label: CLAIM_LABEL_ANALYTICAL machine { sm_count: 25 max_resident_warps: 25 max_resident_blocks: 1 "
      "register_count: 65536 shared_memory_bytes: 1 } "
      "schedule { grid { x: 14 } block { x: 448 } registers_per_thread: 1 }"));
  EXPECT_THAT(text, ContainsRegex("\noccupancy +56 %\n|  occupancy +56 %\n"));
  EXPECT_THAT(text, ContainsRegex("fill of the last wave +56 %\n"));
  EXPECT_THAT(text, ContainsRegex("mean fill of the waves +56 %\n"));
}

TEST(ModelText, OnlyATheoreticalRoofIsALimit) {
  const auto text_of = [](const std::string& kind) {
    return TextOf(FromText<v1::Manifest>(
        "case_id: 'a' label: CLAIM_LABEL_ANALYTICAL machine { memory_roof { level: 'dram' bytes_per_second: 4 " + kind +
        " } } fusion { name: 'f' shape: [2] element_bytes: 2 level: 'dram' }"));
  };
  EXPECT_THAT(text_of("kind: ROOF_KIND_THEORETICAL"), HasSubstr("moving them takes at least 2 s (2.00 s); no"));
  EXPECT_THAT(text_of("kind: ROOF_KIND_EMPIRICAL"),
              HasSubstr("moving them takes 2 s (2.00 s) at the empirical rate; no"));
  EXPECT_THAT(text_of(""), HasSubstr("moving them takes 2 s (2.00 s) at the stated rate; no"));
}

TEST(ModelText, OneIsSingularAndBelowANanosecondAreNoWords) {
  const std::string text = TextOf(FromText<v1::Manifest>(
      "case_id: 'a' label: CLAIM_LABEL_ANALYTICAL schedule { grid { x: 1 } } "
      "machine { memory_roof { level: 'l1' bytes_per_second: 8e12 kind: ROOF_KIND_THEORETICAL } } "
      "fusion { name: 'f' shape: [2] element_bytes: 2 level: 'l1' }"));
  EXPECT_THAT(text, ContainsRegex("grid +1 block\n"));
  EXPECT_THAT(text, HasSubstr("takes at least 1e-12 s; no"));
}

TEST(ModelText, ALargerCarveOutStandsInPlaceOfLessSharedMemory) {
  // 20 % of 228 KiB holds one block of 40,000 B and not two.
  const std::string text = TextOf(FromText<v1::Manifest>(
      "case_id: 'a' label: CLAIM_LABEL_ANALYTICAL machine { compute_capability: '9.0' sm_count: 132 } "
      "schedule { grid { x: 1 } block { x: 256 } registers_per_thread: 16 shared_memory_per_block_bytes: 40000 "
      "carveout_percent: 20 }"));
  EXPECT_THAT(text, HasSubstr("shared memory a block <= 31,744 B or a carve-out of 102,400 B\n"));
}

}  // namespace
}  // namespace gx::analysis
