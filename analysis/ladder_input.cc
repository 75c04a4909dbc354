#include "analysis/ladder_input.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/model/ladder_resource.h"
#include "analysis/model/ladder_stalls.h"
#include "analysis/model/peaks.h"
#include "analysis/signature_clock.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

using model::LadderResource;
using model::ResourceKind;

constexpr double kLanes = 32;
// Tensor pipe cycles of one packed half-precision warp instruction: 2,048 of 1,024 on an H200.
constexpr double kTensorCyclesPerPackedHalf = 2;
// Dense operands never take fewer pipe cycles than their rate says; sparse ones take half. In between: sparse.
constexpr double kSparseRatio = 1.25;
// Bytes that one wavefront of L1 or shared memory moves.
constexpr double kWavefrontBytes = 128;
constexpr double kSectorBytes = 32;

enum class Clock { kSm, kL2, kDram };

struct CountedResource {
  ResourceKind kind;
  absl::string_view metric;
  Clock clock;
};

// The tensor operations are apart: one metric for each path.
constexpr CountedResource kResources[] = {
    {ResourceKind::kDram, "dram__bytes", Clock::kDram},
    {ResourceKind::kL2Lookup, "lts__t_sectors", Clock::kL2},
    {ResourceKind::kL2DataOut, "lts__lts2xbar_cycles_active", Clock::kL2},
    {ResourceKind::kL2DataIn, "lts__xbar2lts_cycles_active", Clock::kL2},
    {ResourceKind::kL2Fabric, "lts__ltcfabric2lts_cycles_active", Clock::kL2},
    {ResourceKind::kL2Atomics, "lts__d_atomic_input_cycles_active", Clock::kL2},
    {ResourceKind::kSmPort, "l1tex__m_xbar2l1tex_read_bytes", Clock::kSm},
    {ResourceKind::kL1Data, "l1tex__data_pipe_lsu_wavefronts", Clock::kSm},
    {ResourceKind::kIssue, "smsp__inst_executed", Clock::kSm},
    {ResourceKind::kLsuPipe, "sm__inst_executed_pipe_lsu", Clock::kSm},
    {ResourceKind::kAluPipe, "sm__inst_executed_pipe_alu", Clock::kSm},
    {ResourceKind::kFmaPipe, "sm__inst_executed_pipe_fma", Clock::kSm},
    {ResourceKind::kXuPipe, "sm__inst_executed_pipe_xu", Clock::kSm},
    {ResourceKind::kFp64Pipe, "sm__inst_executed_pipe_fp64", Clock::kSm},
    {ResourceKind::kTensorPipe, "sm__pipe_tensor_cycles_active", Clock::kSm},
};

// What the path's name says -> its ceiling.
struct TensorType {
  absl::string_view source;
  pb::CeilingResource resource;
  model::RatePath rate;
};
constexpr TensorType kTensorTypes[] = {
    {"src_bf16", pb::CEILING_RESOURCE_TENSOR_BF16, model::kTensorBf16Fp32},
    {"src_fp16", pb::CEILING_RESOURCE_TENSOR_FP16, model::kTensorFp16Fp32},
    {"src_tf32", pb::CEILING_RESOURCE_TENSOR_TF32, model::kTensorTf32Fp32},
    {"src_fp8", pb::CEILING_RESOURCE_TENSOR_FP8, model::kTensorFp8Fp32},
    {"src_int8", pb::CEILING_RESOURCE_TENSOR_INT8, model::kTensorInt8Int32},
    {"src_fp64", pb::CEILING_RESOURCE_TENSOR_FP64, model::kTensorFp64Fp64},
};

class Builder {
 public:
  Builder(const LadderFacts& facts, CounterCorner corner) : facts_(facts), corner_(corner) {}

  absl::StatusOr<LadderEvidence> Build() {
    if (!(facts_.time_ns > 0)) {
      return absl::InvalidArgumentError(absl::StrCat("time_ns: got ", facts_.time_ns, ", expected above 0"));
    }
    evidence_.input.time_ns = facts_.time_ns;
    if (!facts_.is_communication) evidence_.input.compulsory_ns = facts_.compulsory_ns;
    AddCalibration();
    const bool clocks_known = AddClocks();
    if (facts_.is_communication) {
      evidence_.notes.emplace_back("communication: its time is waiting for others, so no resource is given");
      return std::move(evidence_);
    }
    if (facts_.counters.empty()) {
      evidence_.unmeasured.emplace_back("all rungs: no counter was sampled");
      return std::move(evidence_);
    }
    if (!clocks_known) {
      evidence_.unmeasured.emplace_back("all rungs: the device's maximum SM clock is not in the trace");
      return std::move(evidence_);
    }
    if (absl::Status status = AddResources(); !status.ok()) return status;
    if (absl::Status status = AddUseful(); !status.ok()) return status;
    AddActive();
    AddStalls();
    return std::move(evidence_);
  }

 private:
  const CountedMetric* FindMetric(absl::string_view name) const {
    for (const CountedMetric& metric : facts_.counters) {
      if (metric.name == name) return &metric;
    }
    return nullptr;
  }
  // At the corner that is asked for. A counted clock or a peak is no count: it is the median at all of them.
  double ValueOf(const CountedMetric& metric) const {
    if (corner_ == CounterCorner::kMedian || absl::EndsWith(metric.name, ".per_second") ||
        absl::EndsWith(metric.name, ".peak_sustained")) {
      return metric.median;
    }
    return corner_ == CounterCorner::kLow ? metric.min : metric.max;
  }
  std::optional<double> Find(absl::string_view name) const {
    const CountedMetric* metric = FindMetric(name);
    return metric == nullptr ? std::nullopt : std::optional<double>(ValueOf(*metric));
  }
  std::optional<double> FindIn(uint64_t group, absl::string_view name) const {
    for (const CountedMetric& metric : facts_.counters) {
      if (metric.group == group && metric.name == name) return ValueOf(metric);
    }
    return std::nullopt;
  }
  double OrZero(absl::string_view name) const { return Find(name).value_or(0); }

  // Of patched code; 0 also where it was not counted.
  double SharedWavefronts() const {
    double wavefronts = 0;
    for (const absl::string_view op : {"ld", "st", "ldsm", "stsm", "ldgsts"}) {
      wavefronts += OrZero(absl::StrCat("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_", op, ".sum"));
    }
    return wavefronts;
  }

  // Of the device's packet, else as a metric of a group.
  std::optional<double> Peak(absl::string_view metric) const {
    const std::string name = absl::StrCat(metric, ".sum.peak_sustained");
    const auto found = facts_.peaks.find(name);
    const std::optional<double> peak = found == facts_.peaks.end() ? Find(name) : std::optional<double>(found->second);
    return peak.has_value() && *peak > 0 ? peak : std::nullopt;
  }

  void AddCalibration() {
    if (facts_.machine == nullptr) {
      evidence_.unmeasured.emplace_back(
          "sustained rates, launch and drain, tracing, unloaded latencies: no machine file of this device");
      return;
    }
    const std::optional<TracingCost> cost = FitTracingCost(*facts_.machine);
    if (const std::optional<double> empty_ns = EmptyKernelNs(*facts_.machine, facts_.shape); empty_ns.has_value()) {
      // The empty kernel was recorded, too: what that adds is in `tracing` already.
      const double recorded_ns = cost.has_value() ? TracingNs(*cost, 1) : 0;
      evidence_.input.launch_ns = std::max(0.0, *empty_ns - recorded_ns);
      const std::optional<double> idle_ns = IdleLaunchNs(*facts_.machine, facts_.shape);
      if (idle_ns.has_value()) evidence_.input.idle_launch_ns = std::max(0.0, *idle_ns - recorded_ns);
    } else {
      evidence_.unmeasured.emplace_back("launch and drain: the machine file has no recorded empty kernels");
    }
    if (!cost.has_value()) {
      evidence_.unmeasured.emplace_back("tracing: the machine file has no tracing bias");
    } else if (!facts_.waves.has_value()) {
      evidence_.unmeasured.emplace_back("tracing: the number of waves of this launch is not known");
    } else {
      evidence_.input.tracing_ns = TracingNs(*cost, std::max<uint64_t>(1, *facts_.waves), facts_.shape, facts_.time_ns);
    }
  }

  // False: without the maximum there is nothing that counts could be held against.
  bool AddClocks() {
    model::LadderClocks& clocks = evidence_.input.clocks;
    if (facts_.max_sm_clock_hz.value_or(0) <= 0) {
      // The ladder asks for one; nothing is divided by it.
      clocks.max_hz = 1e9;
      return false;
    }
    clocks.max_hz = *facts_.max_sm_clock_hz;
    clocks.counted_hz = Find("gpc__cycles_elapsed.avg.per_second");
    if (clocks.counted_hz.value_or(0) <= 0) clocks.counted_hz.reset();
    SignatureClockInput clock;
    clock.counted_hz = clocks.counted_hz;
    if (facts_.timed_sm_clock_hz.has_value()) clock.timing_windows_hz = {*facts_.timed_sm_clock_hz};
    if (facts_.counter_window_sm_clock_hz.has_value()) clock.counter_windows_hz = {*facts_.counter_window_sm_clock_hz};
    clock.max_hz = clocks.max_hz;
    clocks.timed_hz = SignatureClockHz(clock);
    if (clocks.timed_hz.has_value() && corner_ != CounterCorner::kMedian) {
      // The least work is that of the highest clock.
      const double error = corner_ == CounterCorner::kLow ? kSignatureClockErrorRatio : -kSignatureClockErrorRatio;
      clocks.timed_hz = std::min(clocks.max_hz, *clocks.timed_hz * (1 + error));
    }
    if (!clocks.timed_hz.has_value() && !facts_.is_communication) {
      evidence_.unmeasured.emplace_back(
          "clock: no window with timings has a reading of the SM clock; taken as the maximum");
    }
    return true;
  }

  // The clock that counts are divided by; absent where it was not counted.
  std::optional<double> HzOf(Clock clock, bool* on_sm_clock) const {
    const model::LadderClocks& clocks = evidence_.input.clocks;
    *on_sm_clock = clock == Clock::kSm;
    if (clock == Clock::kSm) return clocks.max_hz;
    if (clock == Clock::kDram) return Find("dram__cycles_elapsed.avg.per_second");
    const std::optional<double> l2_hz = Find("lts__cycles_elapsed.avg.per_second");
    const bool follows = facts_.machine != nullptr && facts_.machine->l2_clock_follows_sm_clock();
    if (!follows || !l2_hz.has_value() || clocks.counted_hz.value_or(0) <= 0) return l2_hz;
    *on_sm_clock = true;
    return *l2_hz * clocks.max_hz / *clocks.counted_hz;
  }

  // What is known of a resource whose own counter was not sampled: at least so much. Absent where nothing is.
  std::optional<CountedMetric> CountedOtherwise(LadderResource* resource) {
    double count = 0;
    absl::string_view note;
    const auto threads = [this](absl::string_view a, absl::string_view b, absl::string_view c) {
      double sum = 0;
      for (const absl::string_view op : {a, b, c}) {
        sum += OrZero(absl::StrCat("smsp__sass_thread_inst_executed_op_", op, "_pred_on.sum"));
      }
      return sum;
    };
    switch (resource->kind) {
      case ResourceKind::kL1Data:
        count = SharedWavefronts();
        note = "L1/shared data: wavefronts of shared memory alone, from patched code";
        break;
      case ResourceKind::kL2DataIn:
        count = WrittenSectors();
        note = "L2 data in: sectors that SMs write, without their requests to read";
        break;
      case ResourceKind::kFp64Pipe:
        count = threads("dadd", "dmul", "dfma") / kLanes;
        resource->only_useful = true;
        note = "fp64 pipe: operations of patched code, 32 to an instruction";
        break;
      case ResourceKind::kFmaPipe:
        count = threads("fadd", "fmul", "ffma") / kLanes;
        resource->only_useful = true;
        note = "fma pipe: single-precision operations of patched code, 32 to an instruction";
        break;
      default:
        break;
    }
    if (!(count > 0)) return std::nullopt;
    evidence_.notes.emplace_back(note);
    return CountedMetric{.group = 0, .name = "", .median = count, .min = count, .max = count};
  }

  // To L2, by SMs.
  double WrittenSectors() const {
    return std::max(
        0.0, OrZero("lts__t_sectors_srcunit_tex.sum") -
                 Find("lts__t_sectors_srcunit_tex_op_read.sum").value_or(OrZero("lts__t_sectors_srcunit_tex.sum")));
  }

  // Of L2: each takes in a sector a cycle.
  std::optional<double> SliceCount() const {
    const CountedMetric* sum = FindMetric("lts__t_sectors.sum");
    if (sum == nullptr || !(sum->median > 0)) return std::nullopt;
    const std::optional<double> mean = FindIn(sum->group, "lts__t_sectors.avg");
    return mean.value_or(0) > 0 ? std::optional<double>(std::round(ValueOf(*sum) / *mean)) : std::nullopt;
  }

  // Of one resource at the device's maximum SM clock; no resource where count, peak or clock is missing.
  absl::Status AddResource(const CountedResource& counted) {
    LadderResource resource{.kind = counted.kind};
    const CountedMetric* sum = FindMetric(absl::StrCat(counted.metric, ".sum"));
    std::optional<CountedMetric> other;
    if (sum == nullptr) {
      other = CountedOtherwise(&resource);
      if (other.has_value()) sum = &*other;
    }
    std::optional<double> peak = Peak(counted.metric);
    if (!peak.has_value() && counted.kind == ResourceKind::kL2DataIn) peak = SliceCount();
    const std::optional<double> hz = HzOf(counted.clock, &resource.on_sm_clock);
    if (sum == nullptr || !peak.has_value() || hz.value_or(0) <= 0) {
      missing_.emplace_back(model::ResourceName(counted.kind));
      return absl::OkStatus();
    }
    double count = ValueOf(*sum);
    if (counted.kind == ResourceKind::kDram && corner_ == CounterCorner::kMedian && facts_.l2_cache_bytes.has_value() &&
        count < 2 * static_cast<double>(*facts_.l2_cache_bytes)) {
      count = sum->min;
    }
    if (counted.kind == ResourceKind::kTensorPipe) count = TensorCycles(count);
    const absl::StatusOr<double> work_ns = model::WorkNs(count, *peak, *hz);
    if (!work_ns.ok()) return Named(counted.metric, work_ns.status());
    resource.work_ns = *work_ns;
    const std::optional<double> max = FindIn(sum->group, absl::StrCat(counted.metric, ".max"));
    const std::optional<double> mean = FindIn(sum->group, absl::StrCat(counted.metric, ".avg"));
    if (max.has_value() && mean.value_or(0) > 0) {
      // Medians of different samples: the largest may come out below the mean.
      const absl::StatusOr<double> busiest_ns = model::BusiestNs(*work_ns, std::max(*max, *mean), *mean);
      if (!busiest_ns.ok()) return Named(counted.metric, busiest_ns.status());
      resource.busiest_ns = *busiest_ns;
    }
    resource.eta_ratio = EtaOf(counted.kind, *peak, *hz);
    evidence_.input.resources.Set(resource);
    return absl::OkStatus();
  }

  absl::Status AddResources() {
    for (const CountedResource& counted : kResources) {
      if (absl::Status status = AddResource(counted); !status.ok()) return status;
    }
    if (absl::Status status = AddTensorOperations(); !status.ok()) return status;
    if (!missing_.empty()) {
      evidence_.unmeasured.push_back(
          absl::StrCat("no resource for want of counts, peak or clock: ", absl::StrJoin(missing_, ", ")));
    }
    return absl::OkStatus();
  }

  static absl::Status Named(absl::string_view metric, const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat("metric '", metric, "': ", status.message()));
  }

  // Without those of packed half-precision instructions, which take the same pipe and are no tensor work.
  double TensorCycles(double cycles) {
    static constexpr absl::string_view kPackedHalf[] = {"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum",
                                                        "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum",
                                                        "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum"};
    double threads = 0;
    for (const absl::string_view name : kPackedHalf) {
      const std::optional<double> count = Find(name);
      if (!count.has_value()) {
        if (cycles > 0) {
          evidence_.notes.emplace_back("tensor pipe cycles hold those of packed half-precision instructions: no sass+");
        }
        return cycles;
      }
      threads += *count;
    }
    return std::max(0.0, cycles - kTensorCyclesPerPackedHalf * threads / kLanes);
  }

  absl::Status AddTensorOperations() {
    std::optional<LadderResource> longest;
    for (const CountedMetric& metric : facts_.counters) {
      absl::string_view path = metric.name;
      if (!absl::StartsWith(path, "sm__ops_path_tensor_") || !absl::EndsWith(path, ".sum")) continue;
      path.remove_suffix(4);
      const std::optional<double> peak = TensorPeak(path, metric);
      if (!peak.has_value()) {
        if (metric.median > 0) evidence_.notes.push_back(absl::StrCat("no peak of ", path, ": left out"));
        continue;
      }
      const absl::StatusOr<double> work_ns = model::WorkNs(ValueOf(metric), *peak, evidence_.input.clocks.max_hz);
      if (!work_ns.ok()) return Named(path, work_ns.status());
      if (longest.has_value() && longest->work_ns >= *work_ns) continue;
      longest = LadderResource{
          .kind = ResourceKind::kTensorOperations, .work_ns = *work_ns, .eta_ratio = TensorEta(path, *peak)};
    }
    if (longest.has_value()) {
      evidence_.input.resources.Set(*longest);
    } else {
      missing_.emplace_back(model::ResourceName(ResourceKind::kTensorOperations));
    }
    return absl::OkStatus();
  }

  // What CUPTI tells of wgmma paths on compute capability 9.0 is the rate of sparse operands, twice that of dense ones
  // (1,081,344 a cycle on an H200, of which dense BF16 reaches 541,209 at most). The dense rate counts, but where the
  // pipe was busy for fewer cycles than dense operands take.
  std::optional<double> TensorPeak(absl::string_view path, const CountedMetric& operations) const {
    const std::optional<double> peak = Peak(path);
    if (!peak.has_value() || !facts_.compute_capability.has_value() || facts_.multiprocessor_count.value_or(0) == 0) {
      return peak;
    }
    const auto sms = static_cast<double>(*facts_.multiprocessor_count);
    for (const TensorType& type : kTensorTypes) {
      if (!absl::StrContains(path, type.source)) continue;
      const auto rate = model::FindRate(*facts_.compute_capability, model::ProductClass::kProfessional, type.rate);
      if (!rate.ok()) return peak;
      const double dense = rate->operations_per_clock_per_sm * sms;
      const std::optional<double> cycles = FindIn(operations.group, "sm__pipe_tensor_cycles_active.sum");
      const std::optional<double> cycles_peak = Peak("sm__pipe_tensor_cycles_active");
      if (cycles.has_value() && cycles_peak.has_value() &&
          ValueOf(operations) / dense > kSparseRatio * *cycles / *cycles_peak) {
        return peak;
      }
      return std::min(*peak, dense);
    }
    return peak;
  }

  // Sustained over theoretical; a rate above the peak is the peak.
  static std::optional<double> Eta(std::optional<double> sustained, double peak) {
    if (!sustained.has_value() || !(*sustained > 0)) return std::nullopt;
    return std::min(1.0, *sustained / peak);
  }

  std::optional<double> TensorEta(absl::string_view path, double peak) const {
    if (facts_.machine == nullptr) return std::nullopt;
    for (const TensorType& type : kTensorTypes) {
      if (!absl::StrContains(path, type.source)) continue;
      const bool wgmma = absl::StrContains(path, "gmma_");
      const bool mma = absl::StrContains(path, "_op_") && !wgmma;
      const pb::CeilingPath by = wgmma ? pb::CEILING_PATH_WGMMA
                                 : mma ? pb::CEILING_PATH_MMA_SYNC
                                       : pb::CEILING_PATH_UNSPECIFIED;
      return Eta(SustainedPerSmCycle(*facts_.machine, type.resource, by), peak);
    }
    return std::nullopt;
  }

  std::optional<double> EtaOf(ResourceKind kind, double peak, double hz) const {
    if (facts_.machine == nullptr) return std::nullopt;
    const auto per_cycle = [this](pb::CeilingResource resource) {
      return SustainedPerSmCycle(*facts_.machine, resource, pb::CEILING_PATH_THREAD);
    };
    switch (kind) {
      case ResourceKind::kDram: {
        const std::optional<double> read = Find("dram__bytes_read.sum");
        const std::optional<double> write = Find("dram__bytes_write.sum");
        // Not known: as a copy.
        double read_share = 0.5;
        if (read.has_value() && write.has_value() && *read + *write > 0) read_share = *read / (*read + *write);
        return Eta(SustainedDramBytesPerCycle(*facts_.machine, read_share), peak);
      }
      case ResourceKind::kL2DataOut:
      case ResourceKind::kL2DataIn: {
        const std::optional<double> bytes = SustainedL2BytesPerSecond(*facts_.machine, kind == ResourceKind::kL2DataIn);
        return bytes.has_value() ? Eta(*bytes / kSectorBytes / hz, peak) : std::nullopt;
      }
      case ResourceKind::kL1Data: {
        const std::optional<double> l1 = per_cycle(pb::CEILING_RESOURCE_L1);
        const std::optional<double> shared = per_cycle(pb::CEILING_RESOURCE_SHARED);
        if (!l1.has_value() && !shared.has_value()) return std::nullopt;
        return Eta(std::max(l1.value_or(0), shared.value_or(0)) / kWavefrontBytes, peak);
      }
      case ResourceKind::kIssue:
        return Eta(per_cycle(pb::CEILING_RESOURCE_ISSUE), peak);
      case ResourceKind::kFmaPipe:
      case ResourceKind::kFp64Pipe: {
        const std::optional<double> flops =
            per_cycle(kind == ResourceKind::kFmaPipe ? pb::CEILING_RESOURCE_FP32 : pb::CEILING_RESOURCE_FP64);
        // Two operations a lane.
        return flops.has_value() ? Eta(*flops / (2 * kLanes), peak) : std::nullopt;
      }
      case ResourceKind::kXuPipe: {
        const std::optional<double> operations = per_cycle(pb::CEILING_RESOURCE_SPECIAL_FUNCTION);
        return operations.has_value() ? Eta(*operations / kLanes, peak) : std::nullopt;
      }
      default:
        // No ceiling is of this count.
        return std::nullopt;
    }
  }

  absl::Status AddUseful() {
    if (!Find("smsp__sass_inst_executed.sum").has_value() ||
        !Find("smsp__sass_data_bytes_mem_global_op_ld.sum").has_value()) {
      evidence_.unmeasured.emplace_back("useful work and residual: patched code was not counted (group sass+)");
      return absl::OkStatus();
    }
    const model::CountedWork counted = Counted();
    const model::RequestedWork requested = Requested(counted);
    if (absl::Status status = model::CheckWork(counted, requested); !status.ok()) return status;
    model::LadderResources& resources = evidence_.input.resources;
    absl::StatusOr<model::Excess> excess =
        model::ExcessOf(absl::MakeConstSpan(resources.data(), resources.size()), counted, requested);
    if (!excess.ok()) return excess.status();
    evidence_.excess = *std::move(excess);
    evidence_.counted = counted;
    evidence_.requested = requested;
    model::SetUseful(model::RatiosWithout(counted, requested, model::FactorSet::All()), &resources);
    return absl::OkStatus();
  }

  model::CountedWork Counted() const {
    return {.dram_read_bytes = OrZero("dram__bytes_read.sum"),
            .dram_write_bytes = OrZero("dram__bytes_write.sum"),
            .l2_sectors = OrZero("lts__t_sectors.sum"),
            .l2_sm_sectors = OrZero("lts__t_sectors_srcunit_tex.sum"),
            .l2_written_sectors = WrittenSectors(),
            .l1_wavefronts = Find("l1tex__data_pipe_lsu_wavefronts.sum").value_or(SharedWavefronts()),
            .instructions = OrZero("smsp__inst_executed.sum"),
            .lsu_instructions = OrZero("sm__inst_executed_pipe_lsu.sum")};
  }

  model::RequestedWork Requested(const model::CountedWork& counted) {
    const auto sass = [this](absl::string_view rest) { return OrZero(absl::StrCat("smsp__sass_", rest, ".sum")); };
    model::RequestedWork work;
    const double loaded = sass("data_bytes_mem_global_op_ld");
    const double stored = sass("data_bytes_mem_global_op_st");
    const double local = sass("data_bytes_mem_local");
    const double atomic = sass("data_bytes_mem_global_op_atom") + sass("data_bytes_mem_global_op_red");
    work.global_data_bytes = loaded + stored;
    work.global_sectors =
        sass("l1tex_t_sectors_pipe_lsu_mem_global_op_ld") + sass("l1tex_t_sectors_pipe_lsu_mem_global_op_st");
    work.global_store_sectors = sass("l1tex_t_sectors_pipe_lsu_mem_global_op_st");
    work.global_instructions = sass("inst_executed_op_global_ld") + sass("inst_executed_op_global_st");
    work.requested_read_bytes = loaded + local + atomic + sass("data_bytes_mem_global_op_ldgsts");
    work.stored_bytes = stored + local + atomic;
    // How many bytes bulk copies move is not counted: nothing that they may have caused is excess.
    if (sass("inst_executed_op_tma") + sass("inst_executed_op_tma_ld") + sass("inst_executed_op_tma_st") > 0) {
      work.requested_read_bytes = std::max(work.requested_read_bytes, counted.dram_read_bytes);
      work.stored_bytes = std::max(work.stored_bytes, counted.dram_write_bytes);
      work.l2_fixed_sectors = std::max(0.0, counted.l2_sectors - work.global_sectors);
      evidence_.notes.emplace_back("bulk copies (TMA): their bytes are not counted and taken as useful");
    }
    work.shared_wavefronts = SharedWavefronts();
    work.shared_instructions =
        sass("inst_executed_op_shared_ld") + sass("inst_executed_op_shared_st") + sass("inst_executed_op_ldsm");
    work.shared_data_bytes = sass("data_bytes_mem_shared");
    work.local_instructions = sass("inst_executed_op_local_ld") + sass("inst_executed_op_local_st");
    work.local_sectors = sass("sectors_mem_local");
    // Of loads and stores together; by their instructions.
    if (work.local_instructions > 0) {
      work.local_store_sectors = work.local_sectors * (sass("inst_executed_op_local_st") / work.local_instructions);
    }
    const double l1_sectors = OrZero("l1tex__t_sectors.sum");
    if (l1_sectors > 0) {
      work.local_miss_ratio = std::clamp(1 - OrZero("l1tex__t_sectors_lookup_hit.sum") / l1_sectors, 0.0, 1.0);
    }
    work.warp_instructions = sass("inst_executed");
    work.thread_instructions = sass("thread_inst_executed");
    return work;
  }

  void AddActive() {
    const CountedMetric* max = FindMetric("sm__cycles_active.max");
    if (max == nullptr) {
      evidence_.unmeasured.emplace_back("idle SMs and closure: sm__cycles_active was not counted");
      return;
    }
    if (const std::optional<double> mean = FindIn(max->group, "sm__cycles_active.avg"); mean.has_value()) {
      evidence_.input.active = model::ActiveCycles{.max = std::max(ValueOf(*max), *mean), .mean = *mean};
    }
    const CountedMetric* cycles = FindMetric("smsp__cycles_active.sum");
    if (cycles == nullptr || facts_.multiprocessor_count.value_or(0) == 0) return;
    const std::optional<double> issue = FindIn(cycles->group, "smsp__issue_active.sum");
    if (!issue.has_value()) return;
    constexpr double kSchedulersPerSm = 4;
    evidence_.input.no_issue_cycles = std::max(0.0, ValueOf(*cycles) - *issue) /
                                      (kSchedulersPerSm * static_cast<double>(*facts_.multiprocessor_count));
  }

  void AddStalls() {
    model::WarpShares shares;
    bool any = false;
    for (size_t i = 0; i < model::kStallReasonCount; ++i) {
      const auto reason = static_cast<model::StallReason>(i);
      const CountedMetric* stalled =
          FindMetric(absl::StrCat("smsp__warps_issue_stalled_", model::StallReasonName(reason), ".sum"));
      if (stalled == nullptr) continue;
      const std::optional<double> active = FindIn(stalled->group, "sm__warps_active.sum");
      if (active.value_or(0) <= 0) continue;
      shares.stalled[reason] = std::min(1.0, ValueOf(*stalled) / *active);
      any = true;
    }
    if (!any) {
      evidence_.unmeasured.emplace_back("sync, latency, queue, overlap: no stall reasons were counted (set lean)");
      return;
    }
    if (const CountedMetric* issued = FindMetric("smsp__inst_executed.sum"); issued != nullptr) {
      const std::optional<double> active = FindIn(issued->group, "sm__warps_active.sum");
      if (active.value_or(0) > 0) shares.selected = std::min(1.0, ValueOf(*issued) / *active);
    }
    if (!model::CheckWarpShares(shares).ok()) return;
    evidence_.warp_shares = shares;
    double lambda = model::kAssumedLatencyRatio;
    if (const std::optional<double> counted = LatencyRatio(); counted.has_value()) {
      lambda = *counted;
    } else {
      evidence_.input.assumes_unloaded_latency = true;
      evidence_.unmeasured.emplace_back("latency of a load: taken as unloaded (group lat and a machine file)");
    }
    evidence_.latency_ratio = lambda;
    const model::StallShares no_issue = model::NoIssueShares(shares);
    evidence_.input.uncontended_ratio = model::UncontendedRatio(shares, lambda);
    evidence_.input.sync_ratio = model::SyncRatio(no_issue);
    const LadderResource* tensor = evidence_.input.resources.Find(ResourceKind::kTensorPipe);
    bool tensor_binds = tensor != nullptr && tensor->work_ns > 0;
    for (const LadderResource& resource : evidence_.input.resources) {
      tensor_binds = tensor_binds && resource.work_ns <= tensor->work_ns;
    }
    evidence_.input.queue_ratio = model::QueueRatio(no_issue, lambda, tensor_binds);
    if (!evidence_.input.uncontended_ratio.has_value()) {
      evidence_.unmeasured.emplace_back(
          "latency, overlap: long and short scoreboard or barrier stalls were not counted");
    }
    if (!evidence_.input.sync_ratio.has_value()) {
      evidence_.unmeasured.emplace_back("sync: barrier stalls were not counted");
    }
    if (!evidence_.input.queue_ratio.has_value()) {
      evidence_.unmeasured.emplace_back("queue: throttle stalls were not counted");
    }
  }

  std::optional<double> LatencyRatio() const {
    if (facts_.machine == nullptr) return std::nullopt;
    const CountedMetric* executed = FindMetric("sm__inst_executed_pipe_lsu_mem_lg_cmd_read.sum");
    if (executed == nullptr || !(ValueOf(*executed) > 0)) return std::nullopt;
    const std::optional<double> pending = FindIn(executed->group, "sm__inst_pending_pipe_lsu_mem_lg_cmd_read.sum");
    const std::optional<double> sectors = Find("l1tex__t_sectors.sum");
    const std::optional<double> hits = Find("l1tex__t_sectors_lookup_hit.sum");
    const std::optional<double> l2_reads = Find("lts__t_sectors_srcunit_tex_op_read.sum");
    const std::optional<double> dram_reads = Find("dram__bytes_read.sum");
    const std::optional<double> l1 = UnloadedCycles(*facts_.machine, pb::LATENCY_LEVEL_L1);
    const std::optional<double> l2 = UnloadedCycles(*facts_.machine, pb::LATENCY_LEVEL_L2);
    const std::optional<double> dram = UnloadedCycles(*facts_.machine, pb::LATENCY_LEVEL_DRAM);
    if (pending.value_or(0) <= 0 || !(sectors.value_or(0) > 0) || !hits || !l2_reads || !dram_reads || !l1 || !l2 ||
        !dram) {
      return std::nullopt;
    }
    const double miss = *l2_reads > 0 ? std::min(1.0, *dram_reads / (kSectorBytes * *l2_reads)) : 0;
    const absl::StatusOr<model::LatencyRatio> ratio =
        model::ComputeLatencyRatio({.observed_cycles = *pending / ValueOf(*executed),
                                    .l1_cycles = *l1,
                                    .l2_cycles = *l2,
                                    .dram_cycles = *dram,
                                    .l1_hit_ratio = std::clamp(*hits / *sectors, 0.0, 1.0),
                                    .l2_miss_ratio = miss});
    return ratio.ok() ? std::optional<double>(ratio->ratio) : std::nullopt;
  }

  const LadderFacts& facts_;
  const CounterCorner corner_;
  LadderEvidence evidence_;
  std::vector<std::string> missing_;
};

}  // namespace

absl::StatusOr<LadderEvidence> BuildLadderInput(const LadderFacts& facts, CounterCorner corner) {
  return Builder(facts, corner).Build();
}

absl::string_view ResourceMetric(model::ResourceKind kind) noexcept {
  for (const CountedResource& resource : kResources) {
    if (resource.kind == kind) return resource.metric;
  }
  return "";
}

bool IsCommunicationName(absl::string_view mangled_name) {
  static constexpr absl::string_view kParts[] = {"nccl",          "nvshmem",        "deep_ep",         "mscclpp",
                                                 "allreduce",     "all_reduce",     "allgather",       "all_gather",
                                                 "reducescatter", "reduce_scatter", "alltoall",        "all_to_all",
                                                 "sendrecv",      "multimem",       "on_stream_kernel"};
  const std::string lower = absl::AsciiStrToLower(mangled_name);
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&lower](absl::string_view part) { return absl::StrContains(lower, part); });
}

}  // namespace gx::analysis
