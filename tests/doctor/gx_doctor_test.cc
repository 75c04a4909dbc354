// The built gx-doctor, as a user runs it: on a machine without a GPU, and on the fake one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"

namespace gx::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Environment = std::map<std::string, std::string>;

struct Check {
  std::string level;
  std::string summary;
  std::string evidence;  // All of it, as lines "what: value".
  std::vector<std::string> fixes;
};

struct Report {
  CommandResult result;
  std::string health;
  std::map<std::string, Check> checks;
};

class GxDoctor : public ::testing::Test {
 protected:
  // In an environment that holds this and nothing else.
  CommandResult Run(const std::vector<std::string>& arguments, const Environment& environment = {}) {
    std::vector<std::string> command = {"/usr/bin/env",      "-i", "-C", folder_.path(), "TMPDIR=" + folder_.path(),
                                        "PATH=/usr/bin:/bin"};
    for (const char* name : {"LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
      if (const char* value = std::getenv(name)) command.push_back(std::string(name) + "=" + value);
    }
    // The library and the fakes keep what they have until the process is gone (tests/fakes/run_host.cc).
    const char* asan_options = std::getenv("ASAN_OPTIONS");
    command.push_back(std::string("ASAN_OPTIONS=") + (asan_options == nullptr ? "" : asan_options) + ":detect_leaks=0");
    for (const auto& [name, value] : environment) command.push_back(name + "=" + value);
    command.push_back(GX_DOCTOR);
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunCommand(command);
  }

  Report Json(std::vector<std::string> arguments, const Environment& environment = {}) {
    arguments.insert(arguments.begin(), "--json");
    Report report;
    report.result = Run(arguments, environment);
    EXPECT_EQ(report.result.err, "");
    google::protobuf::Struct parsed;
    const auto status = google::protobuf::util::JsonStringToMessage(report.result.out, &parsed);
    EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << report.result.out;
    if (!status.ok()) return report;
    report.health = parsed.fields().at("health").string_value();
    EXPECT_EQ(parsed.fields().at("exit_code").number_value(), report.result.exit_code);
    for (const auto& value : parsed.fields().at("checks").list_value().values()) {
      const auto& fields = value.struct_value().fields();
      Check check;
      check.level = fields.at("level").string_value();
      check.summary = fields.at("summary").string_value();
      for (const auto& item : fields.at("evidence").list_value().values()) {
        const auto& evidence = item.struct_value().fields();
        check.evidence += evidence.at("what").string_value() + ": " + evidence.at("value").string_value() + "\n";
      }
      for (const auto& fix : fields.at("fixes").list_value().values()) check.fixes.push_back(fix.string_value());
      report.checks[fields.at("check").string_value()] = check;
    }
    return report;
  }

  // Nothing of ours may be left.
  void TearDown() override {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      EXPECT_THAT(entry.path().filename().string(), Not(StartsWith("gx-doctor.")));
    }
  }

  TempDir folder_;
};

TEST_F(GxDoctor, HelpAndWrongUsage) {
  const CommandResult help = Run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("usage: gx-doctor"));
  EXPECT_EQ(help.err, "");
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--jsn"}, {"program"}, {"--library"}, {"--library", ""}, {"-x\x1b[31m"}}) {
    const CommandResult wrong = Run(arguments);
    EXPECT_EQ(wrong.exit_code, 64) << arguments[0];
    EXPECT_EQ(wrong.out, "");
    EXPECT_THAT(wrong.err, HasSubstr("gx-doctor --help"));
    EXPECT_THAT(wrong.err, Not(HasSubstr("\x1b")));
  }
}

TEST_F(GxDoctor, OnAnyMachineAllChecksAreThereAndTheExitCodeSaysWhatTheyComeTo) {
  const Report report = Json({"--no-live"});
  EXPECT_EQ(report.checks.size(), 21u);
  EXPECT_THAT(report.health, AnyOf("all well", "degraded", "unusable"));
  EXPECT_EQ(report.checks.at("settings").summary, "no GPUEXEC_ variable is set: defaults hold");
  for (const auto& [name, check] : report.checks) EXPECT_NE(check.summary, "") << name;
}

// The rest needs a libcuda that is known: that of the machine may be there or not.
#ifdef GX_FAKES_DIR

constexpr char kFakes[] = GX_FAKES_DIR;

Environment Fake(const Environment& more = {}) {
  Environment environment = {{"LD_LIBRARY_PATH", kFakes}, {"GPUEXEC_CUPTI", std::string(kFakes) + "/libcupti.so.13"}};
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

const std::vector<std::string> kSampled = {"--", GX_FAKE_HOST, "sampled", "n=20000", "kernel_us=20"};

TEST_F(GxDoctor, WithoutAWorkingDriverTheMachineIsUnusableAndAllChecksAreThere) {
  // A libcuda that fails, whatever the machine has.
  const Report report = Json({}, Fake({{"FAKE_FAIL", "cuInit=100"}}));
  EXPECT_EQ(report.result.exit_code, 2);
  EXPECT_EQ(report.health, "unusable");
  EXPECT_EQ(report.checks.size(), 21u);
  EXPECT_EQ(report.checks.at("devices").level, "failure");
  EXPECT_THAT(report.checks.at("devices").evidence, HasSubstr("cuInit: returned 100"));
  EXPECT_EQ(report.checks.at("live-times").summary, "not run: no GPU is there");
  EXPECT_EQ(report.checks.at("library").level, "ok");
}

TEST_F(GxDoctor, ASmallProgramShowsThatTimesAndCountersAreRecorded) {
  const Report report = Json(kSampled, Fake());
  EXPECT_EQ(report.checks.at("live-times").level, "ok") << report.checks.at("live-times").summary;
  EXPECT_EQ(report.checks.at("live-times").summary, "launches and times are recorded: 20,000 launches, 20,000 kernels");
  EXPECT_EQ(report.checks.at("live-counters").level, "ok") << report.checks.at("live-counters").summary;
  EXPECT_EQ(report.checks.at("counter-permission").level, "ok");
  EXPECT_THAT(report.checks.at("cupti").evidence, HasSubstr("says the live run's trace"));
  EXPECT_THAT(report.checks.at("cupti").summary, StartsWith("CUPTI 13.0.1 at " + std::string(kFakes)));
  EXPECT_EQ(report.checks.at("libcuda").summary, "libcuda.so.1 is " + std::string(kFakes) + "/libcuda.so.1");
  EXPECT_THAT(report.checks.at("devices").evidence, HasSubstr("device 1: Fake GPU 1, compute capability 9.0"));
  EXPECT_EQ(report.checks.at("mig").level, "ok");
  EXPECT_FALSE(std::filesystem::exists(folder_.File("trace.pb")));
}

TEST_F(GxDoctor, RefusedCountersLeaveTimes) {
  const Report report = Json(kSampled, Fake({{"FAKE_CUPTI_COUNTERS", "denied"}}));
  EXPECT_EQ(report.result.exit_code, 1);
  EXPECT_EQ(report.checks.at("live-times").level, "ok");
  EXPECT_EQ(report.checks.at("live-counters").level, "warning");
  EXPECT_EQ(report.checks.at("counter-permission").level, "warning");
  EXPECT_THAT(report.checks.at("counter-permission").evidence, HasSubstr("error 35"));
  EXPECT_THAT(report.checks.at("counter-permission").fixes,
              Contains(HasSubstr("NVreg_RestrictProfilingToAdminUsers=0")));
}

TEST_F(GxDoctor, AnotherSubscriberIsSeen) {
  const Report report = Json(kSampled, Fake({{"FAKE_CUPTI_SUBSCRIBER", "1"}}));
  EXPECT_EQ(report.result.exit_code, 2);
  EXPECT_EQ(report.checks.at("live-times").level, "failure");
  EXPECT_EQ(report.checks.at("other-profilers").level, "warning");
  EXPECT_THAT(report.checks.at("live-counters").summary, HasSubstr("not run"));
}

TEST_F(GxDoctor, AProgramThatFailsOrIsNotThere) {
  const Report failed = Json({"--", GX_FAKE_HOST, "launch", "n=100", "exit=3"}, Fake());
  EXPECT_EQ(failed.checks.at("live-times").level, "warning");
  EXPECT_THAT(failed.checks.at("live-times").summary, HasSubstr("exit code 3"));
  const Report absent = Json({"--", "no-such-program"}, Fake());
  EXPECT_EQ(absent.checks.at("live-times").summary, "not run: no-such-program is not in PATH");
  const Report no_cuda = Json({"--", "/bin/true"}, Fake());
  EXPECT_EQ(no_cuda.checks.at("live-times").level, "failure");
  EXPECT_THAT(no_cuda.checks.at("live-times").summary, HasSubstr("left no trace"));
}

TEST_F(GxDoctor, SettingsAreWhatTheLibraryMakesOfThem) {
  const Report report = Json(
      {"--no-live"}, Fake({{"GPUEXEC_COUNTRS", "core\x1b[31m"}, {"GPUEXEC_MEMORY", "1G"}, {"GPUEXEC_BUDGET", "x"}}));
  const Check& settings = report.checks.at("settings");
  EXPECT_EQ(settings.level, "warning");
  EXPECT_EQ(settings.summary, "2 GPUEXEC_ variables are not understood");
  EXPECT_THAT(settings.evidence, HasSubstr("did you mean GPUEXEC_COUNTERS?"));
  EXPECT_THAT(settings.fixes, Contains(StartsWith("unset GPUEXEC_COUNTRS; export GPUEXEC_COUNTERS=")));
  EXPECT_THAT(settings.fixes, Contains("unset GPUEXEC_BUDGET"));
  EXPECT_THAT(report.checks.at("memory").evidence, HasSubstr("GPUEXEC_MEMORY: 1 GiB"));
  EXPECT_THAT(report.result.out, Not(HasSubstr("\x1b")));
  EXPECT_EQ(report.checks.at("live-times").summary, "not run: --no-live");
}

TEST_F(GxDoctor, AnOlderCuptiIsNamedWithWhatItLacks) {
  const Report report = Json({"--no-live"}, Fake({{"FAKE_CUPTI_VERSION", "27"}}));
  EXPECT_EQ(report.checks.at("cupti").level, "warning");
  EXPECT_THAT(report.checks.at("cupti").summary, HasSubstr("CUPTI 12.9"));
  EXPECT_THAT(report.checks.at("cupti").summary, EndsWith("hardware counters need 13.0"));
  EXPECT_EQ(report.checks.at("counter-library").level, "n/a");
}

TEST_F(GxDoctor, ALibcuptiThatEndsItsProcessCostsItsVersionOnly) {
  std::filesystem::create_directory(folder_.File("bad"));
  std::filesystem::copy(GX_CRASHING_LIBRARY, folder_.File("bad/libcupti.so.12"));
  const Report report =
      Json({"--no-live"}, Fake({{"LD_LIBRARY_PATH", std::string(kFakes) + ":" + folder_.File("bad")}}));
  EXPECT_EQ(report.checks.at("cupti").level, "ok");
  EXPECT_THAT(report.checks.at("cupti").evidence,
              HasSubstr("bad/libcupti.so.12: the process that loaded it was killed by signal 6"));
}

TEST_F(GxDoctor, ALibraryThatDoesNotLoadIsExplained) {
  const Report absent = Json({"--no-live", "--library", folder_.File("no.so")}, Fake());
  EXPECT_EQ(absent.result.exit_code, 2);
  EXPECT_EQ(absent.checks.at("library").level, "failure");
  EXPECT_THAT(absent.checks.at("library").evidence, HasSubstr("no.so"));
  const Report crashing = Json({"--no-live", "--library", GX_CRASHING_LIBRARY}, Fake());
  EXPECT_EQ(crashing.checks.at("library").level, "failure");
  EXPECT_THAT(crashing.checks.at("library").evidence, HasSubstr("why: "));
}

TEST_F(GxDoctor, TheFolderOfTheTraceIsChecked) {
  const Report report = Json({"--no-live"}, Fake({{"GPUEXEC_OUTPUT", "absent/trace.pb"}}));
  EXPECT_EQ(report.checks.at("output").level, "failure");
  EXPECT_THAT(report.checks.at("output").fixes, Contains(AllOf(StartsWith("mkdir -p /"), EndsWith("/absent"))));
}

// As some supervisors start programs: a child's end is then not told.
TEST_F(GxDoctor, IgnoredEndsOfChildrenChangeNothing) {
  const CommandResult result = RunCommand(
      {"/usr/bin/env", "--ignore-signal=CHLD", std::string("LD_LIBRARY_PATH=") + kFakes, GX_DOCTOR, "--no-live"});
  EXPECT_THAT(result.out, HasSubstr("\nok       libcuda "));
  EXPECT_THAT(result.out, HasSubstr("cuInit: returned 0 (CUDA_SUCCESS)"));
}

TEST_F(GxDoctor, TheTextEndsWithWhatItAllComesTo) {
  const CommandResult result = Run({"--no-live"}, Fake());
  EXPECT_THAT(result.out, HasSubstr("\nok       cupti "));
  EXPECT_THAT(result.out, HasSubstr(result.exit_code == 0 ? "\nall well: " : "\ndegraded: "));
  EXPECT_EQ(result.err, "");
}

#endif  // GX_FAKES_DIR

}  // namespace
}  // namespace gx::testing
