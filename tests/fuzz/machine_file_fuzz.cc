// Any bytes as a machine file: reading and checking neither crash nor hang, what is said is printable, and a file that
// passes gives figures that a ladder can be built on.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "analysis/ladder_input.h"
#include "analysis/machine_ceilings.h"
#include "analysis/machine_file.h"
#include "analysis/machine_text.h"
#include "analysis/manifest/message_file.h"
#include "analysis/model/ladder.h"
#include "gpuexec/v1/machine.pb.h"
#include "tests/fuzz/require.h"

namespace {

namespace v1 = gpuexec::v1;
using gx::analysis::LadderFacts;

// Names may hold UTF-8.
void RequirePrintable(absl::string_view text) {
  for (const char c : text) {
    GX_FUZZ_REQUIRE(c == '\n' || (static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) != 0x7F));
  }
}

void RequireFigure(const std::optional<double>& value) {
  GX_FUZZ_REQUIRE(!value.has_value() || (std::isfinite(*value) && *value >= 0));
}

// Of every resource that a machine file has a rate for.
LadderFacts Facts(const v1::MachineFile& machine) {
  LadderFacts facts;
  facts.time_ns = 10000;
  facts.max_sm_clock_hz = 2e9;
  facts.timed_sm_clock_hz = 1.9e9;
  facts.multiprocessor_count = 132;
  facts.waves = 3;
  facts.shape = {.grid_blocks = 400, .block_threads = 256};
  facts.machine = &machine;
  const auto count = [&facts](const char* name, double value) {
    facts.counters.push_back({.group = 1, .name = name, .median = value, .min = value, .max = value});
  };
  for (const char* metric :
       {"dram__bytes", "lts__t_sectors", "lts__lts2xbar_cycles_active", "lts__xbar2lts_cycles_active",
        "l1tex__data_pipe_lsu_wavefronts", "smsp__inst_executed", "sm__inst_executed_pipe_fma",
        "sm__inst_executed_pipe_fp64", "sm__inst_executed_pipe_xu", "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32"}) {
    facts.peaks[std::string(metric) + ".sum.peak_sustained"] = 1000;
    facts.counters.push_back({.group = 1, .name = std::string(metric) + ".sum", .median = 1e6, .min = 1e6, .max = 1e6});
  }
  count("dram__cycles_elapsed.avg.per_second", 3e9);
  count("lts__cycles_elapsed.avg.per_second", 1.7e9);
  count("gpc__cycles_elapsed.avg.per_second", 1.9e9);
  count("sm__cycles_active.max", 15000);
  count("sm__cycles_active.avg", 14000);
  return facts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  v1::MachineFile machine;
  absl::Status status = gx::analysis::ParseMessageBytes("machine", bytes, &machine);
  if (status.ok()) status = gx::analysis::CheckMachineFile(machine);
  if (!status.ok()) {
    RequirePrintable(status.message());
    return 0;
  }
  RequirePrintable(gx::analysis::MachineFileText(machine));
  RequireFigure(gx::analysis::SustainedL2BytesPerSecond(machine, true));
  RequireFigure(gx::analysis::SustainedDramBytesPerCycle(machine, 0.4));
  const LadderFacts facts = Facts(machine);
  RequireFigure(gx::analysis::EmptyKernelNs(machine, facts.shape));
  RequireFigure(gx::analysis::IdleLaunchNs(machine, facts.shape));
  const auto evidence = gx::analysis::BuildLadderInput(facts);
  if (!evidence.ok()) {
    RequirePrintable(evidence.status().message());
    return 0;
  }
  const auto ladder = gx::model::ComputeLadder(evidence->input);
  if (!ladder.ok()) {
    RequirePrintable(ladder.status().message());
    return 0;
  }
  double sum_ns = 0;
  for (const gx::model::LadderTerm& term : ladder->terms) {
    GX_FUZZ_REQUIRE(term.ns >= 0);
    sum_ns += term.ns;
  }
  GX_FUZZ_REQUIRE(std::fabs(sum_ns - facts.time_ns) <= 1e-6 * facts.time_ns);
  return 0;
}
