// Batches of a gpuexec.v1.Packet back to the records of inject/, written from the comments in trace.proto alone and not
// from the encoder. For tests; a column that breaks the rules is a test failure.
#ifndef GPUEXEC_TESTS_CONFORMANCE_BATCH_DECODER_H_
#define GPUEXEC_TESTS_CONFORMANCE_BATCH_DECODER_H_

#include <vector>

#include "gpuexec/v1/trace.pb.h"
#include "inject/record.h"

namespace gx::testing {

std::vector<inject::LaunchRecord> Decode(const gpuexec::v1::LaunchBatch& batch);
std::vector<inject::KernelRecord> Decode(const gpuexec::v1::KernelBatch& batch);
std::vector<inject::MemoryRecord> Decode(const gpuexec::v1::MemoryBatch& batch);
std::vector<inject::SynchronizationRecord> Decode(const gpuexec::v1::SynchronizationBatch& batch);
std::vector<inject::OverheadRecord> Decode(const gpuexec::v1::OverheadBatch& batch);
std::vector<inject::ApiCallRecord> Decode(const gpuexec::v1::ApiCallBatch& batch);
std::vector<inject::NvtxEventRecord> Decode(const gpuexec::v1::NvtxEventBatch& batch);
std::vector<inject::CounterSampleRecord> Decode(const gpuexec::v1::CounterBatch& batch);

}  // namespace gx::testing

#endif  // GPUEXEC_TESTS_CONFORMANCE_BATCH_DECODER_H_
