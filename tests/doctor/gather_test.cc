#include "tools/doctor/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/doctor/fake_root.h"
#include "tools/doctor/own_parts.h"
#include "tools/doctor/probes.h"

namespace gx::doctor {
namespace {

OutputFacts Output(const FakeRoot& fake, const std::string& pattern) {
  return ReadOutput(fake.root(), Environment({"GPUEXEC_OUTPUT=" + pattern}), "/home/me");
}

TEST(Output, IsSeenFromTheWorkingFolder) {
  const FakeRoot fake({{"/home/me/old.pb", ""}, {"/data/x", ""}});
  const OutputFacts here = ReadOutput(fake.root(), Environment(), "/home/me");
  EXPECT_EQ(here.pattern, "trace.pb");
  EXPECT_EQ(here.folder, "/home/me");
  EXPECT_TRUE(here.folder_exists);
  EXPECT_TRUE(here.folder_writable);
  EXPECT_EQ(here.occupied_by, "");
  EXPECT_TRUE(here.free_bytes.has_value());
  EXPECT_EQ(Output(fake, "old.pb").occupied_by, "file");
  EXPECT_EQ(Output(fake, "/data/t.%p.pb").folder, "/data");
  EXPECT_EQ(Output(fake, "sub/t.pb").folder, "/home/me/sub");
  EXPECT_FALSE(Output(fake, "sub/t.pb").folder_exists);
  EXPECT_EQ(Output(fake, "sub/t.pb").free_bytes, std::nullopt);
  EXPECT_EQ(ReadOutput(fake.root(), Environment({"GPUEXEC_OUTPUT=/t.pb"}), "/home/me").folder, "/");
  EXPECT_EQ(ReadOutput(fake.root(), Environment(), "/").folder, "/");
}

TEST(Output, WhatIsNoFileIsNamed) {
  FakeRoot fake({{"/home/me/folder/x", ""}});
  fake.Link("/home/me/link", "elsewhere");
  ASSERT_EQ(::mkfifo(fake.Place("/home/me/pipe").c_str(), 0600), 0);
  EXPECT_EQ(Output(fake, "folder").occupied_by, "folder");
  EXPECT_EQ(Output(fake, "link").occupied_by, "symbolic link");
  EXPECT_EQ(Output(fake, "pipe").occupied_by, "pipe");
}

TEST(FindProgram, IsTheFirstInPathThatMayBeRun) {
  FakeRoot fake({{"/a/python3", ""}, {"/b/python3", ""}, {"/c/python3/folder", ""}});
  ASSERT_EQ(::chmod(fake.Place("/b/python3").c_str(), 0755), 0);
  const Environment environment({"PATH=/c:/a:/b"});
  // A superuser, too, may run nothing that nobody may run.
  ASSERT_EQ(::chmod(fake.Place("/a/python3").c_str(), 0600), 0);
  EXPECT_EQ(FindProgram(fake.root(), environment, "python3"), "/b/python3");
  EXPECT_EQ(FindProgram(fake.root(), environment, "perl"), "");
  EXPECT_EQ(FindProgram(fake.root(), Environment(), "python3"), "");
}

TEST(CuptiPathOfLog, IsThatOfTheLineOfTheStart) {
  EXPECT_EQ(CuptiPathOfLog("gpuexec 7: note\ngpuexec 7: gpuexec 0.1.0 records to /t (CUPTI x).pb (CUPTI 13.0.1 at "
                           "/a (b)/libcupti.so)\ngpuexec 7: more\n"),
            "/a (b)/libcupti.so");
  EXPECT_EQ(CuptiPathOfLog("gpuexec 7: gpuexec 0.1.0 records nothing: no libcupti was found"), "");
  EXPECT_EQ(CuptiPathOfLog("x (CUPTI 13 at /cut"), "");
  EXPECT_EQ(CuptiPathOfLog(""), "");
}

TEST(LaunchesFor, FollowTheKernelsTime) {
  EXPECT_EQ(LaunchesFor(2, 20'000), 100'000u);
  EXPECT_EQ(LaunchesFor(2, 1), 285'714u);
  EXPECT_EQ(LaunchesFor(20, std::nullopt), 1'000'000u);
  EXPECT_EQ(LaunchesFor(2, uint64_t{60'000'000'000}), 100u);
}

ProbeResult Answered(const std::vector<std::pair<std::string, std::string>>& answers,
                     ChildEnd end = ChildEnd::kExited) {
  ProbeResult result;
  result.child.end = end;
  for (const auto& [key, value] : answers) result.answers.Add(key, value);
  return result;
}

TEST(CudaFacts, AreWhatTheProbeSaid) {
  const CudaFacts facts = CudaFactsOf(Answered({{"path", "/nowhere/libcuda.so.1"},
                                                {"driver_api_version", "13000"},
                                                {"init_result", "0"},
                                                {"device_count", "2"},
                                                {"device1.name", "B"},
                                                {"device1.major", "9"}}));
  EXPECT_EQ(facts.library.path, "/nowhere/libcuda.so.1");
  EXPECT_EQ(facts.driver_api_version, 13000);
  ASSERT_EQ(facts.devices.size(), 2u);
  EXPECT_EQ(facts.devices[0].name, "");
  EXPECT_EQ(facts.devices[1].name, "B");
  EXPECT_EQ(facts.devices[1].compute_capability_major, 9);
  EXPECT_EQ(facts.devices[1].compute_capability_minor, std::nullopt);
  EXPECT_EQ(facts.stuck, "");
}

TEST(CudaFacts, AHangIsLaidToTheCallThatWasMadeLast) {
  const CudaFacts facts =
      CudaFactsOf(Answered({{"path", "/nowhere/libcuda.so.1"}, {"call", "cuInit"}}, ChildEnd::kTimedOut));
  EXPECT_TRUE(facts.library.loaded());
  EXPECT_EQ(facts.stuck, "cuInit: the process did not end within its time and was killed");
  const CudaFacts early = CudaFactsOf(Answered({}, ChildEnd::kTimedOut));
  EXPECT_FALSE(early.library.loaded());
  EXPECT_EQ(early.library.problem, "the process that loaded it did not end within its time and was killed");
}

TEST(CudaFacts, ACountOfDevicesThatLiesCostsNoMemory) {
  const CudaFacts facts = CudaFactsOf(Answered({{"path", "/x"}, {"device_count", "2000000000"}}));
  EXPECT_EQ(facts.devices.size(), 16u);
  EXPECT_EQ(CudaFactsOf(Answered({{"path", "/x"}, {"device_count", "-5"}})).devices.size(), 0u);
}

TEST(NvmlFacts, WhatADeviceDoesNotSayIsNotKnown) {
  const NvmlFacts facts = NvmlFactsOf(Answered({{"path", "/x"},
                                                {"init_result", "0"},
                                                {"driver_version", "580.1"},
                                                {"device_count", "1"},
                                                {"device0.mig", "1"}}));
  EXPECT_EQ(facts.driver_version, "580.1");
  ASSERT_EQ(facts.devices.size(), 1u);
  EXPECT_EQ(facts.devices[0].mig_mode, 1);
  EXPECT_EQ(facts.devices[0].virtualization_mode, std::nullopt);
  EXPECT_EQ(facts.confidential_feature, std::nullopt);
}

}  // namespace
}  // namespace gx::doctor
