// The checksum of frames: XXH3-64 with seed 0, exactly as proto/README.md states it. Pure. [MT]
#ifndef GPUEXEC_INJECT_CHECKSUM_H_
#define GPUEXEC_INJECT_CHECKSUM_H_

#include <cstdint>
#include <string_view>

namespace gx::inject {

uint64_t Checksum(std::string_view bytes) noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CHECKSUM_H_
