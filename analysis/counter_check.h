// Hardware counters against answers that are known beforehand: what the source of a case of gx-kernels says of one
// launch of its kernel, and what the counters in a trace of that case said. Pure; any thread.
//
//   gx-kernels --json --case pairs > known.json
//   CUDA_INJECTION64_PATH=... GPUEXEC_COUNTERS=lean GPUEXEC_OUTPUT=a.pb gx-kernels --case aos_cure
//   CounterChecks checks = *CounterChecks::Of(known);                                    (gx-machine merge)
//   checks.AddTrace(a, machine.device()); ...; checks.Finish(&machine);
//
// A metric is a counter by its full name, or one of these (CounterCheck.metric), each of counters of one sample, X for
// smsp__sass_thread_inst_executed_op_X_pred_on.sum:
//   fp64_flop                 dadd + dmul + 2 dfma
//   fp32_flop                 fadd + fmul + 2 ffma
//   fp16_flop                 2 hadd + 2 hmul + 4 hfma (two numbers an instruction)
//   threads_per_instruction   smsp__sass_thread_inst_executed.sum / smsp__sass_inst_executed.sum
#ifndef GPUEXEC_ANALYSIS_COUNTER_CHECK_H_
#define GPUEXEC_ANALYSIS_COUNTER_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/trace_model.h"
#include "gpuexec/v1/kernel_list.pb.h"
#include "gpuexec/v1/machine.pb.h"

namespace gx::analysis {

// Median of `counted` over `expected`, less 1; 0 where both are 0. Absent: 0 was expected and not counted, or nothing
// was counted.
std::optional<double> CounterErrorRatio(double expected, absl::Span<const double> counted);

class CounterChecks {
 public:
  // The cases of `known` that have counts. FailedPrecondition: none has; InvalidArgument: counts that no launch can be
  // compared with.
  static absl::StatusOr<CounterChecks> Of(const gpuexec::v1::KernelList& known);

  // Takes the trace's counted launches of kernels of these cases, and returns how many: 0 where it has none. Void
  // samples are left out, and the first of a session is taken only where a metric has no other. FailedPrecondition:
  // launches of another size than `known` is of, or on none that is `device` (by its UUID; where that is left out, by
  // product).
  absl::StatusOr<uint64_t> AddTrace(const TraceModel& trace, const gpuexec::v1::MachineDevice& device);

  // Sets machine's counter_check anew, in the order of `known`; the checks are unmeasured no more. FailedPrecondition:
  // nothing was counted; `machine` is as it was.
  absl::Status Finish(gpuexec::v1::MachineFile* machine) const;

  // Answers that are known, and those of them that nothing was counted for: "METRIC of CASE".
  size_t known_count() const;
  std::vector<std::string> Uncounted() const;

 private:
  struct Term {
    // A literal, as all names of counters here.
    absl::string_view counter;
    double factor = 1;
  };
  // What is known of one metric.
  struct Answer {
    absl::string_view metric;
    std::vector<Term> terms;
    // The terms' sum is divided by this; "": it is not.
    absl::string_view per;
    double expected = 0;
    bool is_approximate = false;
    // Of ranges that were not, and that were the first of their session.
    std::vector<double> later;
    std::vector<double> first;

    const std::vector<double>& counted() const { return later.empty() ? first : later; }
  };
  struct KnownCase {
    std::string name;
    uint64_t size = 0;
    std::string kernel;
    uint64_t blocks = 0;
    // As the traces have it.
    std::string mangled_name;
    std::vector<Answer> answers;
  };

  static std::vector<Answer> AnswersOf(const gpuexec::v1::KernelCounts& counts);
  static void AddSamples(const gpuexec::v1::CounterGroup& group,
                         absl::Span<const CounterSamples::Sample* const> samples, KnownCase* which);
  absl::StatusOr<uint64_t> AddSeries(const TraceModel& trace, const CounterSeries& series,
                                     const gpuexec::v1::MachineDevice& device, KnownCase* which);

  std::vector<KnownCase> cases_;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_COUNTER_CHECK_H_
