// A traced kernel as manifest and observation: gx-model takes the first as it is, and of the second names what is
// missing.
#include "analysis/manifest_emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/manifest/model_report.h"
#include "analysis/manifest_bound.h"
#include "analysis/name_filter.h"
#include "analysis/trace_importer.h"
#include "tests/support/kernel_packets.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;
using gx::testing::FromText;
using ::gx::testing::KernelPackets;
using ::gx::testing::PacketFromText;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// An H200 as its driver tells of it, but for its 10 SMs.
constexpr char kTrace[] = R"(
  header { format_major: 1 format_minor: 1 gpuexec_version: "0.1.0" driver_version: "580.1"
    cuda_driver_api_version: 13000 command_line: ["python3", "try.py"] start { cupti_ns: 1000 monotonic_ns: 1000 } }
  device { device_id: 0 name: "GPU" total_memory_bytes: 1000000 max_sm_clock_hz: 2000000000
    max_memory_clock_hz: 1000000000
    attributes { multiprocessor_count: 10 compute_capability_major: 9 compute_capability_minor: 0 warp_size_threads: 32
      max_threads_per_multiprocessor: 2048 max_blocks_per_multiprocessor: 32 max_registers_per_multiprocessor: 65536
      max_shared_memory_per_multiprocessor_bytes: 233472 } }
  name { iid: 1 value: "gemm" }
  function { iid: 1 name_iid: 1 attributes { registers_per_thread: 40 static_shared_memory_bytes: 1024
    preferred_shared_memory_carveout: -1 } }
  signature { iid: 1 function_iid: 1 device_id: 0 grid_x: 70 grid_y: 1 grid_z: 1 block_x: 256 block_y: 1 block_z: 1
    dynamic_shared_memory_bytes: 2048 }
  kernel_attributes { iid: 1 name_iid: 1 grid_x: 70 grid_y: 1 grid_z: 1 block_x: 256 block_y: 1 block_z: 1
    registers_per_thread: 40 static_shared_memory_bytes: 1024 dynamic_shared_memory_bytes: 2048 }
  track { iid: 1 device_id: 0 context_id: 1 stream_id: 7 }
  window { window_id: 1 kind: KIND_TIMING begin_monotonic_ns: 1000 end_monotonic_ns: 5000000 }
  window { window_id: 2 kind: KIND_COUNTERS begin_monotonic_ns: 5000000 end_monotonic_ns: 6000000 }
  counter_group { iid: 1 name: "light+" kind: KIND_HARDWARE
    metric: ["dram__bytes.sum", "dram__cycles_elapsed.avg.per_second", "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
             "sm__warps_active.sum", "sm__cycles_active.avg"] }
  device_peaks { device_id: 0 peak { metric: "dram__bytes.sum.peak_sustained" value: 100
    clock_metric: "dram__cycles_elapsed.avg.per_second" } }
)";
// 200,000 bytes; 32 of 64 warps over 6,000 cycles of 10 SMs.
constexpr char kSamples[] = R"(counter_batch { count: 1 group_iid: 1 session_id: 1 window_id: 2
  base_enter_monotonic_ns: 5500000 enter_delta: 0 signature_iid: 1 metric_count: 5
  integer_value: [200000, 1000000000, 4096, 1920000, 6000] })";

class ManifestEmitTest : public ::testing::Test {
 protected:
  EmittedKernel Emit(const std::vector<std::string>& packets) {
    TraceImporter importer({});
    importer.Import(PacketFromText(kTrace));
    for (const std::string& packet : packets) importer.Import(PacketFromText(packet));
    importer.Import(PacketFromText("trailer { reason: REASON_EXIT end { cupti_ns: 7000000 monotonic_ns: 7000000 } }"));
    models_.clear();
    models_.push_back(importer.Finish());
    models_[0].path = "run.pb";
    const std::vector<TracedKernel> kernels = FindKernels(models_[0], *NameFilter::Compile("gemm"));
    EXPECT_EQ(kernels.size(), 1u);
    return kernels.empty() ? EmittedKernel() : EmitKernel(models_[0], kernels[0]);
  }
  std::vector<TraceModel> models_;
};

TEST_F(ManifestEmitTest, HoldsLaunchDeviceWorkSamplesAndCounters) {
  const EmittedKernel emitted = Emit({KernelPackets(1, 40), kSamples});
  const v1::Manifest& manifest = emitted.manifest;
  EXPECT_EQ(manifest.case_id(), "gemm-grid-70x1x1-block-256x1x1");
  EXPECT_EQ(manifest.machine().gpu_model(), "GPU");
  EXPECT_EQ(manifest.machine().sm_count(), 10);
  EXPECT_EQ(manifest.schedule().grid().x(), 70);
  EXPECT_EQ(manifest.schedule().registers_per_thread(), 40);
  EXPECT_EQ(manifest.schedule().shared_memory_per_block_bytes(), 3072);
  EXPECT_FALSE(manifest.schedule().has_carveout_percent());
  ASSERT_EQ(manifest.roofline_size(), 1);
  EXPECT_EQ(manifest.roofline(0).work(0).path(), "tensor_bf16_fp32");
  EXPECT_EQ(manifest.roofline(0).work(0).flops(), 4096);
  EXPECT_EQ(manifest.roofline(0).traffic(0).bytes(), 200000);
  const v1::Observation& observation = emitted.observation;
  // Three are warm-up, one is next to a switch of windows.
  EXPECT_EQ(observation.timing().sample_seconds_size(), 36);
  EXPECT_DOUBLE_EQ(observation.timing().sample_seconds(0), 4e-6);
  EXPECT_EQ(observation.profiler().counter_size(), 5);
  EXPECT_EQ(observation.profiler().command(), "python3 try.py");
  EXPECT_DOUBLE_EQ(observation.result().achieved_memory_bytes_per_second(), 200000 / 4e-6);
  EXPECT_DOUBLE_EQ(observation.result().achieved_occupancy_ratio(), 0.5);
}

TEST_F(ManifestEmitTest, TheManifestIsTakenAsItIs) {
  const EmittedKernel emitted = Emit({KernelPackets(1, 40), kSamples});
  const v1::Manifest read = FromText<v1::Manifest>(ManifestText(emitted));
  const v1::ModelReport report = BuildModelReport(read, {});
  for (const v1::Fault& fault : report.fault()) ADD_FAILURE() << fault.where() << ": " << fault.text();
  EXPECT_THAT(report.mismatch(), IsEmpty());
  // 200,000 bytes at 100 GB/s.
  EXPECT_DOUBLE_EQ(report.derived().lower_bound_seconds(), 2e-6);
  EXPECT_EQ(report.derived().exact_occupancy().resident_blocks_per_sm(), 6);
  // And as R0, it is of the kernel that it was written of.
  const auto bounds = BoundsOfManifest(read, *NameFilter::Compile("gemm"), models_);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  EXPECT_DOUBLE_EQ(bounds->begin()->second.ns, 2000);
}

TEST_F(ManifestEmitTest, TheObservationLacksOnlyWhatNoTraceKnows) {
  const EmittedKernel emitted = Emit({KernelPackets(1, 40), kSamples});
  v1::Manifest manifest = FromText<v1::Manifest>(ManifestText(emitted));
  v1::Observation observation = FromText<v1::Observation>(ObservationText(emitted));
  const v1::ModelReport refused = BuildModelReport(manifest, {.observation = &observation});
  const std::vector<std::string> refusals(refused.reconciliation().refusal().begin(),
                                          refused.reconciliation().refusal().end());
  EXPECT_THAT(absl::StrJoin(refusals, "\n"), HasSubstr("error"));
  EXPECT_THAT(refusals, Not(Contains(HasSubstr("sample"))));
  EXPECT_THAT(refusals, Not(Contains(HasSubstr("profiler"))));

  // What a person adds.
  observation.mutable_numerical_check()->set_tolerance(0.01);
  observation.mutable_numerical_check()->set_error(0.001);
  observation.set_selected_backend("cuBLAS");
  v1::DispatchKey* key = observation.mutable_dispatch_key();
  key->set_framework("PyTorch");
  key->set_backend("cuBLAS");
  key->set_route("eager");
  *key->add_tensor() = FromText<v1::DispatchKey::TensorKey>("name: 'A' shape: [4] stride: [1] dtype: 'bf16'");
  const v1::ModelReport taken = BuildModelReport(manifest, {.observation = &observation});
  for (const std::string& refusal : taken.reconciliation().refusal()) ADD_FAILURE() << refusal;
  EXPECT_EQ(taken.reconciliation().status(), v1::CLAIM_LABEL_LOCALLY_MEASURED);
  EXPECT_DOUBLE_EQ(taken.reconciliation().residual_seconds(), 2e-6);
}

TEST_F(ManifestEmitTest, WhatIsNotKnownIsLeftOutAndNoted) {
  const EmittedKernel emitted = Emit({KernelPackets(1, 10)});
  EXPECT_THAT(emitted.manifest.roofline(), IsEmpty());
  EXPECT_FALSE(emitted.manifest.has_expected());
  EXPECT_THAT(emitted.manifest_notes, Contains(HasSubstr("dram__bytes.sum was not counted")));
  EXPECT_THAT(emitted.observation_notes, Contains(HasSubstr("no counter of this kernel was sampled")));
  EXPECT_THAT(emitted.observation_notes, Contains(HasSubstr("samples: 6 clean launches, 20 are asked for")));
  EXPECT_THAT(ManifestText(emitted), HasSubstr("# - operation: its equation, shapes, types"));
  const v1::ModelReport report = BuildModelReport(FromText<v1::Manifest>(ManifestText(emitted)), {});
  EXPECT_THAT(report.fault(), IsEmpty());
}

}  // namespace
}  // namespace gx::analysis
