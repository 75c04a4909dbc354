// Everything that a Writer needs, for tests: queues, tables, buffers, a folder, and the trace that came out of it, read
// by real protobuf.
#ifndef GPUEXEC_TESTS_INJECT_WRITER_PARTS_H_
#define GPUEXEC_TESTS_INJECT_WRITER_PARTS_H_

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "gpuexec/v1/trace.pb.h"
#include "inject/writer.h"
#include "tests/inject/fake_cupti_table.h"
#include "tests/support/temp_dir.h"

namespace gx::inject {

class WriterParts {
 public:
  WriterParts() {
    Stats().Reset();
    config.output = folder.File("trace.pb");
    EXPECT_TRUE(queues.Allocate(uint64_t{8} << 20));
    EXPECT_TRUE(functions.Allocate(uint64_t{4} << 20));
    EXPECT_TRUE(buffers->Allocate(uint64_t{4} << 20));
    queues.ForgetCurrent();
  }
  ~WriterParts() { queues.ForgetCurrent(); }
  WriterParts(const WriterParts&) = delete;
  WriterParts& operator=(const WriterParts&) = delete;

  // After `config` and `cupti` are as the test wants them. The writer itself is never destroyed, as in the library.
  Writer& MakeWriter() {
    Writer::Parts parts;
    parts.config = &config;
    parts.cupti = &cupti;
    parts.queues = &queues;
    parts.functions = &functions;
    parts.contexts = &contexts;
    parts.buffers = buffers.get();
    parts.prober = &prober;
    parts.nvml = &nvml;
    parts.needs = needs;
    parts.deny = deny;
    parts.graphs = graphs;
    HeaderRecord header;
    header.gpuexec_version = "test";
    header.pid = 12;
    writer = std::make_unique<Writer>(parts, std::move(header));
    return *writer;
  }

  std::string FileBytes() const {
    std::ifstream in(config.output, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  gpuexec::v1::Trace Trace() const {
    gpuexec::v1::Trace trace;
    EXPECT_TRUE(trace.ParseFromString(FileBytes()));
    return trace;
  }
  // All packets of the trace as one.
  gpuexec::v1::Packet AllPackets() const {
    gpuexec::v1::Packet all;
    const gpuexec::v1::Trace trace = Trace();
    for (const auto& frame : trace.frame()) all.MergeFrom(frame.packet());
    return all;
  }

  gx::testing::TempDir folder;
  Config config;
  CuptiApi cupti = MakeFakeCupti();
  ThreadQueues queues;
  FunctionTable functions;
  ContextTable contexts;
  std::unique_ptr<ActivityBuffers> buffers = std::make_unique<ActivityBuffers>();
  Prober prober;
  NvmlSampler nvml;
  SamplingNeeds* needs = nullptr;
  SamplingDenyList* deny = nullptr;
  GraphSamplingTable* graphs = nullptr;
  std::unique_ptr<Writer> writer;
};

}  // namespace gx::inject

#endif  // GPUEXEC_TESTS_INJECT_WRITER_PARTS_H_
