// The machine that a manifest is evaluated on: its own `machine`, filled from the table of its compute capability where
// it states one, or a product of the model's table in its place. Every value says which of them it came from. Owned by
// one thread; views are to the manifest, which must outlive it, and to static tables.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_MACHINE_MODEL_H_
#define GPUEXEC_ANALYSIS_MANIFEST_MACHINE_MODEL_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/manifest/fault_log.h"
#include "analysis/model/occupancy.h"
#include "analysis/model/products.h"
#include "analysis/model/roofline.h"
#include "analysis/model/sm_limits.h"
#include "gpuexec/v1/manifest.pb.h"
#include "gpuexec/v1/model_report.pb.h"

namespace gx::analysis {

// A rate of Machine.compute_roof or memory_roof, or what stands for it.
struct MachineRoof {
  double per_second = 0;
  model::CeilingKind kind = model::CeilingKind::kUnspecified;
};

class MachineModel {
 public:
  // `device`: null for the manifest's own machine. What the model refuses goes to `log`, which must outlive it.
  MachineModel(const gpuexec::v1::Machine& machine, const model::Product* device, FaultLog* log);

  // What an SM has room for. Absent where something is not stated; `missing` then says what.
  const std::optional<model::SmBudget>& budget() const { return budget_; }
  const std::vector<std::string>& missing() const { return missing_; }
  // Absent without a compute capability.
  const std::optional<model::SmLimits>& limits() const { return limits_; }
  std::optional<int64_t> sm_count() const { return sm_count_; }
  // A product stands for the manifest's machine.
  bool has_device() const { return device_ != nullptr; }

  // `kind`: unspecified takes the first. NotFound: not stated, or not known of the product; InvalidArgument: no product
  // has such a level.
  absl::StatusOr<MachineRoof> ComputeRoof(absl::string_view path, gpuexec::v1::RoofKind kind);
  absl::StatusOr<MachineRoof> MemoryRoof(absl::string_view level, gpuexec::v1::RoofKind kind);

  // Where every value is from that was asked for so far, in the order of asking, once each.
  const std::vector<gpuexec::v1::Provenance>& provenance() const { return provenance_; }

 private:
  void UseProduct(FaultLog* log);
  void UseManifest(FaultLog* log);
  absl::StatusOr<MachineRoof> ComputeRoofOfTable(absl::string_view path);
  void Remember(absl::string_view name, std::string value, gpuexec::v1::Provenance::Origin origin,
                absl::string_view source);

  const gpuexec::v1::Machine& machine_;
  const model::Product* const device_;
  std::optional<model::SmBudget> budget_;
  std::vector<std::string> missing_;
  std::optional<model::SmLimits> limits_;
  std::optional<int64_t> sm_count_;
  std::vector<gpuexec::v1::Provenance> provenance_;
  // Names and sources of provenance_.
  std::set<std::pair<std::string, std::string>> remembered_;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_MACHINE_MODEL_H_
