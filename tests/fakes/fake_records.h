// Work of the fake GPU -> bytes of a CUPTI activity record, in the layout of a CUPTI version; and back: the size of a
// record. Pure functions.
#ifndef GPUEXEC_TESTS_FAKES_FAKE_RECORDS_H_
#define GPUEXEC_TESTS_FAKES_FAKE_RECORDS_H_

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fakes/fake_gpu.h"

namespace gx::fakes {

// Values that every kernel record carries.
inline constexpr uint8_t kRecordCacheConfigRequested = 1;
inline constexpr uint8_t kRecordCacheConfigExecuted = 2;
inline constexpr uint32_t kRecordSharedMemoryExecutedBytes = 32 * 1024;
inline constexpr uint32_t kRecordLocalMemoryTotalBytes = 3 << 20;
inline constexpr uint32_t kRecordMaxPotentialClusterSize = 8;  // Of launches with a cluster; else 0.
inline constexpr uint32_t kRecordMaxActiveClusters = 66;       // Of launches with a cluster; else 0.

// The kind that reports a piece of work.
CUpti_ActivityKind RecordKind(WorkKind kind);

// Bytes of a record of `kind` by a CUPTI of `version`; 0 for a kind that the fake never writes.
//   12.8 and 12.9 (26 to 28): CUpti_ActivityKernel9. 13.0: ...Kernel10. Later versions are not in the headers: their
//   records are taken to be Kernel10 with 8 bytes of junk more per minor release.
size_t RecordBytes(CUpti_ActivityKind kind, uint32_t version);

// The record as bytes; kernels are of kind CONCURRENT_KERNEL.
std::string BuildRecord(const Work& work, uint32_t version);

// A record of a kind that no client asked for (CUPTI_ACTIVITY_KIND_NAME).
std::string BuildStrangeRecord();

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_FAKE_RECORDS_H_
