// The built gx-model, as a user runs it: what is printed where, and the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/util/json_util.h"
#include "gpuexec/v1/manifest.pb.h"
#include "gpuexec/v1/model_report.pb.h"
#include "tests/analysis/manifest/evidence_text.h"
#include "tests/support/proto_matchers.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/support/textproto.h"
#include "tests/support/trace_builder.h"

namespace gx::testing {
namespace {

using gpuexec::v1::Manifest;
using gpuexec::v1::ModelReport;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Example(const std::string& name) { return std::string(GX_SOURCE_DIR) + "/proto/examples/" + name; }

class GxModelTest : public ::testing::Test {
 protected:
  std::string Put(const std::string& name, const std::string& bytes) {
    const std::string path = dir_.File(name);
    EXPECT_TRUE(WriteFile(path, bytes));
    return path;
  }
  static CommandResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), GX_MODEL);
    return RunCommand(arguments);
  }
  // One line on stderr, nothing on stdout, exit code 2.
  static void ExpectRefused(const std::vector<std::string>& arguments, const std::string& what) {
    const CommandResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("gx-model: "));
    EXPECT_THAT(result.err, HasSubstr(what));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  std::string ManifestPath() { return Example("gemm_4096_bf16.textproto"); }
  // The example with one text in place of another.
  std::string Changed(const std::string& from, const std::string& to) {
    const std::string text = ReadFile(ManifestPath());
    EXPECT_THAT(text, HasSubstr(from));
    return Put("changed.textproto", absl::StrReplaceAll(text, {{from, to}}));
  }
  TempDir dir_;
};

TEST_F(GxModelTest, TheExampleAgreesWithItsExpectedBlock) {
  const CommandResult result =
      Run({"--observation", Example("observation_unmeasured.textproto"), "--fail-on-mismatch", ManifestPath()});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, StartsWith("MISMATCHES AND REFUSALS\n  none: "));
  for (const char* line :
       {"32 x 32 output tiles, 1,024 blocks\n", "resident blocks per SM                      3\n",
        "limited by                      shared_memory\n", "active warps per SM                        24\n",
        "occupancy                              37.5 %\n", "concurrent block slots                    324\n",
        "waves                                       4\n", "blocks in the last wave                    52\n",
        "fill of the last wave    16.049382716049383 %\n",
        "fp32, aligned             1    128 B        4        128 B       100 %\n",
        "128 x 128 x 32: 1,048,576 FLOP, 16,384 B, 64 FLOP/B\n", "activation of C: 67,108,864 B removed",
        "status            unmeasured\n", "observed median   absent\n", "predicted bound   0.002 s",
        "residual          absent\n"}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
}

TEST_F(GxModelTest, JsonAndBinaryManifestsGiveTheSameReport) {
  const Manifest manifest = FromText<Manifest>(ReadFile(ManifestPath()));
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(manifest, &json).ok());
  const std::string expected = Run({ManifestPath()}).out;
  EXPECT_EQ(Run({Put("a.json", json)}).out, expected);
  EXPECT_EQ(Run({Put("a.pb", manifest.SerializeAsString())}).out, expected);
  EXPECT_EQ(Run({Put("no_extension", json)}).out, expected);
}

TEST_F(GxModelTest, EveryFormatHoldsTheSameReport) {
  ModelReport binary;
  ASSERT_TRUE(binary.ParseFromString(Run({"--format", "pb", ManifestPath()}).out));
  EXPECT_EQ(binary.derived().waves().slot_count(), 324);
  EXPECT_THAT(FromText<ModelReport>(Run({"--format", "textproto", ManifestPath()}).out), EqualsProto(binary));
  ModelReport json;
  const CommandResult result = Run({"--format", "json", ManifestPath()});
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &json).ok());
  EXPECT_THAT(json, EqualsProto(binary));
  EXPECT_THAT(result.out, HasSubstr("\"lower_bound_seconds\": 0.002"));
}

TEST_F(GxModelTest, AMismatchFailsWhereItIsAskedFor) {
  const std::string path = Changed("slot_count: 324", "slot_count: 325");
  const CommandResult lenient = Run({path});
  EXPECT_EQ(lenient.exit_code, 0);
  EXPECT_THAT(lenient.out, HasSubstr("  mismatch expected.waves.slot_count: expected 325, derived 324\n"));
  const CommandResult strict = Run({"--fail-on-mismatch", path});
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_EQ(strict.out, lenient.out);
}

TEST_F(GxModelTest, APartThatTheModelRefusesGivesAReportAndOne) {
  const CommandResult result = Run({Changed("registers_per_thread: 64", "registers_per_thread: -64")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("  refused occupancy: registers_per_thread_count: got -64"));
  EXPECT_THAT(result.out, HasSubstr("67,108,864 B removed"));
}

TEST_F(GxModelTest, AMeasurementIsPutBesideTheBound) {
  const CommandResult result = Run(
      {"--observation", Put("o.textproto", MadeUpObservation(0.003, 0.0001)), "--fail-on-mismatch", ManifestPath()});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("status            locally_measured\n"));
  EXPECT_THAT(result.out, HasSubstr("observed median   0.004 s (4.00 ms)\n"));
  EXPECT_THAT(result.out, HasSubstr("residual          0.002 s (2.00 ms)\n"));
  EXPECT_THAT(result.out, HasSubstr("tail (p95)        0.0049 s (4.90 ms)\n"));
}

TEST_F(GxModelTest, ATimeBelowTheBoundIsAViolation) {
  const std::string observation = Put("o.textproto", MadeUpObservation(0.001, 0.00001));
  const CommandResult lenient = Run({"--observation", observation, ManifestPath()});
  EXPECT_EQ(lenient.exit_code, 0);
  EXPECT_THAT(lenient.out, StartsWith("MISMATCHES AND REFUSALS\n  model violation "));
  EXPECT_THAT(lenient.out, HasSubstr("residual          -0.0009 s: below the bound, a model violation\n"));
  EXPECT_EQ(Run({"--observation", observation, "--fail-on-mismatch", ManifestPath()}).exit_code, 1);
}

TEST_F(GxModelTest, ARefusedObservationGivesOneWithEveryFaultInALine) {
  const std::string path =
      Put("o.textproto", "label: CLAIM_LABEL_LOCALLY_MEASURED case_id: 'x' timing { sample_seconds: 0 }");
  const CommandResult result = Run({"--observation", path, ManifestPath()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "");
  for (const char* fault :
       {"case: got 'x', expected 'gemm-4096-bf16-illustrative'", "timing: got 1 raw samples, expected 20 or more",
        "timing: sample 0 is 0 seconds, expected a finite time above 0",
        "dispatch key: not exact, lacks framework, backend, route, kernel symbol, shapes, strides and dtypes",
        "selected backend: not named", "kernel symbol: not named", "numerical check: no reference tolerance",
        "numerical check: no reference error", "profiler: no command", "profiler: no report",
        "profiler: no counters"}) {
    EXPECT_THAT(result.out, HasSubstr(absl::StrCat("\n  observation refused ", fault, "\n")));
  }
}

TEST_F(GxModelTest, AnObservationOfAnotherCaseIsRefusedEvenWhereItIsEmpty) {
  const std::string path = Put("o.textproto", "label: CLAIM_LABEL_UNMEASURED case_id: 'other'");
  EXPECT_EQ(Run({"--observation", path, "--fail-on-mismatch", ManifestPath()}).exit_code, 1);
}

TEST_F(GxModelTest, ADeviceTakesTheMachinesPlace) {
  const CommandResult result = Run({"--device", "NVIDIA H200", ManifestPath()});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("(--device, in place of the manifest's machine)"));
  EXPECT_THAT(result.out, HasSubstr("exact rules"));
  EXPECT_THAT(result.out, HasSubstr("concurrent block slots                         528"));
  ExpectRefused({"--device", "Abacus 9000", ManifestPath()}, "--device: ");
}

TEST_F(GxModelTest, WhatComparedNothingDoesNotPass) {
  const CommandResult device = Run({"--device", "NVIDIA H200", "--fail-on-mismatch", ManifestPath()});
  EXPECT_EQ(device.exit_code, 1);
  EXPECT_EQ(device.err,
            "gx-model: --fail-on-mismatch: no expected values were compared: --device takes another machine than "
            "theirs\n");
  EXPECT_THAT(device.out, StartsWith("MISMATCHES AND REFUSALS\n"));
  const std::string bare = Put("bare.textproto", "case_id: 'a' label: CLAIM_LABEL_ANALYTICAL");
  const CommandResult result = Run({"--fail-on-mismatch", bare});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "gx-model: --fail-on-mismatch: no expected values were compared\n");
  EXPECT_EQ(Run({bare}).exit_code, 0);
}

TEST_F(GxModelTest, ALaunchThatCannotRunIsRefusedAtTheTop) {
  const CommandResult result = Run({Put("large.textproto",
                                        "case_id: 'a' label: CLAIM_LABEL_ANALYTICAL machine { compute_capability: "
                                        "'9.0' sm_count: 132 } schedule { grid { x: 1 } block { x: 2048 } "
                                        "registers_per_thread: 16 }")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, StartsWith("MISMATCHES AND REFUSALS\n  refused exact_occupancy: not one block fits: "));
}

TEST_F(GxModelTest, AReportDoesNotReplaceItsInput) {
  const std::string manifest = Put("m.textproto", ReadFile(ManifestPath()));
  const std::string observation = Put("o.textproto", "label: CLAIM_LABEL_UNMEASURED");
  ExpectRefused({"-o", manifest, manifest}, "is an input file");
  ExpectRefused({"-o", dir_.File("./o.textproto"), "--observation", observation, manifest}, "is an input file");
  // A link to it is it.
  const std::string link = dir_.File("link");
  std::filesystem::create_symlink(manifest, link);
  ExpectRefused({"-o", link, manifest}, "is an input file");
  EXPECT_EQ(ReadFile(manifest), ReadFile(ManifestPath()));
  EXPECT_EQ(ReadFile(observation), "label: CLAIM_LABEL_UNMEASURED");
}

TEST_F(GxModelTest, DevicesAreListed) {
  const CommandResult result = Run({"--list-devices"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("H100 SXM"));
  EXPECT_THAT(result.out, HasSubstr("RTX 4090"));
}

TEST_F(GxModelTest, WrongUsageAndUnreadableInputGiveTwoAndOneClearLine) {
  ExpectRefused({}, "no manifest is named");
  ExpectRefused({"--bogus", ManifestPath()}, "unknown option '--bogus'");
  ExpectRefused({dir_.File("none.textproto")}, "none.textproto: No such file or directory");
  ExpectRefused({dir_.path()}, "Is a directory");
  ExpectRefused({Put("empty.textproto", "")}, "empty.textproto: expected a gpuexec.v1.Manifest, got an empty file");
  ExpectRefused({Put("bad.textproto", "case_id: 'a'\n  machine { sms: 3 }")}, "bad.textproto:2:16: ");
  ExpectRefused({Put("bad.json", "{\"machine\":\n {\"sm_count\": 1.5}}")},
                "bad.json:2:15: sm_count: expected a whole number of 64 bits, got 1.5");
  ExpectRefused({Put("bad.pb", "\xFF\xFF")}, "bad.pb: expected a binary gpuexec.v1.Manifest");
  ExpectRefused({"--observation", Put("bad2.textproto", "case: 1"), ManifestPath()}, "bad2.textproto:1:");
  ExpectRefused({"/no\x1b[2J/such"}, "/no\\x1b[2J/such");
  ExpectRefused({"/dev/zero"}, "expected at most 16 MiB");
}

TEST_F(GxModelTest, AReportThatCannotBeWrittenGivesTwo) {
  ExpectRefused({"-o", dir_.File("no/such/folder"), ManifestPath()}, "the report could not be written");
  if (std::filesystem::exists("/dev/full")) ExpectRefused({"-o", "/dev/full", ManifestPath()}, "could not be written");
}

TEST_F(GxModelTest, TheReportGoesToTheFileThatIsNamed) {
  const CommandResult result = Run({"-o", dir_.File("out.txt"), ManifestPath()});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(ReadFile(dir_.File("out.txt")), Run({ManifestPath()}).out);
}

TEST_F(GxModelTest, HelpAndVersionGoToStandardOutput) {
  const CommandResult help = Run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, StartsWith("usage: gx-model"));
  EXPECT_THAT(Run({"--version"}).out, StartsWith("gx-model "));
}

TEST_F(GxModelTest, HostileManifestsTakeLittleMemory) {
  std::string lists = "case_id: 'a' label: CLAIM_LABEL_ANALYTICAL operation { tensor { shape: [1";
  for (int i = 0; i < 1000000; ++i) lists += ",1";
  lists += "] } }";
  std::string cases = "case_id: 'a' label: CLAIM_LABEL_ANALYTICAL\n";
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&cases, "roofline{name:'", i, "' work{path:'p' flops:1}}\n");
  }
  cases += "machine {\n";
  for (int i = 0; i < 900; ++i) {
    absl::StrAppend(&cases, "compute_roof{path:'", i, "' flops_per_second:nan}\n");
  }
  cases += "}\n";
  for (const std::string& text : {lists, cases, absl::StrCat("case_id: '", std::string(1 << 23, 'x'), "'")}) {
    const CommandResult result = Run({Put("hostile.textproto", text)});
    EXPECT_EQ(result.signal, 0);
    // Read and reported; the model refuses some of it.
    EXPECT_LE(result.exit_code, 1);
    EXPECT_LT(result.max_resident_kib, 256 * 1024);
  }
}

}  // namespace
}  // namespace gx::testing
