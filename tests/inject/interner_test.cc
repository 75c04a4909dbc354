#include "inject/interner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "gpuexec/v1/trace.pb.h"
#include "tests/fakes/fake_cubin.h"

namespace gx::inject {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const void* Handle(uintptr_t number) { return reinterpret_cast<const void*>(number << 4); }

class InternerTest : public ::testing::Test {
 protected:
  InternerTest() : interner_(&encoder_, &functions_) { EXPECT_TRUE(functions_.Allocate(uint64_t{4} << 20)); }

  // What was written since the last call.
  gpuexec::v1::Packet Written() {
    gpuexec::v1::Trace trace;
    EXPECT_TRUE(trace.ParseFromString(std::string(encoder_.FinishFrame())));
    return trace.frame_size() == 0 ? gpuexec::v1::Packet() : trace.frame(0).packet();
  }
  void Load(uint32_t module_id, const std::string& name, const std::string& code) {
    const std::string cubin = fakes::BuildCubin({{name, {}, code}});
    bool full = false;
    functions_.AddModule(module_id, std::span(reinterpret_cast<const uint8_t*>(cubin.data()), cubin.size()), &full);
  }
  LaunchParameters Launch(uintptr_t handle, const char* name) {
    LaunchParameters parameters;
    parameters.readable = 1;
    parameters.function_index = functions_.Find(Handle(handle), nullptr, name);
    parameters.grid = {1, 2, 3};
    parameters.block = {4, 5, 6};
    return parameters;
  }

  TraceEncoder encoder_;
  FunctionTable functions_;
  Interner interner_;
};

TEST_F(InternerTest, RangeTextsAreRememberedUpToALimitAndDefinedAnewBeyondIt) {
  const uint64_t first = interner_.RangeText("step 0");
  EXPECT_EQ(interner_.RangeText("step 0"), first);
  for (int i = 1; i < 70'000; ++i) (void)interner_.RangeText("step " + std::to_string(i));
  const uint64_t again = interner_.RangeText("step 0");
  EXPECT_GT(again, uint64_t{70'000}) << "forgotten, and so a new id: ids are never given twice";
  EXPECT_GT(interner_.Name("axpy"), again) << "names and range texts share their ids";
}

TEST_F(InternerTest, ANameIsWrittenOnce) {
  const uint64_t first = interner_.Name("axpy");
  EXPECT_EQ(interner_.Name("axpy"), first);
  EXPECT_NE(interner_.Name("gemm"), first);
  EXPECT_NE(interner_.Name(std::string_view("axpy\0", 5)), first);
  const auto packet = Written();
  ASSERT_EQ(packet.name_size(), 3);
  EXPECT_EQ(packet.name(0).iid(), first);
  EXPECT_EQ(packet.name(0).value(), "axpy");
}

TEST_F(InternerTest, ATrackIsDeviceContextAndStream) {
  const uint64_t track = interner_.Track(1, 2, 3);
  EXPECT_EQ(interner_.Track(1, 2, 3), track);
  EXPECT_NE(interner_.Track(1, 2, 4), track);
  EXPECT_NE(interner_.Track(1, 3, 3), track);
  EXPECT_NE(interner_.Track(2, 2, 3), track);
  EXPECT_NE(interner_.Track(1, 2, kUnknownStream), track);
  const auto packet = Written();
  ASSERT_EQ(packet.track_size(), 5);
  EXPECT_EQ(packet.track(0).device_id(), 1u);
  EXPECT_EQ(packet.track(0).context_id(), 2u);
  EXPECT_EQ(packet.track(0).stream_id(), 3u);
  EXPECT_FALSE(packet.track(4).has_stream_id());
}

TEST_F(InternerTest, AThreadIsWrittenOnceEvenIfItIsGone) {
  interner_.Thread(0x7FFFFFFF);
  interner_.Thread(0x7FFFFFFF);
  const auto packet = Written();
  ASSERT_EQ(packet.thread_size(), 1);
  EXPECT_EQ(packet.thread(0).thread_id(), 0x7FFFFFFFu);
  EXPECT_EQ(packet.thread(0).name(), "");
}

TEST_F(InternerTest, TheSameCodeUnderAnotherHandleIsOneFunction) {
  Load(1, "axpy", "code");
  interner_.Signature(Launch(1, "axpy"), 0, false);
  interner_.Signature(Launch(2, "axpy"), 0, false);
  const auto packet = Written();
  ASSERT_EQ(packet.function_size(), 1);
  EXPECT_TRUE(packet.function(0).has_code_hash());
  EXPECT_EQ(packet.function(0).module_id(), 1u);
  EXPECT_EQ(packet.signature_size(), 1);
  EXPECT_THAT(interner_.TakeNewFunctions(), SizeIs(1));
  EXPECT_THAT(interner_.TakeNewSignatures(), SizeIs(1));
}

TEST_F(InternerTest, AModuleLoadedAgainWithTheSameCodeIsTheSameFunction) {
  Load(1, "axpy", "code");
  interner_.Signature(Launch(1, "axpy"), 0, false);
  functions_.RemoveModule(1);
  Load(2, "axpy", "code");
  interner_.Signature(Launch(9, "axpy"), 0, false);
  EXPECT_EQ(Written().function_size(), 1);
}

TEST_F(InternerTest, TheSameCodeUnderAnotherNameIsAnotherFunction) {
  Load(1, "axpy", "code");
  Load(2, "copy", "code");
  interner_.Signature(Launch(1, "axpy"), 0, false);
  interner_.Signature(Launch(2, "copy"), 0, false);
  EXPECT_EQ(Written().function_size(), 2);
}

TEST_F(InternerTest, WhereTheCodeIsAmbiguousEachHandleIsAFunction) {
  Load(1, "axpy", "code");
  Load(2, "axpy", "other");
  interner_.Signature(Launch(1, "axpy"), 0, false);
  interner_.Signature(Launch(2, "axpy"), 0, false);
  const auto packet = Written();
  ASSERT_EQ(packet.function_size(), 2);
  EXPECT_TRUE(packet.function(0).code_ambiguous());
  EXPECT_EQ(packet.function(0).name_iid(), packet.function(1).name_iid());
}

TEST_F(InternerTest, WhereTheCodeIsUnknownEachHandleIsAFunction) {
  interner_.Signature(Launch(1, "axpy"), 0, false);
  interner_.Signature(Launch(2, "axpy"), 0, false);
  const auto packet = Written();
  ASSERT_EQ(packet.function_size(), 2);
  EXPECT_FALSE(packet.function(0).has_code_hash());
}

TEST_F(InternerTest, ANameThatComesLaterIsAFurtherDefinition) {
  interner_.Signature(Launch(1, nullptr), 0, false);
  const auto before = Written();
  ASSERT_EQ(before.function_size(), 1);
  EXPECT_EQ(before.function(0).name_iid(), 0u);
  interner_.NameFunction(before.function(0).iid(), "axpy");
  const auto after = Written();
  ASSERT_EQ(after.name_size(), 1);
  ASSERT_EQ(after.function_size(), 1);
  EXPECT_EQ(after.function(0).iid(), before.function(0).iid());
  EXPECT_EQ(after.function(0).name_iid(), after.name(0).iid());
}

TEST_F(InternerTest, UnreadableParametersHaveNoSignature) {
  EXPECT_EQ(interner_.Signature(LaunchParameters{}, 0, false), 0u);
  EXPECT_EQ(Written().signature_size(), 0);
}

TEST_F(InternerTest, ASignatureOfAnUnknownFunctionAsksNothing) {
  LaunchParameters parameters;
  parameters.readable = 1;
  EXPECT_NE(interner_.Signature(parameters, 0, false), 0u);
  EXPECT_THAT(interner_.TakeNewSignatures(), IsEmpty());
  EXPECT_THAT(interner_.TakeNewFunctions(), IsEmpty());
}

TEST_F(InternerTest, SignaturesDifferByEveryMember) {
  const LaunchParameters base = Launch(1, "axpy");
  std::vector<LaunchParameters> variants(14, base);
  variants[0].grid.x = 9;
  variants[1].grid.y = 9;
  variants[2].grid.z = 9;
  variants[3].block.x = 9;
  variants[4].block.y = 9;
  variants[5].block.z = 9;
  variants[6].cluster.x = 9;
  variants[7].preferred_cluster.z = 9;
  variants[8].dynamic_shared_memory_bytes = 9;
  variants[9].carveout = 50;
  variants[10].carveout = -1;
  variants[11].cooperative = 1;
  variants[12].programmatic = 1;
  variants[13] = Launch(2, "gemm");
  const uint64_t iid = interner_.Signature(base, 0, false);
  std::vector<uint64_t> seen = {iid};
  for (const LaunchParameters& variant : variants) seen.push_back(interner_.Signature(variant, 0, false));
  seen.push_back(interner_.Signature(base, 1, false));
  seen.push_back(interner_.Signature(base, 0, true));
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i + 1) << "each is new";
  EXPECT_EQ(interner_.Signature(base, 0, false), iid);
  EXPECT_EQ(Written().signature_size(), static_cast<int>(seen.size()));
}

TEST_F(InternerTest, EveryMemberOfASignatureIsWritten) {
  LaunchParameters parameters = Launch(1, "axpy");
  parameters.cluster = {2, 1, 1};
  parameters.preferred_cluster = {4, 1, 1};
  parameters.dynamic_shared_memory_bytes = 512;
  parameters.carveout = -1;
  parameters.cooperative = 1;
  parameters.programmatic = 1;
  const uint64_t iid = interner_.Signature(parameters, 3, true);
  const auto packet = Written();
  ASSERT_EQ(packet.signature_size(), 1);
  const auto& signature = packet.signature(0);
  EXPECT_EQ(signature.iid(), iid);
  EXPECT_EQ(signature.function_iid(), packet.function(0).iid());
  EXPECT_EQ(signature.device_id(), 3u);
  EXPECT_EQ(signature.grid_x(), 1u);
  EXPECT_EQ(signature.grid_y(), 2u);
  EXPECT_EQ(signature.grid_z(), 3u);
  EXPECT_EQ(signature.block_x(), 4u);
  EXPECT_EQ(signature.block_y(), 5u);
  EXPECT_EQ(signature.block_z(), 6u);
  EXPECT_EQ(signature.cluster_x(), 2u);
  EXPECT_EQ(signature.preferred_cluster_x(), 4u);
  EXPECT_EQ(signature.dynamic_shared_memory_bytes(), 512u);
  EXPECT_EQ(signature.preferred_shared_memory_carveout(), -1);
  EXPECT_TRUE(signature.cooperative());
  EXPECT_TRUE(signature.programmatic());
  EXPECT_TRUE(signature.graph_node());
  const std::vector<NewSignature> asked = interner_.TakeNewSignatures();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].iid, iid);
  EXPECT_EQ(asked[0].block_threads, 120u);
  EXPECT_EQ(asked[0].dynamic_shared_memory_bytes, 512u);
}

TEST_F(InternerTest, BlocksOfImpossibleSizeAreAskedAboutWithoutOverflow) {
  LaunchParameters parameters = Launch(1, "axpy");
  parameters.block = {0xFFFFFFFF, 2, 1};
  interner_.Signature(parameters, 0, false);
  EXPECT_EQ(interner_.TakeNewSignatures()[0].block_threads, 1u << 20);
}

TEST_F(InternerTest, KernelAttributesDifferByEveryMemberAndByName) {
  const KernelLaunchValues base{};
  std::vector<uint64_t> seen = {interner_.KernelAttributes(base, "axpy")};
  constexpr size_t kMembers = 24;  // of 32 bits
  for (size_t member = 0; member < kMembers; ++member) {
    KernelLaunchValues values = base;
    reinterpret_cast<uint32_t*>(&values)[member] = 1;
    seen.push_back(interner_.KernelAttributes(values, "axpy"));
  }
  KernelLaunchValues values = base;
  values.local_memory_total_bytes = uint64_t{1} << 40;
  seen.push_back(interner_.KernelAttributes(values, "axpy"));
  seen.push_back(interner_.KernelAttributes(base, "gemm"));
  seen.push_back(interner_.KernelAttributes(base, nullptr));
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i + 1) << "each is new";
  EXPECT_EQ(interner_.KernelAttributes(base, "axpy"), 1u);
  EXPECT_EQ(Written().kernel_attributes_size(), static_cast<int>(seen.size()));
}

TEST_F(InternerTest, EveryMemberOfKernelAttributesIsWritten) {
  KernelLaunchValues values{};
  for (size_t member = 0; member < 24; ++member)
    reinterpret_cast<uint32_t*>(&values)[member] = 100 + static_cast<uint32_t>(member);
  values.local_memory_total_bytes = uint64_t{1} << 40;
  interner_.KernelAttributes(values, "axpy");
  const auto packet = Written();
  ASSERT_EQ(packet.kernel_attributes_size(), 1);
  const auto& out = packet.kernel_attributes(0);
  EXPECT_EQ(out.grid_x(), 100u);
  EXPECT_EQ(out.grid_z(), 102u);
  EXPECT_EQ(out.block_x(), 103u);
  EXPECT_EQ(out.cluster_x(), 106u);
  EXPECT_EQ(out.cluster_z(), 108u);
  EXPECT_EQ(out.registers_per_thread(), 109u);
  EXPECT_EQ(out.static_shared_memory_bytes(), 110u);
  EXPECT_EQ(out.dynamic_shared_memory_bytes(), 111u);
  EXPECT_EQ(out.shared_memory_executed_bytes(), 112u);
  EXPECT_EQ(out.shared_memory_carveout_requested(), 112u) << "kept as per cent + 1";
  EXPECT_EQ(out.cache_config_requested(), 114u);
  EXPECT_EQ(out.cache_config_executed(), 115u);
  EXPECT_EQ(out.local_memory_per_thread_bytes(), 116u);
  EXPECT_EQ(out.launch_type(), 117u);
  EXPECT_EQ(out.channel_type(), 118u);
  EXPECT_TRUE(out.device_launched());
  EXPECT_EQ(out.max_potential_cluster_size(), 120u);
  EXPECT_EQ(out.max_active_clusters(), 121u);
  EXPECT_EQ(out.shared_memory_limit_config(), 122u);
  EXPECT_EQ(out.local_memory_total_bytes(), uint64_t{1} << 40);
  EXPECT_EQ(packet.name(0).value(), "axpy");
  EXPECT_EQ(out.name_iid(), packet.name(0).iid());
}

TEST_F(InternerTest, ANamePointerUsedAgainInTheNextBufferIsReadAgain) {
  char name[] = "axpy";
  const KernelLaunchValues values{};
  const uint64_t first = interner_.KernelAttributes(values, name);
  EXPECT_EQ(interner_.KernelAttributes(values, name), first);
  std::copy_n("gemm", 4, name);
  interner_.ForgetNamePointers();
  EXPECT_NE(interner_.KernelAttributes(values, name), first);
  const auto packet = Written();
  ASSERT_EQ(packet.name_size(), 2);
  EXPECT_EQ(packet.name(1).value(), "gemm");
}

TEST_F(InternerTest, DefinitionsStandBeforeTheirUseInTheSameFrame) {
  Load(1, "axpy", "code");
  const uint64_t iid = interner_.Signature(Launch(1, "axpy"), 0, false);
  const auto packet = Written();
  ASSERT_EQ(packet.signature_size(), 1);
  EXPECT_EQ(packet.signature(0).iid(), iid);
  EXPECT_EQ(packet.function(0).iid(), packet.signature(0).function_iid());
  EXPECT_EQ(packet.name(0).iid(), packet.function(0).name_iid());
}

}  // namespace
}  // namespace gx::inject
