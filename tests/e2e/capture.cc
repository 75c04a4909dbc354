#include "tests/e2e/capture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace gx::e2e {
namespace {

std::string Triple(uint64_t x, uint64_t y, uint64_t z) {
  return std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z);
}

}  // namespace

fakes::Environment CaptureTest::Injected(const fakes::Environment& more) const {
  fakes::Environment environment = {{"CUDA_INJECTION64_PATH", GX_INJECT_LIBRARY},
                                    {"GPUEXEC_CUPTI", GX_FAKES_DIR "/libcupti.so.13"},
                                    {"GPUEXEC_OUTPUT", File("trace.pb")}};
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

Capture CaptureTest::Run(const std::vector<std::string>& arguments, fakes::Environment environment) {
  std::filesystem::remove(File("gpu.log"));
  std::filesystem::remove(File("trace.pb"));
  fakes::HostRun run(arguments, Injected(environment), folder_.path());
  Capture capture{run.result, run.log, ReadTrace(File("trace.pb"))};
  const auto injections = capture.log.Of("injection");
  EXPECT_EQ(injections.empty(), arguments[0] == "none") << "cuInit was not called";
  for (const fakes::LogEntry& injection : injections) {
    EXPECT_EQ(injection.Text("loaded"), "1") << injection.Text("problem");
    EXPECT_EQ(injection.Text("answer"), "1");
  }
  EXPECT_THAT(Violations(capture.log), ::testing::IsEmpty());
  return capture;
}

testing::CommandResult CaptureTest::RunBare(const std::vector<std::string>& arguments,
                                            const fakes::Environment& environment) {
  return fakes::HostRun(arguments, environment, folder_.path()).result;
}

std::vector<std::string> CaptureTest::Files(const std::string& prefix) const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::multiset<std::string> ToldKernels(const fakes::FakeLog& log) {
  std::multiset<std::string> kernels;
  for (const fakes::LogEntry& entry : log.Of("kernel")) {
    std::ostringstream text;
    for (const char* key : {"correlation", "start", "end", "device", "context", "stream", "graph", "node", "name",
                            "grid", "block", "cluster", "dynamic", "registers", "static", "local", "cooperative"}) {
      text << key << "=" << entry.Text(key) << " ";
    }
    kernels.insert(text.str());
  }
  return kernels;
}

std::multiset<std::string> TracedKernels(const TraceView& trace) {
  std::multiset<std::string> kernels;
  for (const KernelRow& row : trace.kernels) {
    const auto& a = row.attributes;
    std::ostringstream text;
    text << "correlation=" << row.record.correlation_id << " start=" << row.record.start_ns
         << " end=" << row.record.end_ns << " device=" << row.track.device_id() << " context=" << row.track.context_id()
         << " stream=" << row.track.stream_id() << " graph=" << row.record.graph_id
         << " node=" << row.record.graph_node_id << " name=" << row.name
         << " grid=" << Triple(a.grid_x(), a.grid_y(), a.grid_z())
         << " block=" << Triple(a.block_x(), a.block_y(), a.block_z())
         << " cluster=" << Triple(a.cluster_x(), a.cluster_y(), a.cluster_z())
         << " dynamic=" << a.dynamic_shared_memory_bytes() << " registers=" << a.registers_per_thread()
         << " static=" << a.static_shared_memory_bytes() << " local=" << a.local_memory_per_thread_bytes()
         << " cooperative=" << a.launch_type() << " ";
    kernels.insert(text.str());
  }
  return kernels;
}

std::multiset<std::string> ToldLaunches(const fakes::FakeLog& log) {
  std::multiset<std::string> launches;
  for (const fakes::LogEntry& entry : log.Of("launch", "captured", "0")) {
    std::ostringstream text;
    for (const char* key : {"correlation", "thread", "context", "stream", "result", "name", "grid", "block", "cluster",
                            "preferred_cluster", "dynamic", "cooperative", "programmatic", "carveout"}) {
      text << key << "=" << entry.Text(key) << " ";
    }
    launches.insert(text.str());
  }
  return launches;
}

std::multiset<std::string> TracedLaunches(const TraceView& trace) {
  std::multiset<std::string> launches;
  for (const LaunchRow& row : trace.launches) {
    const auto& s = row.signature;
    std::ostringstream text;
    text << "correlation=" << row.record.correlation_id << " thread=" << row.record.thread_id
         << " context=" << row.track.context_id() << " stream=" << row.track.stream_id()
         << " result=" << row.record.result << " name=" << row.name
         << " grid=" << Triple(s.grid_x(), s.grid_y(), s.grid_z())
         << " block=" << Triple(s.block_x(), s.block_y(), s.block_z())
         << " cluster=" << Triple(s.cluster_x(), s.cluster_y(), s.cluster_z())
         << " preferred_cluster=" << Triple(s.preferred_cluster_x(), s.preferred_cluster_y(), s.preferred_cluster_z())
         << " dynamic=" << s.dynamic_shared_memory_bytes() << " cooperative=" << s.cooperative()
         << " programmatic=" << s.programmatic() << " carveout="
         << (s.has_preferred_shared_memory_carveout() ? std::to_string(s.preferred_shared_memory_carveout()) : "")
         << " ";
    launches.insert(text.str());
  }
  return launches;
}

std::vector<std::string> Violations(const fakes::FakeLog& log) {
  std::vector<std::string> violations;
  for (const fakes::LogEntry& entry : log.Of("violation")) violations.push_back(entry.Text("what"));
  return violations;
}

}  // namespace gx::e2e
