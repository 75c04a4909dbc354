#include "inject/sampling_deny_list.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace gx::inject {
namespace {

TEST(Glob, MatchesWholeTextsAndIgnoresLetterCase) {
  struct Row {
    const char* glob;
    const char* text;
    bool matches;
  };
  const Row rows[] = {
      {"", "", true},
      {"", "a", false},
      {"*", "", true},
      {"**", "abc", true},
      {"abc", "abc", true},
      {"abc", "ABC", true},
      {"ABC", "abc", true},
      {"abc", "abcd", false},
      {"abc", "ab", false},
      {"a?c", "abc", true},
      {"a?c", "ac", false},
      {"?", "", false},
      {"nccl*", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", true},
      {"nccl*", "my_nccl", false},
      {"*reduce", "all_reduce", true},
      {"*reduce", "all_reduce_", false},
      {"a*b*c", "aXbYc", true},
      {"a*b*c", "aXcYb", false},
      {"*aab", "aaaaab", true},
      {"*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false},
      {"a*", "a", true},
      {"*a", "a", true},
      {"a**b", "ab", true},
  };
  for (const Row& row : rows) EXPECT_EQ(MatchesGlob(row.glob, row.text), row.matches) << row.glob << " " << row.text;
}

// Every text of three letters against every glob of four, by the definition.
bool MatchesByDefinition(std::string_view glob, std::string_view text) {
  if (glob.empty()) return text.empty();
  if (glob[0] == '*') {
    return MatchesByDefinition(glob.substr(1), text) || (!text.empty() && MatchesByDefinition(glob, text.substr(1)));
  }
  return !text.empty() && (glob[0] == '?' || glob[0] == text[0]) && MatchesByDefinition(glob.substr(1), text.substr(1));
}

TEST(Glob, AgreesWithItsDefinitionOnAllShortTexts) {
  const std::string globs = "ab?*";
  int matches = 0;
  for (int g = 0; g < 256; ++g) {
    const std::string glob = {globs[g & 3], globs[g >> 2 & 3], globs[g >> 4 & 3], globs[g >> 6 & 3]};
    for (size_t length = 0; length <= 6; ++length) {
      for (uint32_t bits = 0; bits < 1u << length; ++bits) {
        std::string text;
        for (size_t i = 0; i < length; ++i) text += (bits >> i & 1u) != 0 ? 'b' : 'a';
        ASSERT_EQ(MatchesGlob(glob, text), MatchesByDefinition(glob, text)) << glob << " " << text;
        matches += MatchesGlob(glob, text) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(matches, 1000);
}

TEST(FunctionName, IsMatchedWholeOrByOneOfItsIdentifiers) {
  const char* const dispatch = "_ZN7deep_ep9intranode8dispatchILi8ELi768EEEvP4int4PfPl";
  EXPECT_TRUE(MatchesFunction("deep_ep", dispatch));
  EXPECT_TRUE(MatchesFunction("dispatch", dispatch));
  EXPECT_TRUE(MatchesFunction("intra*", dispatch));
  EXPECT_TRUE(MatchesFunction("_ZN7deep_ep*", dispatch));
  EXPECT_TRUE(MatchesFunction("*node8dis*", dispatch));
  EXPECT_FALSE(MatchesFunction("ep", dispatch));
  EXPECT_FALSE(MatchesFunction("patch*", dispatch));
  // A name that is not mangled is one identifier, whatever numbers it holds.
  EXPECT_TRUE(MatchesFunction("triton_red_fused_3dispatch", "triton_red_fused_3dispatch"));
  EXPECT_FALSE(MatchesFunction("dispatch", "triton_red_fused_8dispatch"));
}

TEST(FunctionName, NumbersThatAreNoLengthsDoNotHideAnIdentifier) {
  EXPECT_TRUE(MatchesFunction("kernel", "_ZN1aILi99999999999999999999999EE6kernelEv"));
  EXPECT_TRUE(MatchesFunction("kernel", "_ZN1aILi12EE6kernelEvvvvvvvvvvvvvvvvvvvvvvv"));
  EXPECT_FALSE(MatchesFunction("kernel", "_ZN1aILi12EE7kernelXEv"));
  EXPECT_FALSE(MatchesFunction("kernel", "_Z60kernel"));
  EXPECT_FALSE(MatchesFunction("kernel", "_Z"));
  EXPECT_FALSE(MatchesFunction("kernel", "_Z6"));
  EXPECT_FALSE(MatchesFunction("kernel", ""));
}

DenyReason ByName(const char* name) {
  SamplingDenyList list;
  EXPECT_TRUE(list.Allocate(4, {}));
  return list.Decide(1, name, 0);
}

TEST(SamplingDenyList, NamesCommunicationKernels) {
  const char* const names[] = {
      // NCCL: 2.19 and later, before, symmetric kernels of 2.27.
      "_Z24ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
      "_Z21ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE",
      "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE",
      "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE",
      "_Z44ncclKernel_AllReduce_RING_LL_Sum_floatP11ncclDevCommmP8ncclWork",
      "_Z30ncclAllReduceRingLLKernel_sum_f8ncclColl",
      "_Z43ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f3221ncclSymkDevWorkArgs4K",
      // NVSHMEM and what is built on it.
      "_Z36barrier_on_stream_kernel_threadgroupIL13threadgroup_t1EEvii",
      "nvshmemi_proxy_quiet_kernel",
      "_ZN7deep_ep11internode_ll8dispatchILb1ELb0ELi7168EEEvPvS1_Pi",
      "_ZN7deep_ep9intranode7combineI13__nv_bfloat16Li8ELi768EEEvPT_Pf",
      "_ZN4c10d12nvshmem_extension22exchangeSplitAndOffsetEPlS0_S0_i",
      "_ZN4c10d12nvshmem_extension9allToAllVEPvS1_Pl",
      // Symmetric memory of PyTorch.
      "_ZN4c10d16symmetric_memory12_GLOBAL__N_126multimem_all_reduce_kernelIfLi16EEEvPT_",
      "_ZN4c10d16symmetric_memory18wait_signal_kernelEPPjiiiim",
      "_ZN4c10d16symmetric_memoryL14barrier_kernelEPPjiiim",
      "_ZN12_GLOBAL__N_125one_shot_all_reduce_kernelIfLi16ELi8EEEvPPT_",
      "two_shot_all_reduce_kernel",
      // Custom all-reduces of inference engines.
      "_ZN4vllm26cross_device_reduce_1stageI6__halfLi8EEEvPNS_8RankDataENS_11RankSignalsE",
      "_ZN6sglang26cross_device_reduce_2stageI13__nv_bfloat16Li8EEEvPNS_8RankDataE",
      "_ZN12tensorrt_llm7kernels22oneShotAllReduceKernelI6__halfLi8ELb1ELb0EEEvNS0_15AllReduceParamsE",
      "_ZN12tensorrt_llm7kernels32lowPrecisionTwoShotAllReduceKernelE",
      "_ZN12tensorrt_llm7kernels48lamport_style_one_shot_all_reduce_norm_kernelE",
      "_ZN10flashinfer23trtllm_allreduce_fusion39allreduce_fusion_kernel_oneshot_lamportE",
      "_ZN12tensorrt_llm7kernels9ar_fusion35allreduce_fusion_kernel_twoshot_syncE",
      "_ZN10flashinfer22trtllm_mnnvl_allreduce28oneshotAllreduceFusionKernelE",
      "_ZN10flashinfer22trtllm_mnnvl_allreduce14rmsNormLamportE",
      "_ZN11quickreduce27allreduce_prototype_twoshotE",
      "_ZN12tensorrt_llm7kernels8moe_comm20moeA2ADispatchKernelE",
      // Overlapped communication of Transformer Engine.
      "_Z35userbuffers_fp16_sum_inplace_gpu_rwILi8EEviiii",
      "_Z21kuserbuffers_pushrecviiPiS_im",
      // Expert parallelism in one kernel.
      "_ZN9deep_gemm27sm100_fp8_fp4_mega_moe_implILj7168EEEvPv",
      "_ZN7mscclpp7megamoe6detail6kernelE",
      "_ZN7mscclpp10collective12allreducePktE",
  };
  for (const char* name : names) EXPECT_EQ(ByName(name), DenyReason::kName) << name;
}

TEST(SamplingDenyList, LeavesComputeKernelsAlone) {
  const char* const names[] = {
      "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functorE",
      "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
      "_ZN2at6native27unrolled_elementwise_kernelE",
      "_ZN2at6native22_scatter_gather_elementwise_kernelE",
      "_ZN2at6native8sbtopk10gatherTopKIfjLi2ELb0EEEv",
      "_ZN2at6native35CatArrayBatchedCopy_alignedK_contigE",
      "_ZN49_GLOBAL__N__a2a1b2c3_10_SoftMax_cu_9f978f6320softmax_warp_forwardE",
      "_ZN7cutlass13device_kernelIN5flash11enable_sm90E",
      "_ZN5flash32flash_fwd_splitkv_combine_kernelE",
      "nvjet_hsh_192x192_64x4_2x1_v_bz_coopB_TNN",
      "_ZN8cublasLt18splitKreduce_kernelILi32ELi16EiffE",
      "triton_poi_fused_add_mul_0",
      "triton_red_fused__to_copy_mean_3",
      "fused_moe_kernel",
      "_ZN4vllm3moe27moe_align_block_size_kernelE",
      "_ZN4vllm15rms_norm_kernelIN3c108BFloat16EEEvPT_",
      "_ZN3cub17CUB_200700_900_NS18DeviceReduceKernelE",
      "_Z6kernelPfi",
      "dispatch_tokens",
      "",
  };
  for (const char* name : names) EXPECT_EQ(ByName(name), DenyReason::kNone) << name;
}

TEST(SamplingDenyList, EveryGlobOfTheListIsNeeded) {
  // A glob that another one implies would be dead weight on the way of every function.
  const std::span<const std::string_view> globs = CommunicationKernelGlobs();
  for (size_t i = 0; i < globs.size(); ++i) {
    // The shortest name that it stands for.
    std::string name(globs[i]);
    std::erase(name, '*');
    const std::string mangled = "_Z" + std::to_string(name.size()) + name + "v";
    EXPECT_TRUE(MatchesFunction(globs[i], mangled)) << globs[i];
    for (size_t j = 0; j < globs.size(); ++j) {
      if (i == j) continue;
      EXPECT_FALSE(MatchesFunction(globs[j], mangled)) << globs[i] << " is implied by " << globs[j];
    }
  }
}

TEST(SamplingDenyList, LooksAtTheFrontOfAVeryLongName) {
  const std::string tail(200'000, 'x');
  EXPECT_EQ(ByName(("_Z18ncclDevKernel_long" + tail).c_str()), DenyReason::kName);
  EXPECT_EQ(ByName((tail + "all_reduce").c_str()), DenyReason::kNone);
}

TEST(SamplingDenyList, TakesTheUsersGlobs) {
  SamplingDenyList list;
  ASSERT_TRUE(list.Allocate(8, {"my_spin*", "*halo*"}));
  EXPECT_EQ(list.Decide(1, "_Z11my_spin_waitPi", 0), DenyReason::kUserPattern);
  EXPECT_EQ(list.Decide(2, "_ZN3lbm13exchange_HALOEv", 0), DenyReason::kUserPattern);
  EXPECT_EQ(list.Decide(3, "_ZN3lbm6streamEv", 0), DenyReason::kNone);
  EXPECT_EQ(list.Decide(4, "ncclKernel", 0), DenyReason::kName);
  EXPECT_EQ(list.MatchingGlob("_Z11my_spin_waitPi"), "my_spin*");
  EXPECT_EQ(list.MatchingGlob("ncclKernel"), "nccl*");
  EXPECT_EQ(list.MatchingGlob("_ZN3lbm6streamEv"), "");
}

TEST(SamplingDenyList, LooksAtANameOnce) {
  SamplingDenyList list;
  ASSERT_TRUE(list.Allocate(4, {}));
  DenyReason reason = DenyReason::kName;
  EXPECT_FALSE(list.Find(1, &reason));
  EXPECT_EQ(list.Decide(1, "_Z6kernelv", 0), DenyReason::kNone);
  ASSERT_TRUE(list.Find(1, &reason));
  EXPECT_EQ(reason, DenyReason::kNone);
  // The first answer stands.
  EXPECT_EQ(list.Decide(1, "ncclKernel", 0), DenyReason::kNone);
}

TEST(SamplingDenyList, AMissedDeadlineDeniesForGood) {
  SamplingDenyList list;
  ASSERT_TRUE(list.Allocate(8, {}));
  ASSERT_EQ(list.Decide(1, "_Z4spinPi", 7), DenyReason::kNone);
  list.Deny(1, "_Z4spinPi", 7, DenyReason::kDeadline);
  DenyReason reason = DenyReason::kNone;
  ASSERT_TRUE(list.Find(1, &reason));
  EXPECT_EQ(reason, DenyReason::kDeadline);
  // The same code in another module or context; another code of that name is another function.
  EXPECT_EQ(list.Decide(2, "_Z4spinPi", 7), DenyReason::kDeadline);
  EXPECT_EQ(list.Decide(3, "_Z4spinPi", 8), DenyReason::kNone);
  EXPECT_EQ(list.Decide(4, "_Z4spunPi", 7), DenyReason::kNone);
  EXPECT_FALSE(list.exhausted());
}

TEST(SamplingDenyList, TheFirstReasonStands) {
  SamplingDenyList list;
  ASSERT_TRUE(list.Allocate(4, {}));
  ASSERT_EQ(list.Decide(1, "ncclKernel", 0), DenyReason::kName);
  list.Deny(1, "ncclKernel", 0, DenyReason::kDeadline);
  DenyReason reason = DenyReason::kNone;
  ASSERT_TRUE(list.Find(1, &reason));
  EXPECT_EQ(reason, DenyReason::kName);
  list.Deny(2, "_Z1fv", 0, DenyReason::kNone);
  EXPECT_FALSE(list.Find(2, &reason));
}

TEST(SamplingDenyList, FunctionsWithoutAPlaceAreDenied) {
  SamplingDenyList list;
  DenyReason reason = DenyReason::kNone;
  EXPECT_TRUE(list.Find(1, &reason));
  EXPECT_EQ(reason, DenyReason::kTableFull);
  ASSERT_TRUE(list.Allocate(4, {}));
  EXPECT_EQ(list.Decide(0, "_Z6kernelv", 0), DenyReason::kTableFull);
  EXPECT_EQ(list.Decide(4, "_Z6kernelv", 0), DenyReason::kTableFull);
  list.Deny(4, "_Z6kernelv", 0, DenyReason::kDeadline);  // Nothing happens.
  EXPECT_EQ(list.Decide(3, "_Z6kernelv", 0), DenyReason::kNone);
}

TEST(SamplingDenyList, IsExhaustedAfterTooManyMissedDeadlinesAndForgetsNone) {
  SamplingDenyList list;
  ASSERT_TRUE(list.Allocate(1000, {}));
  for (uint32_t i = 1; i <= SamplingDenyList::kMaxMissedDeadlines; ++i) {
    EXPECT_FALSE(list.exhausted());
    const std::string name = "_Z4spinPi" + std::to_string(i);
    list.Deny(i, name, 0, DenyReason::kDeadline);
    list.Deny(i, name, 0, DenyReason::kDeadline);  // Counts once.
  }
  EXPECT_TRUE(list.exhausted());
  for (uint32_t i = 1; i <= SamplingDenyList::kMaxMissedDeadlines; ++i) {
    EXPECT_EQ(list.Decide(500 + i, "_Z4spinPi" + std::to_string(i), 0), DenyReason::kDeadline);
  }
}

TEST(SamplingDenyList, WhatALaunchShowsOfItselfIsNoMissedDeadline) {
  SamplingDenyList list;
  ASSERT_TRUE(list.Allocate(1000, {}));
  for (uint32_t i = 1; i < 500; ++i) list.Deny(i, "_Z4gridv", 7, DenyReason::kCooperative);
  EXPECT_FALSE(list.exhausted());
  DenyReason reason = DenyReason::kNone;
  ASSERT_TRUE(list.Find(400, &reason));
  EXPECT_EQ(reason, DenyReason::kCooperative);
  // The same code under another index may be launched otherwise.
  EXPECT_EQ(list.Decide(600, "_Z4gridv", 7), DenyReason::kNone);
  // And there is room for those that did miss theirs.
  list.Deny(601, "_Z4spinv", 8, DenyReason::kDeadline);
  EXPECT_EQ(list.Decide(602, "_Z4spinv", 8), DenyReason::kDeadline);
}

TEST(SamplingDenyList, ThreadsAgree) {
  SamplingDenyList list;
  ASSERT_TRUE(list.Allocate(256, {}));
  std::vector<std::thread> threads;
  std::atomic<uint32_t> denied{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (uint32_t function = 1; function < 256; ++function) {
        const bool communicates = function % 3 == 0;
        const std::string name = communicates ? "ncclKernel" : "kernel";
        if (list.Decide(function, name, function) == DenyReason::kName) denied.fetch_add(1);
        if (function % 16 == 1) list.Deny(function, name, function, DenyReason::kDeadline);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(denied.load(), 4u * 85u);
  for (uint32_t function = 1; function < 256; ++function) {
    DenyReason reason = DenyReason::kNone;
    ASSERT_TRUE(list.Find(function, &reason));
    const DenyReason expected = function % 3 == 0    ? DenyReason::kName
                                : function % 16 == 1 ? DenyReason::kDeadline
                                                     : DenyReason::kNone;
    EXPECT_EQ(reason, expected) << function;
  }
}

TEST(DenyByBehaviour, NamesTheFirstReasonThatHolds) {
  EXPECT_EQ(DenyByBehaviour({}), DenyReason::kNone);
  EXPECT_EQ(DenyByBehaviour({.cooperative = true}), DenyReason::kCooperative);
  EXPECT_EQ(DenyByBehaviour({.peer_access = true}), DenyReason::kPeerAccess);
  EXPECT_EQ(DenyByBehaviour({.ipc_memory = true}), DenyReason::kIpcMemory);
  EXPECT_EQ(DenyByBehaviour({.symmetric_heap = true}), DenyReason::kSymmetricHeap);
  EXPECT_EQ(DenyByBehaviour({.green_context = true}), DenyReason::kGreenContext);
  EXPECT_EQ(DenyByBehaviour({.peer_access = true, .ipc_memory = true}), DenyReason::kIpcMemory);
  EXPECT_EQ(DenyByBehaviour({.ipc_memory = true, .symmetric_heap = true}), DenyReason::kSymmetricHeap);
  EXPECT_EQ(DenyByBehaviour({.cooperative = true, .symmetric_heap = true}), DenyReason::kCooperative);
}

TEST(DenyReason, EveryReasonHasAText) {
  for (uint8_t reason = 0; reason <= static_cast<uint8_t>(DenyReason::kTableFull); ++reason) {
    EXPECT_NE(DenyReasonName(static_cast<DenyReason>(reason)), "unknown");
  }
  EXPECT_EQ(DenyReasonName(static_cast<DenyReason>(200)), "unknown");
}

}  // namespace
}  // namespace gx::inject
