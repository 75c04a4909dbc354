#include "inject/hash.h"

#include <string_view>

#include "inject/checksum.h"

namespace gx::inject {

uint64_t HashBytes(const void* data, size_t bytes) noexcept {
  const uint64_t hash = Checksum(std::string_view(static_cast<const char*>(data), bytes));
  return hash == 0 ? 1 : hash;
}

}  // namespace gx::inject
