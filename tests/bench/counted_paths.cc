// gx-counted-paths encode OUT.pb | read IN.pb | import IN.pb: one path each, with a fixed amount of work, for callgrind
// to count the instructions of (instruction_counts.py). encode writes what the others read. Not installed.
#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>

#include "analysis/columns.h"
#include "analysis/trace_importer.h"
#include "analysis/trace_reader.h"
#include "gpuexec/v1/trace.pb.h"
#include "inject/trace_encoder.h"
#include "tests/support/eager_stream.h"

namespace {

constexpr uint64_t kKernels = 300'000;

void AddDefinitions(gx::inject::TraceEncoder* encoder) {
  gx::inject::HeaderRecord header;
  header.pid = 7;
  header.start = {5'000'000'000'000 + 1'700'000'000'000'000'000, 5'000'000'000'000, 5'000'000'000'000, 1};
  encoder->SetHeader(header);
  encoder->AddTrack({.iid = 1, .device_id = 0, .context_id = 1, .stream_id = 7});
  gx::inject::WindowRecord window;
  window.window_id = 1;
  encoder->AddWindow(window);
  for (uint64_t i = 1; i <= 30; ++i) {
    encoder->AddName(i, "kernel_" + std::to_string(i));
    gx::inject::SignatureRecord signature;
    signature.iid = i;
    encoder->AddSignature(signature);
    gx::inject::KernelAttributesRecord attributes;
    attributes.iid = i;
    attributes.name_iid = i;
    encoder->AddKernelAttributes(attributes);
  }
}

bool Encode(const std::string& path) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  gx::inject::TraceEncoder encoder;
  AddDefinitions(&encoder);
  gx::testing::EagerStream stream(gx::testing::EagerStream::kBusyCoarseClock);
  for (uint64_t i = 0; i < kKernels; ++i) {
    const gx::testing::EagerStream::Step step = stream.Next();
    encoder.AddLaunch(step.launch);
    encoder.AddKernel(step.kernel);
    if (i % 10'000 == 9'999) out << encoder.FinishFrame();
  }
  encoder.SetTrailer(1, {});
  out << encoder.FinishFrame();
  out.close();
  return out.good();
}

bool Import(const std::string& path) {
  auto reader = gx::analysis::TraceReader::Open(path);
  if (!reader.ok()) return false;
  const auto model = gx::analysis::ImportTrace(reader->get(), {}, [](uint64_t, uint64_t) {});
  return model.ok() && model->accounting.kernels_joined == kKernels;
}

bool Read(const std::string& path) {
  auto reader = gx::analysis::TraceReader::Open(path);
  if (!reader.ok()) return false;
  gpuexec::v1::Packet packet;
  uint64_t records = 0;
  uint64_t sum = 0;
  for (;;) {
    const auto more = (*reader)->Next(&packet);
    if (!more.ok()) return false;
    if (!*more) break;
    for (const auto& batch : packet.launch_batch()) {
      records += gx::analysis::ForEachLaunch(batch, [&](const gx::analysis::LaunchRow& row) {
                   sum += row.correlation_id;
                 }).record_count;
    }
    for (const auto& batch : packet.kernel_batch()) {
      records += gx::analysis::ForEachKernel(batch, [&](const gx::analysis::KernelRow& row) {
                   sum += row.duration_ns;
                 }).record_count;
    }
  }
  return records == 2 * kKernels && sum > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc == 3 ? argv[1] : "";
  bool good = false;
  if (path == "encode") {
    good = Encode(argv[2]);
  } else if (path == "read") {
    good = Read(argv[2]);
  } else if (path == "import") {
    good = Import(argv[2]);
  } else {
    std::cerr << "usage: gx-counted-paths encode|read|import FILE\n";
    return 2;
  }
  if (!good) std::cerr << "gx-counted-paths: " << argv[1] << ": records were lost, or the file could not be used\n";
  return good ? 0 : 1;
}
