#include "tests/model/allocation_counter.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

int64_t allocation_count = 0;

void* Allocate(size_t size) {
  ++allocation_count;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace gx::model {

int64_t AllocationCount() noexcept { return allocation_count; }

}  // namespace gx::model
