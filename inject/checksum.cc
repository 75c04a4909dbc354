#include "inject/checksum.h"

// Everything static and inline: no symbol of xxhash that could meet the host's own copy.
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace gx::inject {

uint64_t Checksum(std::string_view bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace gx::inject
