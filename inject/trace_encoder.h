// Records -> bytes of one gpuexec.v1.Packet -> bytes of one gpuexec.v1.Frame, with protozero and generated field
// numbers. Owned and used by the writer thread alone. May throw std::bad_alloc: callers stand behind a boundary.
//
//   TraceEncoder encoder;
//   encoder.AddName(1, "axpy");
//   encoder.AddLaunch(launch);                       // collected into columns
//   std::string_view frame = encoder.FinishFrame();  // valid until the next call; "" where nothing was added
#ifndef GPUEXEC_INJECT_TRACE_ENCODER_H_
#define GPUEXEC_INJECT_TRACE_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "inject/record.h"
#include "inject/self_stats.h"

namespace gx::inject {

// The frame's magic number ("GXF1" in file order) and the fixed length of a frame's head: see proto/README.md.
inline constexpr uint32_t kFrameMagic = 0x31465847;
inline constexpr size_t kFrameHeadBytes = 26;

class TraceEncoder {
 public:
  TraceEncoder();
  ~TraceEncoder();
  TraceEncoder(const TraceEncoder&) = delete;
  TraceEncoder& operator=(const TraceEncoder&) = delete;

  void SetHeader(const HeaderRecord& header);
  // Values of gpuexec.v1.Trailer.Reason.
  void SetTrailer(uint32_t reason, const ClockPairRecord& end);

  void AddName(uint64_t iid, std::string_view value);
  void AddDevice(const DeviceRecord& device);
  void AddContext(const ContextRecord& context);
  void AddThread(uint64_t thread_id, std::string_view name);
  void AddTrack(const TrackRecord& track);
  void AddModule(const ModuleRecord& module);
  void AddFunction(const FunctionRecord& function);
  void AddSignature(const SignatureRecord& signature);
  void AddKernelAttributes(const KernelAttributesRecord& attributes);
  void AddNvtxDomain(uint64_t iid, std::string_view name);
  void AddGraphNode(const GraphNodeRecord& node);
  void AddGraphExec(const GraphExecRecord& exec);
  void AddWindow(const WindowRecord& window);
  void AddRecordGap(const RecordGapRecord& gap);
  void AddCounterGroup(const CounterGroupRecord& group);
  void AddCounterPlan(const CounterPlanRecord& plan);
  void AddCounterSession(const CounterSessionRecord& session);

  // Collected until FinishFrame, then written as columnar batches: launches by (thread, window), kernels by timing
  // class, copies by kind, NVTX events by thread, counter samples by session. Records keep their order inside a batch.
  void AddLaunch(const LaunchRecord& launch);
  void AddKernel(const KernelRecord& kernel);
  void AddMemory(const MemoryRecord& memory);
  void AddSynchronization(const SynchronizationRecord& synchronization);
  void AddOverhead(const OverheadRecord& overhead);
  void AddApiFunction(const ApiFunctionRecord& function);
  void AddApiCall(const ApiCallRecord& call);
  void AddNvtxEvent(const NvtxEventRecord& event);
  // One without values says nothing and is not added.
  void AddCounterSample(const CounterSampleRecord& sample);

  void AddDeviceSample(const DeviceSampleRecord& sample);
  void AddClockPair(const ClockPairRecord& pair);
  void SetStats(const SelfStats& stats);
  void AddDiagnostic(StatId stat, std::string_view text);
  void AddKernelSummary(const KernelSummaryRecord& summary);
  void AddLaunchSummary(uint64_t signature_iid, uint64_t count);
  void AddCounterAccess(const CounterAccessRecord& access);
  void AddCounterDenial(const CounterDenialRecord& denial);
  void AddDevicePeaks(const DevicePeaksRecord& peaks);
  void AddWindowClocks(const WindowClocksRecord& clocks);

  // Bytes gathered so far, about: the owner finishes a frame at 1 MiB or once a second.
  size_t PendingBytes() const;

  // Builds the frame, numbers it, and starts the next one. The view lives until the next call of any member.
  std::string_view FinishFrame();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_TRACE_ENCODER_H_
