// Runs in which hardware counters are sampled, and what their samples have to be. Samples are computed here from the
// launch's signature and the fake GPU's arithmetic, not from the fakes' log.
#ifndef GPUEXEC_TESTS_E2E_SAMPLING_H_
#define GPUEXEC_TESTS_E2E_SAMPLING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/e2e/capture.h"
#include "tests/fakes/fake_metrics.h"

namespace gx::e2e {

class SamplingTest : public CaptureTest {
 protected:
  // Counters cost what they cost: GPUEXEC_BUDGET=off, unless `environment` says otherwise.
  Capture Sample(const std::vector<std::string>& arguments, fakes::Environment environment = {});
  // What a program gets sampled is a matter of time, which a busy machine takes away: it is run again for three times
  // as long (its argument "ms="), twice at most, until the run is enough. Without `enough`: until it has a good sample.
  Capture SampleUntil(std::vector<std::string> arguments, fakes::Environment environment = {},
                      const std::function<bool(const Capture&)>& enough = {});
};

// Of scenarios of fake_host_sampling.cc with kernel_us=20: what the sample's launch (or graph) makes the fake GPU
// count.
fakes::CountedWork WorkOf(const TraceView& trace, const inject::CounterSampleRecord& sample);

// Expects each sample that is not void to have exactly the values of its launch, of every metric of its group.
void ExpectSamplesOfTheirLaunches(const TraceView& trace);

// Expects windows that follow each other, kernel records and counter sessions apart from each other, by the trace and
// by what the fakes did.
void ExpectWindowsApart(const Capture& capture);

// Samples that count: neither void nor the first of their session. Of one group where `group` is not empty.
std::vector<inject::CounterSampleRecord> GoodSamples(const TraceView& trace, const std::string& group = "");
std::string GroupName(const TraceView& trace, const inject::CounterSampleRecord& sample);
std::string KernelName(const TraceView& trace, const inject::CounterSampleRecord& sample);

// Texts "function: reason", sorted, without repetitions.
std::vector<std::string> Denials(const TraceView& trace);

// Expects a trace that was ended in order, with every launch that the fakes saw.
void ExpectWhole(const Capture& capture);

}  // namespace gx::e2e

#endif  // GPUEXEC_TESTS_E2E_SAMPLING_H_
