// Where the driver's own occupancy and the model's differ: one of the two is wrong, or was asked before something
// changed.
#include "absl/strings/str_cat.h"
#include "analysis/kernel_name.h"
#include "analysis/launch_configuration.h"
#include "analysis/launch_residency.h"
#include "analysis/report_sections.h"
#include "analysis/usual_records.h"

namespace gx::analysis {

uint64_t CountOccupancyDisagreements(const TraceModel& model, size_t max_examples, std::vector<std::string>* examples) {
  const UsualRecords records(model);
  uint64_t count = 0;
  for (const SignatureEntry& signature : model.signatures) {
    if (!signature.defined || !signature.definition.has_driver_occupancy()) continue;
    const LaunchConfiguration launch = ConfigurationOf(model, signature, records.Of(signature));
    const std::optional<std::string> disagreement = DriverDisagreement(launch);
    if (!disagreement.has_value()) continue;
    ++count;
    if (examples->size() == max_examples) continue;
    examples->push_back(
        absl::StrCat(ShortKernelName(FullKernelName(model.FunctionName(signature))), ": ", *disagreement));
  }
  return count;
}

}  // namespace gx::analysis
