// XXH3-64 of bytes, the hash of the whole trace format; 0 is turned into 1 so that 0 can mean "none" in tables.
#ifndef GPUEXEC_INJECT_HASH_H_
#define GPUEXEC_INJECT_HASH_H_

#include <cstddef>
#include <cstdint>

namespace gx::inject {

uint64_t HashBytes(const void* data, size_t bytes) noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_HASH_H_
