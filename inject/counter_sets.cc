#include "inject/counter_sets.h"

#include <array>

namespace gx::inject {
namespace {

struct SetName {
  CounterSet set;
  std::string_view name;
};
constexpr auto kSetNames = std::to_array<SetName>({
    {CounterSet::kOff, "off"},
    {CounterSet::kLight, "light"},
    {CounterSet::kCore, "core"},
    {CounterSet::kLean, "lean"},
    {CounterSet::kFull, "full"},
});

constexpr uint8_t Bit(CounterSet set) { return static_cast<uint8_t>(1u << static_cast<unsigned>(set)); }
constexpr uint8_t kInLight = Bit(CounterSet::kLight);
constexpr uint8_t kInFull = Bit(CounterSet::kFull);
constexpr uint8_t kFromLean = kInFull | Bit(CounterSet::kLean);
constexpr uint8_t kFromCore = kFromLean | Bit(CounterSet::kCore);

constexpr auto kAnchors = std::to_array<CounterSpec>({
    {"sm__cycles_active", ".avg"},
    {"sm__cycles_active", ".max"},
    {"gpc__cycles_elapsed", ".avg.per_second"},
});

// Spellings that differ: GB20x calls DRAM bytes _op_read and _op_write, fbpa__ has them under one name on every
// discrete chip; AD10x marks the first form of the tensor pipe's counters as deprecated in favour of _v2.
#define GX_DRAM_READ "dram__bytes_read|dram__bytes_op_read|fbpa__dram_read_bytes"
#define GX_DRAM_WRITE "dram__bytes_write|dram__bytes_op_write|fbpa__dram_write_bytes"
#define GX_TENSOR_CYCLES "sm__pipe_tensor_cycles_active_v2|sm__pipe_tensor_cycles_active"

// .peak_sustained is what the unit can do in a cycle of its clock: known of the device, takes no slot.
constexpr auto kLight = std::to_array<CounterSpec>({
    {"gpu__time_duration", ".sum"},
    {"gpc__cycles_elapsed", ".max"},
    {"sm__cycles_elapsed", ".max"},
    {"sm__cycles_active", ".min"},
    {GX_DRAM_READ, ".sum"},
    {GX_DRAM_WRITE, ".sum"},
    {"dram__cycles_elapsed", ".avg.per_second"},
    {"lts__t_sectors", ".sum"},
    {"lts__t_sectors_op_read", ".sum"},
    {"lts__t_sectors_op_write", ".sum"},
    {"lts__t_sectors_srcunit_tex", ".sum"},
    {"lts__cycles_elapsed", ".avg.per_second"},
    {"l1tex__t_sectors", ".sum"},
    {"l1tex__t_sectors_lookup_hit", ".sum"},
    {"l1tex__t_bytes", ".sum .sum.peak_sustained"},
    {"smsp__inst_executed", ".sum .sum.peak_sustained"},
    {"smsp__issue_active", ".sum"},
    {"sm__warps_active", ".sum .avg.pct_of_peak_sustained_active .avg.peak_sustained"},
    {GX_TENSOR_CYCLES, ".sum .avg.pct_of_peak_sustained_active"},
    {"dram__bytes", ".sum.peak_sustained"},
    {"lts__t_bytes", ".sum.peak_sustained"},
    {"l1tex__data_pipe_lsu_wavefronts", ".sum.peak_sustained"},
});

// light's counters come first: where a chip needs two passes, the first still is a light group.
constexpr auto kLightPlus = std::to_array<CounterSpec>({
    {"gpu__time_duration", ".sum"},
    {"gpc__cycles_elapsed", ".max"},
    {"sm__cycles_elapsed", ".max"},
    {"sm__cycles_active", ".min"},
    {GX_DRAM_READ, ".sum"},
    {GX_DRAM_WRITE, ".sum"},
    {"dram__cycles_elapsed", ".avg.per_second"},
    {"lts__t_sectors", ".sum .max .avg .sum.peak_sustained"},
    {"lts__t_sectors_op_read", ".sum"},
    {"lts__t_sectors_op_write", ".sum"},
    {"lts__t_sectors_srcunit_tex", ".sum"},
    {"lts__cycles_elapsed", ".avg.per_second"},
    {"l1tex__t_sectors", ".sum .max .avg"},
    {"l1tex__t_sectors_lookup_hit", ".sum"},
    {"l1tex__t_bytes", ".sum .sum.peak_sustained"},
    {"smsp__inst_executed", ".sum .max .avg .sum.peak_sustained"},
    {"smsp__issue_active", ".sum .max .avg"},
    {"sm__warps_active", ".sum .avg.pct_of_peak_sustained_active .avg.peak_sustained"},
    {GX_TENSOR_CYCLES, ".sum .max .avg .avg.pct_of_peak_sustained_active .sum.peak_sustained"},
    {"dram__bytes", ".sum .max .avg .sum.peak_sustained"},
    {"smsp__cycles_active", ".sum"},
    {"lts__t_sectors_op_atom", ".sum"},
    {"lts__t_sectors_op_red", ".sum"},
    {"lts__t_sectors_srcunit_tex_op_read", ".sum"},
    {"gr__ctas_launched", ".sum"},
    {"lts__t_bytes", ".sum.peak_sustained"},
    {"l1tex__data_pipe_lsu_wavefronts", ".sum.peak_sustained"},
    {"lts__lts2xbar_cycles_active", ".sum.peak_sustained"},
    {"lts__ltcfabric2lts_cycles_active", ".sum.peak_sustained"},
    {"lts__d_atomic_input_cycles_active", ".sum.peak_sustained"},
    {"l1tex__m_xbar2l1tex_read_bytes", ".sum.peak_sustained"},
    {"sm__inst_executed_pipe_lsu", ".sum.peak_sustained"},
    {"sm__inst_executed_pipe_alu", ".sum.peak_sustained"},
    {"sm__inst_executed_pipe_xu", ".sum.peak_sustained"},
    {"sm__inst_executed_pipe_fp64", ".sum.peak_sustained"},
    {"sm__pipe_shared_cycles_active", ".sum.peak_sustained"},
    {"sm__ops_path_tensor_src_bf16_dst_fp32", ".sum.peak_sustained"},
});

constexpr auto kSassPlus = std::to_array<CounterSpec>({
    {"smsp__sass_thread_inst_executed_op_dadd_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_dmul_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_dfma_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_hadd_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_hmul_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_hfma_pred_on", ".sum"},
    {"smsp__sass_data_bytes_mem_global_op_ld", ".sum"},
    {"smsp__sass_data_bytes_mem_global_op_st", ".sum"},
    {"smsp__sass_sectors_mem_global", ".sum"},
    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld", ".sum"},
    {"smsp__sass_data_bytes_mem_shared", ".sum"},
    {"smsp__sass_data_bytes_mem_local", ".sum"},
    {"smsp__sass_data_bytes_mem_global", ".sum"},
    {"smsp__sass_sectors_mem_local", ".sum"},
    {"smsp__sass_inst_executed_op_global_ld", ".sum"},
    {"smsp__sass_inst_executed_op_global_st", ".sum"},
    {"smsp__sass_inst_executed_op_shared_ld", ".sum"},
    {"smsp__sass_inst_executed_op_shared_st", ".sum"},
    {"smsp__sass_inst_executed_op_local_ld", ".sum"},
    {"smsp__sass_inst_executed_op_local_st", ".sum"},
    {"smsp__sass_inst_executed_op_ldgsts", ".sum"},
    {"smsp__sass_inst_executed_op_tma", ".sum"},
    {"smsp__sass_thread_inst_executed", ".sum"},
    {"smsp__sass_thread_inst_executed_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_integer_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_conversion_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_memory_pred_on", ".sum"},
    {"smsp__sass_thread_inst_executed_op_control_pred_on", ".sum"},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld", ".sum"},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st", ".sum"},
    {"smsp__sass_branch_targets_threads_divergent", ".sum"},
    // Equals smsp__inst_executed.sum of the same work: joins this group's samples to the others'.
    {"smsp__sass_inst_executed", ".sum"},
    {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st", ".sum"},
    {"smsp__sass_inst_executed_op_global_atom", ".sum"},
    {"smsp__sass_inst_executed_op_global_red", ".sum"},
    {"smsp__sass_inst_executed_op_shared_atom", ".sum"},
    {"smsp__sass_inst_executed_op_shared_gmma", ".sum"},
    {"smsp__sass_data_bytes_mem_shared_op_gmma", ".sum"},
    {"smsp__sass_data_bytes_mem_global_op_ldgsts", ".sum"},
    {"smsp__sass_data_bytes_mem_global_op_atom", ".sum"},
    {"smsp__sass_data_bytes_mem_global_op_red", ".sum"},
    {"smsp__sass_inst_executed_op_tma_ld", ".sum"},
    {"smsp__sass_inst_executed_op_tma_st", ".sum"},
    {"smsp__sass_inst_executed_op_ldsm", ".sum"},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm", ".sum"},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm", ".sum"},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts", ".sum"},
});

constexpr auto kLsu = std::to_array<CounterSpec>({
    {"l1tex__data_pipe_lsu_wavefronts", ".sum .max .avg"},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared", ".sum"},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared", ".sum"},
    {"sm__inst_executed_pipe_lsu", ".sum .max"},
    {"lts__lts2xbar_cycles_active", ".sum .max .avg"},
});
constexpr auto kLat = std::to_array<CounterSpec>({
    {"sm__inst_pending_pipe_lsu_mem_lg_cmd_read", ".sum"},
    {"sm__inst_executed_pipe_lsu_mem_lg_cmd_read", ".sum"},
    {"sm__warps_active", ".sum"},
    {"lts__d_atomic_input_cycles_active", ".sum .max .avg"},
});
constexpr auto kXbar = std::to_array<CounterSpec>({
    {"l1tex__m_xbar2l1tex_read_bytes", ".sum .max .avg"},
    {"lts__ltcfabric2lts_cycles_active", ".sum .max .avg"},
});
constexpr auto kTma = std::to_array<CounterSpec>({
    {"l1tex__m_xbar2l1tex_read_bytes_pipe_tma", ".sum"},
    {"sm__inst_executed_pipe_tma", ".sum"},
});
constexpr auto kPipesA = std::to_array<CounterSpec>({
    {"sm__inst_executed_pipe_alu", ".sum .max"},
    {"sm__inst_executed_pipe_xu", ".sum .max"},
    {"sm__inst_executed_pipe_fma", ".sum"},
    // A pipe of its own up to GA100, work of the FMA pipe from GA10x on.
    {"sm__inst_executed_pipe_fp16|sm__inst_executed_pipe_fma_type_fp16", ".sum"},
});
constexpr auto kPipesB = std::to_array<CounterSpec>({
    {"sm__pipe_shared_cycles_active", ".sum .max"},
});

// A stall reason is a share of the warps that were there, in the same pass.
#define GX_STALLED(reason) \
  CounterSpec { "smsp__warps_issue_stalled_" reason, ".sum" }
constexpr auto kWarpsActive = std::to_array<CounterSpec>({{"sm__warps_active", ".sum"}});
constexpr auto kStalls1 =
    std::to_array({GX_STALLED("long_scoreboard"), GX_STALLED("short_scoreboard"), GX_STALLED("barrier")});
constexpr auto kStalls2 =
    std::to_array({GX_STALLED("lg_throttle"), GX_STALLED("mio_throttle"), GX_STALLED("math_pipe_throttle")});
constexpr auto kStalls3 = std::to_array({GX_STALLED("wait"), GX_STALLED("not_selected"), GX_STALLED("no_instruction")});
constexpr auto kStalls4 = std::to_array({GX_STALLED("gmma"), GX_STALLED("membar"), GX_STALLED("branch_resolving")});
constexpr auto kStalls5 = std::to_array({GX_STALLED("dispatch_stall"), GX_STALLED("drain"), GX_STALLED("imc_miss")});
constexpr auto kStalls6 = std::to_array({GX_STALLED("misc"), GX_STALLED("sleeping"), GX_STALLED("tex_throttle")});

// Operations by path through the tensor cores. Counted by instruction where the chip can tell (hmma is mma.sync, hgmma
// is wgmma, utc*mma is tcgen05), else by type. Some paths need several passes: then the form for sampling, which has
// the same description and is used by Nsight Systems' "GPU Metrics", else dense and sparse operations apart.
#define GX_PATH(path) "sm__ops_path_tensor_" path
#define GX_PATH_OR_PARTS(path) \
  GX_PATH(path) "|" GX_PATH(path) "_realtime|" GX_PATH(path) "_sparsity_off+" GX_PATH(path) "_sparsity_on"
constexpr std::string_view kOps = ".sum .sum.peak_sustained";

// What wgmma kernels of Hopper do shares a pass, with FP64: one group for the common case. These leave room for kIssue,
// as they would with INT8 in place of FP8; with both there is none (CUPTI 13.0, all combinations of up to five paths).
constexpr auto kTensorGmma = std::to_array<CounterSpec>({
    {GX_PATH("op_hgmma_src_bf16_dst_fp32"), kOps},
    {GX_PATH("op_hgmma_src_fp16"), kOps},
    {GX_PATH("src_fp8"), kOps},
    {GX_PATH("src_fp64"), kOps},
    {GX_PATH("op_bgmma_src_int1"), kOps},
});
constexpr auto kTensorBf16 = std::to_array<CounterSpec>({
    {GX_PATH("op_hgmma_src_bf16_dst_fp32") "|" GX_PATH_OR_PARTS("op_utchmma_src_bf16_dst_fp32"), kOps},
    {GX_PATH_OR_PARTS("op_hmma_src_bf16_dst_fp32") "|" GX_PATH_OR_PARTS("src_bf16_dst_fp32") "|" GX_PATH(
         "src_fp16_bf16_tf32_dst_fp32"),
     kOps},
});
constexpr auto kTensorFp16 = std::to_array<CounterSpec>({
    {GX_PATH("op_hgmma_src_fp16") "|" GX_PATH_OR_PARTS("op_utchmma_src_fp16_dst_fp32"), kOps},
    {GX_PATH_OR_PARTS("op_hmma_src_fp16_dst_fp32") "|" GX_PATH_OR_PARTS("src_fp16_dst_fp32"), kOps},
});
constexpr auto kTensorTf32 = std::to_array<CounterSpec>({
    {GX_PATH_OR_PARTS("op_hgmma_src_tf32_dst_fp32") "|" GX_PATH_OR_PARTS("op_utchmma_src_tf32_dst_fp32"), kOps},
    {GX_PATH_OR_PARTS("op_hmma_src_tf32_dst_fp32") "|" GX_PATH_OR_PARTS("src_tf32_dst_fp32"), kOps},
});
constexpr auto kTensor8Bit = std::to_array<CounterSpec>({
    {GX_PATH_OR_PARTS("src_fp8") "|" GX_PATH_OR_PARTS("op_utcqmma_src_fp4_fp6_fp8_dst_fp32") "|" GX_PATH_OR_PARTS(
         "op_utcqmma_src_fp8_dst_fp32") "|" GX_PATH_OR_PARTS("src_fp8_dst_fp32"),
     kOps},
    {GX_PATH_OR_PARTS("op_igmma_src_int8") "|" GX_PATH_OR_PARTS("op_utcimma_src_int8"), kOps},
    {GX_PATH_OR_PARTS("op_imma_src_int8") "|" GX_PATH_OR_PARTS("src_int8"), kOps},
});
// Paths with accumulators of the width of their sources share a pass with FP64.
constexpr auto kTensorFp64Half = std::to_array<CounterSpec>({
    {GX_PATH("src_fp64"), kOps},
    {GX_PATH_OR_PARTS("op_utchmma_src_fp16_dst_fp16"), kOps},
    {GX_PATH_OR_PARTS("op_hmma_src_fp16_dst_fp16") "|" GX_PATH_OR_PARTS("src_fp16_dst_fp16"), kOps},
    {GX_PATH_OR_PARTS("op_utcqmma_src_fp4_fp6_fp8_dst_fp16") "|" GX_PATH_OR_PARTS(
         "op_utcqmma_src_fp8_dst_fp16") "|" GX_PATH_OR_PARTS("src_fp8_dst_fp16"),
     kOps},
});
constexpr auto kTensor4Bit = std::to_array<CounterSpec>({
    {GX_PATH_OR_PARTS("op_utcomma_src_fp4_dst_fp32") "|" GX_PATH_OR_PARTS("src_fp4_dst_fp32"), kOps},
    {GX_PATH_OR_PARTS("op_utcqmma_src_fp4_fp6_dst_fp32") "|" GX_PATH_OR_PARTS("src_fp4_fp6_dst_fp32"), kOps},
    {GX_PATH_OR_PARTS("op_utcqmma_src_fp4_fp6_dst_fp16") "|" GX_PATH_OR_PARTS("src_fp4_fp6_dst_fp16"), kOps},
    {GX_PATH_OR_PARTS("src_int4"), kOps},
    {GX_PATH("op_bgmma_src_int1"), kOps},
    {GX_PATH("op_bmma_src_int1") "|" GX_PATH("src_int1"), kOps},
});

constexpr auto kIssue = std::to_array<CounterSpec>({
    {"smsp__warps_eligible", ".sum"},
    {"smsp__inst_issued", ".sum"},
});
// What L2 takes in: a cycle for each sector that is written to it, and for each request to read.
constexpr auto kL2In = std::to_array<CounterSpec>({
    {"lts__xbar2lts_cycles_active", ".sum .max .avg .sum.peak_sustained"},
});
constexpr auto kFp64Pipe = std::to_array<CounterSpec>({
    {"sm__inst_executed_pipe_fp64", ".sum .max"},
});
// Instructions by kind; Blackwell calls the kinds subpipes.
constexpr auto kTensorMix = std::to_array<CounterSpec>({
    {"sm__inst_executed_pipe_tensor_op_hmma_v2|sm__inst_executed_pipe_tensor_op_hmma|"
     "sm__inst_executed_pipe_tensor_subpipe_hmma",
     ".sum"},
    {"sm__inst_executed_pipe_tensor_op_imma_v2|sm__inst_executed_pipe_tensor_op_imma|"
     "sm__inst_executed_pipe_tensor_subpipe_imma",
     ".sum"},
    {"sm__inst_executed_pipe_tensor_op_dmma|sm__inst_executed_pipe_tensor_subpipe_dmma|"
     "sm__inst_executed_pipe_fp64_op_dmma",
     ".sum"},
    {"sm__inst_executed_pipe_tensor_op_gmma", ".sum"},
});

constexpr auto kHardware = GroupKind::kHardware;
constexpr auto kTensor = GroupKind::kTensor;
constexpr auto kGroups = std::to_array<GroupSpec>({
    {.name = "light", .kind = kHardware, .sets = kInLight, .counters = kLight},
    {.name = "light+", .kind = kHardware, .sets = kFromCore, .counters = kLightPlus},
    {.name = "sass+", .kind = GroupKind::kSass, .sets = kFromCore, .counters = kSassPlus},
    {.name = "st1", .kind = kHardware, .sets = kFromLean, .counters = kStalls1, .in_every_part = kWarpsActive},
    {.name = "lat", .kind = kHardware, .sets = kFromLean, .counters = kLat},
    {.name = "lsu", .kind = kHardware, .sets = kFromLean, .counters = kLsu},
    {.name = "tensor",
     .kind = kTensor,
     .sets = kFromCore,
     .counters = kTensorGmma,
     .only_with = GX_PATH("op_hgmma_src_bf16_dst_fp32") ".sum"},
    {.name = "tensor_bf16", .kind = kTensor, .sets = kFromCore, .counters = kTensorBf16},
    {.name = "tensor_fp16", .kind = kTensor, .sets = kFromCore, .counters = kTensorFp16},
    {.name = "tensor_tf32", .kind = kTensor, .sets = kFromCore, .counters = kTensorTf32},
    {.name = "tensor_8bit", .kind = kTensor, .sets = kFromCore, .counters = kTensor8Bit},
    {.name = "tensor_fp64_half", .kind = kTensor, .sets = kFromCore, .counters = kTensorFp64Half},
    {.name = "tensor_4bit", .kind = kTensor, .sets = kFromCore, .counters = kTensor4Bit},
    {.name = "st2", .kind = kHardware, .sets = kFromLean, .counters = kStalls2, .in_every_part = kWarpsActive},
    {.name = "st3", .kind = kHardware, .sets = kFromLean, .counters = kStalls3, .in_every_part = kWarpsActive},
    {.name = "xbar", .kind = kHardware, .sets = kInFull, .counters = kXbar},
    {.name = "tma", .kind = kHardware, .sets = kInFull, .counters = kTma},
    {.name = "pipes_a", .kind = kHardware, .sets = kInFull, .counters = kPipesA},
    {.name = "pipes_b", .kind = kHardware, .sets = kInFull, .counters = kPipesB},
    {.name = "st4", .kind = kHardware, .sets = kFromLean, .counters = kStalls4, .in_every_part = kWarpsActive},
    {.name = "st5", .kind = kHardware, .sets = kInFull, .counters = kStalls5, .in_every_part = kWarpsActive},
    {.name = "st6", .kind = kHardware, .sets = kInFull, .counters = kStalls6, .in_every_part = kWarpsActive},
    {.name = "issue", .kind = kHardware, .sets = kFromCore, .counters = kIssue, .roams = true},
    {.name = "l2_in", .kind = kHardware, .sets = kFromCore, .counters = kL2In, .roams = true, .only_where_room = true},
    {.name = "pipe_fp64", .kind = kHardware, .sets = kInFull, .counters = kFp64Pipe, .roams = true},
    {.name = "tensor_mix", .kind = kHardware, .sets = kInFull, .counters = kTensorMix, .roams = true},
});

}  // namespace

std::string_view CounterSetName(CounterSet set) {
  for (const SetName& known : kSetNames) {
    if (known.set == set) return known.name;
  }
  return {};
}

std::optional<CounterSet> ParseCounterSet(std::string_view text) {
  for (const SetName& known : kSetNames) {
    if (known.name == text) return known.set;
  }
  return std::nullopt;
}

std::string_view GroupKindName(GroupKind kind) {
  switch (kind) {
    case GroupKind::kHardware:
      return "hardware";
    case GroupKind::kSass:
      return "sass";
    case GroupKind::kTensor:
      return "tensor";
    case GroupKind::kPcie:
      return "pcie";
    case GroupKind::kNvlink:
      return "nvlink";
    case GroupKind::kDevice:
      return "device";
  }
  return {};
}

std::span<const CounterSpec> AnchorCounters() { return kAnchors; }

std::span<const GroupSpec> AllGroups() { return kGroups; }

}  // namespace gx::inject
