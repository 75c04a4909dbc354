// Signatures as points under rooflines: counted work over the median of clean timings, by path of arithmetic and level
// of memory, beside the rates that are possible. Theoretical roofs are rates that NVIDIA or CUPTI state, empirical ones
// of the machine file, achieved rates of the signature; they are never mixed, and no bound is made of them here (the
// ladder does that from counts and its own clocks).
#ifndef GPUEXEC_ANALYSIS_REPORT_ROOFLINE_H_
#define GPUEXEC_ANALYSIS_REPORT_ROOFLINE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpuexec/v1/machine.pb.h"

namespace gx::analysis {

struct Roof {
  double per_second = 0;
  // Who says so.
  std::string source;
};

struct RooflinePathRow {
  // "fp32", "tensor op_hgmma_src_bf16_dst_fp32".
  std::string path;
  double flops = 0;
  double flops_per_second = 0;
  std::optional<Roof> theoretical = std::nullopt;
  std::optional<Roof> empirical = std::nullopt;
};

struct RooflineLevelRow {
  // "dram", "l2", "l1", "shared".
  std::string level;
  std::string metric;
  double bytes = 0;
  double bytes_per_second = 0;
  // Absent: no bytes, or operations were not counted.
  std::optional<double> intensity_flops_per_byte = std::nullopt;
  std::optional<Roof> theoretical = std::nullopt;
  std::optional<Roof> empirical = std::nullopt;
};

struct RooflineRow {
  double time_ns = 0;
  // The machine file is of another device of this kind.
  bool other_device = false;
  std::vector<RooflinePathRow> paths;
  std::vector<RooflineLevelRow> levels;
};

struct RooflineFacts {
  // Above 0.
  double time_ns = 0;
  // Medians by name ("dram__bytes.sum").
  std::map<std::string, double> counters;
  // "dram__bytes.sum.peak_sustained" -> counts in one cycle of its clock, whole device.
  std::map<std::string, double> peaks;
  uint64_t compute_capability_major = 0;
  uint64_t compute_capability_minor = 0;
  std::optional<uint64_t> multiprocessor_count;
  std::optional<double> max_sm_clock_hz;
  std::optional<double> max_memory_clock_hz;
  // Null: none matches the device.
  const gpuexec::v1::MachineFile* machine = nullptr;
  bool machine_is_of_other_device = false;
};

// Absent: nothing of it was counted. Levels without a count and paths without operations are left out. Pure; any
// thread.
std::optional<RooflineRow> RooflineOf(const RooflineFacts& facts);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_ROOFLINE_H_
