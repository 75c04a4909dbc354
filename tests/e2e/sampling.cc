#include "tests/e2e/sampling.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;

constexpr uint64_t kKernelNs = 20'000;
constexpr uint64_t kMoreNsEach = 1024;  // Of the next kernel in a module.

// Number of the kernel in its module, which is in its name.
uint64_t KernelNumber(const std::string& name) {
  const size_t digit = name.find_last_of("0123456789");
  return digit == std::string::npos ? 0 : static_cast<uint64_t>(name[digit] - '0');
}

void Count(const TraceView& trace, const v1::Signature& signature, fakes::CountedWork* work) {
  const std::string name = trace.FunctionName(signature.function_iid());
  const uint32_t grid[3] = {static_cast<uint32_t>(signature.grid_x()), static_cast<uint32_t>(signature.grid_y()),
                            static_cast<uint32_t>(signature.grid_z())};
  const uint32_t block[3] = {static_cast<uint32_t>(signature.block_x()), static_cast<uint32_t>(signature.block_y()),
                             static_cast<uint32_t>(signature.block_z())};
  fakes::CountKernel(name, grid, block, kKernelNs + kMoreNsEach * KernelNumber(name), false, work);
}

}  // namespace

Capture SamplingTest::Sample(const std::vector<std::string>& arguments, fakes::Environment environment) {
  environment.try_emplace("GPUEXEC_BUDGET", "off");
  return Run(arguments, environment);
}

Capture SamplingTest::SampleUntil(std::vector<std::string> arguments, fakes::Environment environment,
                                  const std::function<bool(const Capture&)>& enough) {
  constexpr int kRuns = 3;
  for (int run = 1;; ++run) {
    Capture capture = Sample(arguments, environment);
    if (run == kRuns || (enough ? enough(capture) : !GoodSamples(capture.trace).empty())) return capture;
    for (std::string& argument : arguments) {
      if (argument.starts_with("ms=")) argument = "ms=" + std::to_string(3 * std::stoi(argument.substr(3)));
    }
  }
}

fakes::CountedWork WorkOf(const TraceView& trace, const inject::CounterSampleRecord& sample) {
  fakes::CountedWork work;
  if (sample.graph_exec_id == 0) {
    EXPECT_TRUE(trace.signatures.contains(sample.signature_iid));
    Count(trace, trace.signatures.at(sample.signature_iid), &work);
    return work;
  }
  std::set<uint64_t> nodes;
  for (const v1::GraphNode& node : trace.graph_nodes) {
    if (node.graph_id() != sample.graph_exec_id || !nodes.insert(node.node_id()).second) continue;
    // The driver's own node is described by nothing, and runs nothing.
    const auto signature = trace.NodeSignature(node.node_id(), sample.enter_monotonic_ns);
    if (signature.has_value()) Count(trace, *signature, &work);
  }
  return work;
}

void ExpectSamplesOfTheirLaunches(const TraceView& trace) {
  for (const inject::CounterSampleRecord& sample : trace.counter_samples) {
    if ((sample.flags & v1::CounterBatch::FLAG_VOID) != 0) continue;
    ASSERT_TRUE(trace.counter_groups.contains(sample.group_iid)) << "group without definition";
    const auto& metrics = trace.counter_groups.at(sample.group_iid).metric();
    ASSERT_EQ(sample.values.size(), static_cast<size_t>(metrics.size()));
    const fakes::CountedWork work = WorkOf(trace, sample);
    const bool first = (sample.flags & v1::CounterBatch::FLAG_FIRST_OF_SESSION) != 0;
    for (int i = 0; i < metrics.size(); ++i) {
      EXPECT_EQ(sample.values[static_cast<size_t>(i)], fakes::MetricValue(metrics[i], work, first))
          << metrics[i] << " of " << KernelName(trace, sample) << ", range " << sample.range_order << " of session "
          << sample.session_id;
    }
  }
}

void ExpectWindowsApart(const Capture& capture) {
  const TraceView& trace = capture.trace;
  uint64_t last_end_ns = 0;
  for (const auto& [id, window] : trace.windows) {
    EXPECT_GE(window.begin_monotonic_ns(), last_end_ns) << "window " << id;
    EXPECT_EQ(window.has_end_monotonic_ns(), id != trace.windows.rbegin()->first) << "window " << id;
    last_end_ns = window.end_monotonic_ns();
  }
  const auto kind_of = [&](uint64_t window_id) {
    const auto found = trace.windows.find(window_id);
    return found == trace.windows.end() ? v1::Window::KIND_UNSPECIFIED : found->second.kind();
  };
  for (const auto& [id, session] : trace.counter_sessions) {
    EXPECT_EQ(kind_of(session.window_id()), v1::Window::KIND_COUNTERS) << "session " << id;
  }
  std::set<uint64_t> counted;
  for (const auto& sample : trace.counter_samples) {
    EXPECT_EQ(kind_of(sample.window_id), v1::Window::KIND_COUNTERS);
    counted.insert(sample.correlation_id);
  }
  for (const KernelRow& kernel : trace.kernels) {
    EXPECT_FALSE(counted.contains(kernel.record.correlation_id)) << "counted and timed: " << kernel.name;
  }
  for (const fakes::LogEntry& range : capture.log.Of("range")) EXPECT_EQ(range.Text("contaminated"), "0");
}

std::string GroupName(const TraceView& trace, const inject::CounterSampleRecord& sample) {
  const auto found = trace.counter_groups.find(sample.group_iid);
  return found == trace.counter_groups.end() ? "" : found->second.name();
}

std::string KernelName(const TraceView& trace, const inject::CounterSampleRecord& sample) {
  const auto found = trace.signatures.find(sample.signature_iid);
  return found == trace.signatures.end() ? "" : trace.FunctionName(found->second.function_iid());
}

std::vector<inject::CounterSampleRecord> GoodSamples(const TraceView& trace, const std::string& group) {
  std::vector<inject::CounterSampleRecord> good;
  for (const auto& sample : trace.counter_samples) {
    const uint64_t bad = v1::CounterBatch::FLAG_VOID | v1::CounterBatch::FLAG_FIRST_OF_SESSION;
    if ((sample.flags & bad) != 0 || (!group.empty() && GroupName(trace, sample) != group)) continue;
    good.push_back(sample);
  }
  return good;
}

std::vector<std::string> Denials(const TraceView& trace) {
  std::set<std::string> texts;
  for (const v1::CounterDenial& denial : trace.counter_denials) {
    texts.insert(trace.FunctionName(denial.function_iid()) + ": " + v1::CounterDenial::Reason_Name(denial.reason()));
  }
  return {texts.begin(), texts.end()};
}

void ExpectWhole(const Capture& capture) {
  EXPECT_TRUE(capture.trace.exists);
  EXPECT_TRUE(capture.trace.trailer.has_value());
  EXPECT_EQ(capture.trace.cut_bytes, 0u);
  EXPECT_EQ(capture.trace.sequence_gaps, 0u);
  EXPECT_EQ(capture.trace.launches.size(), capture.log.Of("launch", "captured", "0").size());
  EXPECT_EQ(capture.trace.graph_launches.size(), capture.log.Of("graph_launch").size());
}

}  // namespace gx::e2e
