// What a manifest says comes out, against what is derived: field by field, over the fields that are set. Numbers have
// to be equal, not near; cases are found by name. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_COMPARE_EXPECTED_H_
#define GPUEXEC_ANALYSIS_MANIFEST_COMPARE_EXPECTED_H_

#include <cstdint>
#include <vector>

#include "gpuexec/v1/manifest.pb.h"
#include "gpuexec/v1/model_report.pb.h"

namespace gx::analysis {

struct ExpectedComparison {
  // Fields of `expected` that are set; a name of a case counts only where there is no such case.
  int64_t compared_count = 0;
  // In the order of the fields. Values as text: doubles with 17 digits, "absent" where nothing is derived.
  std::vector<gpuexec::v1::Mismatch> mismatches;
};

ExpectedComparison CompareExpected(const gpuexec::v1::Derived& expected, const gpuexec::v1::Derived& derived);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_COMPARE_EXPECTED_H_
