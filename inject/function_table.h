// Functions by the handle that launches name them with, and what code they are. Filled inside callbacks: memory is
// reserved once, nothing allocates, a lookup takes no lock.
//
// A handle may be used again for another function after its module was unloaded: every unload starts a new epoch, and a
// handle last seen in an earlier one is compared by name and code before it is believed.
#ifndef GPUEXEC_INJECT_FUNCTION_TABLE_H_
#define GPUEXEC_INJECT_FUNCTION_TABLE_H_

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "inject/spin_lock.h"

namespace gx::inject {

struct Code {
  uint64_t hash = 0;
  uint32_t module_id = 0;
  bool ambiguous = false;
};

struct FunctionInfo {
  // As given to launches: a CUfunction, or a CUkernel cast to one.
  const void* handle = nullptr;
  const void* context = nullptr;  // CUcontext of the first launch.
  const char* name = nullptr;     // Mangled; null: the callback did not say.
  uint32_t name_bytes = 0;
  bool has_code = false;
  Code code;
  // The last epoch in which the handle was known to name this function.
  std::atomic<uint32_t> epoch{0};
};

class FunctionTable {
 public:
  // Reserves about `budget_bytes` of address space. Call once.
  [[nodiscard]] bool Allocate(uint64_t budget_bytes) noexcept;

  // [MT] Index (from 1) of the function that `handle` names now. `name` may be null. 0: the table is full.
  uint32_t Find(const void* handle, const void* context, const char* name) noexcept {
    const uint32_t index = FindKnown(handle);
    return index != 0 ? index : FindOrInsert(handle, context, name);
  }
  // [MT] The function of an index that Find returned.
  const FunctionInfo& Get(uint32_t index) const noexcept { return functions_[index]; }

  // [MT] A module appears: notes the code of its functions. Returns how many were noted; `full` tells whether some were
  // not.
  uint32_t AddModule(uint32_t module_id, std::span<const uint8_t> cubin, bool* full) noexcept;
  // [MT] A module goes: its code is forgotten and a new epoch begins.
  void RemoveModule(uint32_t module_id) noexcept;
  // [MT] Handles may have changed their meaning.
  void NewEpoch() noexcept { epoch_.fetch_add(1, std::memory_order_acq_rel); }
  uint32_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }

 private:
  struct Slot {
    std::atomic<uintptr_t> handle{0};
    std::atomic<uint32_t> index{0};
  };
  struct CodeSlot {
    uint64_t name_hash = 0;  // 0: never used.
    Code code;
    bool present = false;
    // More than one module had it at a time: which of them is still there is not known, so it is kept.
    bool shared = false;
  };

  uint32_t FindKnown(const void* handle) const noexcept;
  uint32_t FindOrInsert(const void* handle, const void* context, const char* name) noexcept;
  const CodeSlot* FindCode(uint64_t name_hash) const noexcept;
  void AddCode(uint64_t name_hash, uint64_t code_hash, uint32_t module_id, bool* full) noexcept;
  const char* CopyName(const char* name, uint32_t bytes) noexcept;

  std::atomic<uint32_t> epoch_{1};
  SpinLock lock_;
  Slot* slots_ = nullptr;
  uint32_t slot_count_ = 0;
  FunctionInfo* functions_ = nullptr;
  uint32_t function_capacity_ = 0;
  uint32_t function_count_ = 0;
  CodeSlot* codes_ = nullptr;
  uint32_t code_count_ = 0;
  uint32_t codes_used_ = 0;
  char* names_ = nullptr;
  uint64_t names_capacity_ = 0;
  uint64_t names_used_ = 0;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_FUNCTION_TABLE_H_
