#include "tools/doctor/host_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/doctor/fake_root.h"

namespace gx::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kStatus[] =
    "Name:\tgx-doctor\nTracerPid:\t0\nUid:\t1000\t1001\t1000\t1000\nCapBnd:\t000001ffffffffff\n"
    "CapEff:\t0000004000200000\n";

TEST(HostFacts, AreThoseOfTheDriversFiles) {
  // First lines as NVIDIA's proprietary and open modules write them.
  const FakeRoot fake({{"/proc/driver/nvidia/version",
                        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\nGCC 12\n"},
                       {"/proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n"},
                       {"/dev/nvidia0", ""},
                       {"/dev/nvidiactl", ""},
                       {"/dev/null0", ""},
                       {"/proc/self/status", kStatus},
                       {"/proc/self/uid_map", "         0          0 4294967295\n"},
                       {"/proc/meminfo", "MemTotal: 99 kB\nMemAvailable:   2048 kB\n"},
                       {"/sys/fs/cgroup/memory.max", "max\n"}});
  const HostFacts facts = ReadHostFacts(fake.root(), Environment());
  EXPECT_EQ(facts.kernel_module_version, "580.159.04");
  EXPECT_EQ(facts.admin_only, 1);
  EXPECT_THAT(facts.device_nodes, ElementsAre("/dev/nvidia0", "/dev/nvidiactl"));
  EXPECT_EQ(facts.effective_capabilities, 0x4000200000u);
  EXPECT_EQ(facts.bounding_capabilities, 0x1ffffffffffu);
  EXPECT_EQ(facts.effective_uid, 1001);
  EXPECT_EQ(facts.tracer_pid, 0);
  EXPECT_FALSE(facts.user_namespace);
  EXPECT_FALSE(facts.nouveau_loaded);
  EXPECT_EQ(facts.available_memory_bytes, 2048u * 1024);
  EXPECT_EQ(facts.memory_limit_bytes, std::nullopt);
  EXPECT_THAT(facts.container_signs, IsEmpty());
  EXPECT_THAT(facts.wsl_signs, IsEmpty());
  EXPECT_THAT(facts.mps_signs, IsEmpty());
}

TEST(HostFacts, OfAnEmptyMachineAreUnknownAndNotZero) {
  const FakeRoot fake;
  const HostFacts facts = ReadHostFacts(fake.root(), Environment());
  EXPECT_EQ(facts.kernel_module_version, "");
  EXPECT_EQ(facts.admin_only, std::nullopt);
  EXPECT_EQ(facts.effective_capabilities, std::nullopt);
  EXPECT_EQ(facts.effective_uid, std::nullopt);
  EXPECT_EQ(facts.available_memory_bytes, std::nullopt);
  EXPECT_EQ(facts.memory_limit_bytes, std::nullopt);
  EXPECT_FALSE(facts.user_namespace);
}

TEST(HostFacts, SignsOfAContainer) {
  const FakeRoot fake({{"/.dockerenv", ""},
                       {"/proc/1/cgroup", "0::/kubepods.slice/cri-containerd-12.scope\n"},
                       {"/proc/self/uid_map", "0 1000 1\n"},
                       {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"}});
  const HostFacts facts = ReadHostFacts(fake.root(), Environment({"KUBERNETES_SERVICE_HOST=10.0.0.1"}));
  EXPECT_THAT(facts.container_signs,
              UnorderedElementsAre("/.dockerenv", "/proc/1/cgroup: kubepods", "/proc/1/cgroup: containerd",
                                   "variable KUBERNETES_SERVICE_HOST"));
  EXPECT_TRUE(facts.user_namespace);
  EXPECT_EQ(facts.memory_limit_bytes, 536870912u);
}

TEST(HostFacts, AGroupWithoutALimitHasNone) {
  // Version 1 of control groups writes 2^63, down to a page.
  const FakeRoot fake({{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"}});
  EXPECT_EQ(ReadHostFacts(fake.root(), Environment()).memory_limit_bytes, std::nullopt);
}

TEST(HostFacts, SignsOfWindowsAndOfTheMultiProcessService) {
  const FakeRoot fake({{"/dev/dxg", ""},
                       {"/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n"},
                       {"/tmp/nvidia-mps/control", ""},
                       {"/proc/77/comm", "nvidia-cuda-mps\n"}});
  const HostFacts facts = ReadHostFacts(fake.root(), Environment({"CUDA_MPS_PIPE_DIRECTORY=/mps"}));
  EXPECT_THAT(facts.wsl_signs,
              ElementsAre("/dev/dxg", "/proc/sys/kernel/osrelease: 5.15.167.4-microsoft-standard-WSL2"));
  EXPECT_THAT(facts.mps_signs, ElementsAre("variable CUDA_MPS_PIPE_DIRECTORY=/mps", "/tmp/nvidia-mps/control",
                                           "process nvidia-cuda-mps (pid 77)"));
}

TEST(HostFacts, ProgramsThatReadCountersAreNamedAndOthersAreNot) {
  const FakeRoot fake({{"/proc/8/comm", "nv-hostengine\n"},
                       {"/proc/9/comm", "python3\n"},
                       {"/proc/10/comm", "ncu\n"},
                       {"/proc/net/comm", "ncu\n"},
                       {"/proc/11/comm", "ncurses-thing\n"}});
  EXPECT_THAT(ReadHostFacts(fake.root(), Environment()).counter_programs,
              UnorderedElementsAre("nv-hostengine (pid 8)", "ncu (pid 10)"));
}

TEST(HostFacts, OptionsOfTheModuleAreThoseThatAreNoComment) {
  const FakeRoot fake({{"/etc/modprobe.d/a.conf",
                        "# options nvidia NVreg_RestrictProfilingToAdminUsers=1\n"
                        "  options nvidia NVreg_RestrictProfilingToAdminUsers=0\n"},
                       {"/etc/modprobe.d/b.conf", "options nvidia NVreg_Other=1\n"}});
  EXPECT_THAT(ReadHostFacts(fake.root(), Environment()).module_options,
              ElementsAre("/etc/modprobe.d/a.conf: options nvidia NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST(NumberBehind, IsThatOfTheFirstLineWithTheKey) {
  EXPECT_EQ(NumberBehind("a: 1\nb:\t0x\nb: 7\n", "a:", 10), 1u);
  EXPECT_EQ(NumberBehind("b: ff\n", "b:", 16), 0xffu);
  EXPECT_EQ(NumberBehind("b: none\nb: 7\n", "b:", 10), std::nullopt);
  EXPECT_EQ(NumberBehind("b: 99999999999999999999999\n", "b:", 10), std::nullopt);
  EXPECT_EQ(NumberBehind("", "b:", 10), std::nullopt);
}

TEST(ModuleVersion, IsTheFirstWordOfDigitsWithADot) {
  EXPECT_EQ(ModuleVersion("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6\n"), "535.54.03");
  EXPECT_EQ(ModuleVersion("NVRM version: none\n1.2.3\n"), "");
  EXPECT_EQ(ModuleVersion(""), "");
}

}  // namespace
}  // namespace gx::doctor
