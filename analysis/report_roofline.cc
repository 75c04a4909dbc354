#include "analysis/report_roofline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "analysis/machine_ceilings.h"
#include "analysis/model/peaks.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

// Also what a slice sends in one cycle of one of its two ports: an H200 sustains 98 % of that.
constexpr double kSectorBytes = 32;
// What one wavefront of L1 or shared memory moves.
constexpr double kWavefrontBytes = 128;
constexpr char kTensorPrefix[] = "sm__ops_path_tensor_";

// Operations of one thread instruction; those of half precision are counted once and do two lanes' work, as packed code
// does (checked on an H200).
struct ScalarPath {
  absl::string_view name;
  // d, f, h of "..._op_dadd_pred_on".
  absl::string_view letter;
  double lanes;
  model::RatePath rate;
  pb::CeilingResource ceiling;
};
constexpr ScalarPath kScalarPaths[] = {
    {"fp64", "d", 1, model::kFp64Fma, pb::CEILING_RESOURCE_FP64},
    {"fp32", "f", 1, model::kFp32Fma, pb::CEILING_RESOURCE_FP32},
    {"fp16", "h", 2, model::kFp16Fma, pb::CEILING_RESOURCE_FP16},
};

// What the name of a tensor path says. Integer paths are no floating-point operations.
struct TensorPath {
  absl::string_view words;
  model::RatePath rate;
  pb::CeilingResource ceiling;
};
constexpr TensorPath kTensorPaths[] = {
    {"src_bf16", model::kTensorBf16Fp32, pb::CEILING_RESOURCE_TENSOR_BF16},
    {"src_fp16_dst_fp16", model::kTensorFp16Fp16, pb::CEILING_RESOURCE_TENSOR_FP16},
    {"src_fp16", model::kTensorFp16Fp32, pb::CEILING_RESOURCE_TENSOR_FP16},
    {"src_tf32", model::kTensorTf32Fp32, pb::CEILING_RESOURCE_TENSOR_TF32},
    {"src_fp8", model::kTensorFp8Fp32, pb::CEILING_RESOURCE_TENSOR_FP8},
    {"src_fp64", model::kTensorFp64Fp64, pb::CEILING_RESOURCE_TENSOR_FP64},
};

class Builder {
 public:
  explicit Builder(const RooflineFacts& facts) : facts_(facts) {
    row_.time_ns = facts.time_ns;
    row_.other_device = facts.machine != nullptr && facts.machine_is_of_other_device;
  }

  std::optional<RooflineRow> Build() {
    if (!(facts_.time_ns > 0)) return std::nullopt;
    AddPaths();
    AddLevels();
    if (row_.paths.empty() && row_.levels.empty()) return std::nullopt;
    return std::move(row_);
  }

 private:
  std::optional<double> Find(const std::string& name) const {
    const auto found = facts_.counters.find(name);
    if (found == facts_.counters.end() || !std::isfinite(found->second) || found->second < 0) return std::nullopt;
    return found->second;
  }
  std::optional<double> Peak(const std::string& metric) const {
    const std::string name = absl::StrCat(metric, ".peak_sustained");
    const auto found = facts_.peaks.find(name);
    const std::optional<double> peak = found == facts_.peaks.end() ? Find(name) : std::optional<double>(found->second);
    return peak.has_value() && *peak > 0 ? peak : std::nullopt;
  }
  double PerSecond(double count) const { return count / facts_.time_ns * 1e9; }

  std::optional<Roof> TheoreticalFlops(const model::RatePath& path) const {
    if (!facts_.multiprocessor_count.has_value() || facts_.max_sm_clock_hz.value_or(0) <= 0) return std::nullopt;
    const auto rate = model::FindRate(
        {static_cast<int>(facts_.compute_capability_major), static_cast<int>(facts_.compute_capability_minor)},
        model::ProductClass::kUnknown, path);
    if (!rate.ok()) return std::nullopt;
    return Roof{
        rate->operations_per_clock_per_sm * static_cast<double>(*facts_.multiprocessor_count) * *facts_.max_sm_clock_hz,
        std::string(rate->source)};
  }
  std::optional<Roof> Empirical(std::optional<double> per_second) const {
    if (!per_second.has_value() || !(*per_second > 0)) return std::nullopt;
    return Roof{*per_second, "machine file"};
  }
  std::optional<Roof> Sustained(pb::CeilingResource resource, pb::CeilingPath path) const {
    if (facts_.machine == nullptr) return std::nullopt;
    return Empirical(SustainedPerSecond(*facts_.machine, resource, path));
  }

  void AddPath(RooflinePathRow row) {
    if (!(row.flops > 0)) return;
    row.flops_per_second = PerSecond(row.flops);
    flops_ += row.flops;
    row_.paths.push_back(std::move(row));
  }

  void AddPaths() {
    for (const ScalarPath& path : kScalarPaths) {
      const auto count = [&](absl::string_view operation) {
        return Find(absl::StrCat("smsp__sass_thread_inst_executed_op_", path.letter, operation, "_pred_on.sum"));
      };
      const std::optional<double> additions = count("add");
      const std::optional<double> products = count("mul");
      const std::optional<double> fused = count("fma");
      if (!additions.has_value() || !products.has_value() || !fused.has_value()) {
        flops_known_ = false;
        continue;
      }
      AddPath({.path = std::string(path.name),
               .flops = path.lanes * (*additions + *products + 2 * *fused),
               .theoretical = TheoreticalFlops(path.rate),
               .empirical = Sustained(path.ceiling, pb::CEILING_PATH_THREAD)});
    }
    bool tensor_counted = false;
    for (const auto& [name, operations] : facts_.counters) {
      absl::string_view path = name;
      if (!absl::ConsumePrefix(&path, kTensorPrefix) || !absl::ConsumeSuffix(&path, ".sum")) continue;
      if (absl::StrContains(path, "src_int") || !Find(name).has_value()) continue;
      tensor_counted |= operations > 0;
      AddTensorPath(path, operations);
    }
    // Something ran on the pipe that no path has counted.
    if (Find("sm__pipe_tensor_cycles_active.sum").value_or(0) > 0 && !tensor_counted) flops_known_ = false;
  }

  void AddTensorPath(absl::string_view path, double operations) {
    RooflinePathRow row{.path = absl::StrCat("tensor ", path), .flops = operations};
    for (const TensorPath& known : kTensorPaths) {
      if (!absl::StrContains(path, known.words)) continue;
      row.theoretical = TheoreticalFlops(known.rate);
      const pb::CeilingPath by = absl::StrContains(path, "gmma_") ? pb::CEILING_PATH_WGMMA
                                 : absl::StartsWith(path, "op_")  ? pb::CEILING_PATH_MMA_SYNC
                                                                  : pb::CEILING_PATH_UNSPECIFIED;
      row.empirical = Sustained(known.ceiling, by);
      break;
    }
    AddPath(std::move(row));
  }

  std::optional<Roof> CuptiRoof(const std::string& metric, double unit_bytes, std::optional<double> clock_hz) const {
    const std::optional<double> peak = Peak(metric);
    if (!peak.has_value() || clock_hz.value_or(0) <= 0) return std::nullopt;
    return Roof{*peak * unit_bytes * *clock_hz, absl::StrCat("CUPTI: ", metric, ".peak_sustained")};
  }

  void AddLevel(RooflineLevelRow row) {
    row.bytes_per_second = PerSecond(row.bytes);
    if (flops_known_ && row.bytes > 0) row.intensity_flops_per_byte = flops_ / row.bytes;
    row_.levels.push_back(std::move(row));
  }

  void AddCounted(absl::string_view level, const std::string& metric, double unit_bytes,
                  std::optional<Roof> theoretical, std::optional<Roof> empirical) {
    const std::optional<double> count = Find(metric);
    if (!count.has_value()) return;
    AddLevel({.level = std::string(level),
              .metric = metric,
              .bytes = *count * unit_bytes,
              .theoretical = std::move(theoretical),
              .empirical = std::move(empirical)});
  }

  void AddLevels() {
    const std::optional<double> read = Find("dram__bytes_read.sum");
    const std::optional<double> written = Find("dram__bytes_write.sum");
    std::optional<double> dram;
    if (facts_.machine != nullptr) {
      // Not known: as a copy.
      const double all = read.value_or(0) + written.value_or(0);
      dram = SustainedDramBytesPerSecond(*facts_.machine, read.has_value() && all > 0 ? *read / all : 0.5);
    }
    AddCounted("dram", "dram__bytes.sum", 1, CuptiRoof("dram__bytes.sum", 1, facts_.max_memory_clock_hz),
               Empirical(dram));
    // What slices send to SMs: lookups are faster than data. The L2's clock is its own, and nothing states its maximum:
    // that of the counted launches.
    AddCounted("l2", "lts__t_sectors_srcunit_tex.sum", kSectorBytes,
               CuptiRoof("lts__lts2xbar_cycles_active.sum", kSectorBytes, Find("lts__cycles_elapsed.avg.per_second")),
               Sustained(pb::CEILING_RESOURCE_L2, pb::CEILING_PATH_THREAD));
    const std::optional<Roof> wavefronts =
        CuptiRoof("l1tex__data_pipe_lsu_wavefronts.sum", kWavefrontBytes, facts_.max_sm_clock_hz);
    AddCounted("l1", "l1tex__t_bytes.sum", 1, wavefronts, Sustained(pb::CEILING_RESOURCE_L1, pb::CEILING_PATH_THREAD));
    const std::optional<double> shared = Find("smsp__sass_data_bytes_mem_shared.sum");
    if (!shared.has_value()) return;
    // Operands of warp-group products are counted apart.
    const double operands = Find("smsp__sass_data_bytes_mem_shared_op_gmma.sum").value_or(0);
    AddLevel({.level = "shared",
              .metric = absl::StrCat("smsp__sass_data_bytes_mem_shared", operands > 0 ? " and _op_gmma" : "", ".sum"),
              .bytes = *shared + operands,
              .theoretical = wavefronts,
              .empirical = Sustained(pb::CEILING_RESOURCE_SHARED, pb::CEILING_PATH_THREAD)});
  }

  const RooflineFacts& facts_;
  RooflineRow row_;
  double flops_ = 0;
  bool flops_known_ = true;
};

}  // namespace

std::optional<RooflineRow> RooflineOf(const RooflineFacts& facts) { return Builder(facts).Build(); }

}  // namespace gx::analysis
