// Kernels of several streams that overlap, under NVTX ranges of every sort.
#include <nvtx3/nvToolsExt.h>

#include <memory>

#include "kernels/cases.h"

namespace gx::kernels {
namespace {
constexpr unsigned kStreams = 8;
constexpr unsigned kRounds = 10;
constexpr unsigned kElements = 4096;
constexpr unsigned kBlockThreads = 128;
constexpr uint32_t kMultiplier = 1664525;
constexpr char kDomainName[] = "gx-kernels";
}  // namespace

__global__ void StreamStepKernel(uint32_t count, uint32_t addend, uint32_t* values) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * kMultiplier + addend;
}

namespace {

struct DomainDeleter {
  void operator()(nvtxDomainRegistration_st* domain) const { nvtxDomainDestroy(domain); }
};

nvtxEventAttributes_t Attributes() {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return attributes;
}

// The ranges, from the outside in:
//   "multi_stream"            pushed in the default domain, plain text
//     "all launches"          started and ended as a process range in the domain "gx-kernels", payload double 0.5
//     "round"                 pushed in the default domain, payload the round's number
//       "stream_0".."stream_7" pushed in the domain "gx-kernels", registered strings, payload the stream's number
void RunMultiStream(CaseRun& run) {
  const uint64_t launches_per_stream = run.size() * run.repeat();
  if (launches_per_stream % kRounds != 0) return run.Fail("--size times --repeat must be a multiple of 10");
  const uint64_t batch = launches_per_stream / kRounds;
  Expectation expect;
  expect.launches = expect.kernels = kStreams * launches_per_stream;
  expect.copies = 2 * kStreams;
  expect.nvtx_ranges = 2 + kRounds + kRounds * kStreams;
  expect.bytes = expect.kernels * kElements * 2 * sizeof(uint32_t);
  run.Expect(expect);

  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<DeviceArray<uint32_t>>> arrays;
  std::vector<uint32_t> start(kElements);
  for (uint32_t i = 0; i < kElements; ++i) start[i] = RandomBits(8, i);
  for (unsigned s = 0; s < kStreams; ++s) {
    streams.push_back(std::make_unique<Stream>(run));
    arrays.push_back(std::make_unique<DeviceArray<uint32_t>>(run, kElements));
    if (!*streams.back() || !*arrays.back()) return;
    GX_STEP(run.Upload(arrays.back()->data(), start.data(), arrays.back()->bytes()));
  }
  GX_CUDA(run, cudaDeviceSynchronize());

  const std::unique_ptr<nvtxDomainRegistration_st, DomainDeleter> domain(nvtxDomainCreateA(kDomainName));
  std::vector<nvtxStringHandle_t> stream_names;
  for (unsigned s = 0; s < kStreams; ++s) {
    stream_names.push_back(nvtxDomainRegisterStringA(domain.get(), ("stream_" + std::to_string(s)).c_str()));
  }

  nvtxRangePushA("multi_stream");
  nvtxEventAttributes_t process_range = Attributes();
  process_range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  process_range.message.ascii = "all launches";
  process_range.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  process_range.payload.dValue = 0.5;
  const nvtxRangeId_t process_range_id = nvtxDomainRangeStartEx(domain.get(), &process_range);
  run.CountNvtxRanges(2);
  const LaunchShape shape{dim3(BlocksFor(kElements, kBlockThreads)), dim3(kBlockThreads)};
  for (unsigned round = 0; round < kRounds; ++round) {
    nvtxEventAttributes_t round_range = Attributes();
    round_range.messageType = NVTX_MESSAGE_TYPE_ASCII;
    round_range.message.ascii = "round";
    round_range.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    round_range.payload.ullValue = round;
    nvtxRangePushEx(&round_range);
    run.CountNvtxRanges(1);
    for (unsigned s = 0; s < kStreams; ++s) {
      nvtxEventAttributes_t stream_range = Attributes();
      stream_range.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
      stream_range.message.registered = stream_names[s];
      stream_range.payloadType = NVTX_PAYLOAD_TYPE_INT32;
      stream_range.payload.iValue = static_cast<int32_t>(s);
      nvtxDomainRangePushEx(domain.get(), &stream_range);
      run.CountNvtxRanges(1);
      for (uint64_t i = 0; i < batch; ++i) {
        StreamStepKernel<<<shape.grid, shape.block, 0, streams[s]->get()>>>(kElements, s, arrays[s]->data());
      }
      GX_CUDA(run, cudaGetLastError());
      run.CountLaunches(batch);
      nvtxDomainRangePop(domain.get());
      run.CountRangeKernels(kDomainName, "stream_" + std::to_string(s), batch);
    }
    nvtxRangePop();
  }
  nvtxDomainRangeEnd(domain.get(), process_range_id);
  nvtxRangePop();
  nvtxDomainMarkEx(domain.get(), &process_range);
  GX_CUDA(run, cudaDeviceSynchronize());
  GX_STEP(run.CountKernels(reinterpret_cast<const void*>(StreamStepKernel), shape, kStreams * launches_per_stream));

  std::vector<uint32_t> got(kElements);
  std::vector<uint32_t> reference(kElements);
  for (unsigned s = 0; s < kStreams; ++s) {
    GX_STEP(run.Download(got.data(), arrays[s]->data(), arrays[s]->bytes()));
    // Every 37th value: the chain is a thousand dependent steps long.
    for (uint32_t i = 0; i < kElements; i += 37) {
      reference[i] = start[i];
      for (uint64_t k = 0; k < launches_per_stream; ++k) reference[i] = reference[i] * kMultiplier + s;
    }
    run.CheckValues(
        "values of stream " + std::to_string(s), (kElements + 36) / 37,
        [&](uint64_t i) { return static_cast<double>(got[i * 37]); },
        [&](uint64_t i) { return static_cast<double>(reference[i * 37]); }, 0);
  }
}

}  // namespace

const Case kMultiStreamCase = {
    "multi_stream",       "8 streams at once, under nested NVTX ranges with domains and payloads",
    "launches a stream",  1000,
    "times the launches", 1,
    RunMultiStream};

}  // namespace gx::kernels
