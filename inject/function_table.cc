#include "inject/function_table.h"

#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <new>

#include "inject/cubin.h"
#include "inject/hash.h"

namespace gx::inject {
namespace {

// Names longer than this are cut: a C++ template name of 100 kB has been seen in the wild, and must not fill the table.
constexpr uint32_t kNameLimitBytes = 65536;

uint32_t SlotOf(const void* handle, uint32_t slot_count) noexcept {
  // Handles are aligned pointers: fold the high bits in.
  const uint64_t bits = reinterpret_cast<uintptr_t>(handle) * 0x9E3779B97F4A7C15u;
  return static_cast<uint32_t>(bits >> 32) & (slot_count - 1);
}

}  // namespace

bool FunctionTable::Allocate(uint64_t budget_bytes) noexcept {
  // A quarter for code (128 Ki functions of 40 bytes from 32 MiB), a quarter for functions and slots, half for names.
  const uint64_t codes = std::bit_floor(budget_bytes / 4 / sizeof(CodeSlot));
  const uint64_t functions = std::bit_floor(budget_bytes / 4 / (sizeof(FunctionInfo) + 2 * sizeof(Slot)));
  const uint64_t slots = functions * 2;
  const uint64_t names = budget_bytes / 2;
  const uint64_t total = codes * sizeof(CodeSlot) + functions * sizeof(FunctionInfo) + slots * sizeof(Slot) + names;
  if (codes < 1024 || functions < 256) return false;
  void* memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  // Fresh anonymous pages are zero, which is the initial state of every type here: constructing each element would
  // touch (and so spend) all of the memory.
  auto* next = static_cast<uint8_t*>(memory);
  codes_ = reinterpret_cast<CodeSlot*>(next);
  code_count_ = static_cast<uint32_t>(codes);
  next += codes * sizeof(CodeSlot);
  functions_ = reinterpret_cast<FunctionInfo*>(next);
  function_capacity_ = static_cast<uint32_t>(functions);
  next += functions * sizeof(FunctionInfo);
  slots_ = reinterpret_cast<Slot*>(next);
  slot_count_ = static_cast<uint32_t>(slots);
  next += slots * sizeof(Slot);
  names_ = reinterpret_cast<char*>(next);
  names_capacity_ = names;
  return true;
}

uint32_t FunctionTable::FindKnown(const void* handle) const noexcept {
  if (slots_ == nullptr || handle == nullptr) return 0;
  const auto wanted = reinterpret_cast<uintptr_t>(handle);
  const uint32_t now = epoch_.load(std::memory_order_relaxed);
  for (uint32_t i = 0, at = SlotOf(handle, slot_count_); i < slot_count_; ++i, at = (at + 1) & (slot_count_ - 1)) {
    const uintptr_t found = slots_[at].handle.load(std::memory_order_acquire);
    if (found == 0) return 0;
    if (found != wanted) continue;
    const uint32_t index = slots_[at].index.load(std::memory_order_acquire);
    return functions_[index].epoch.load(std::memory_order_relaxed) == now ? index : 0;
  }
  return 0;
}

uint32_t FunctionTable::FindOrInsert(const void* handle, const void* context, const char* name) noexcept {
  if (slots_ == nullptr || handle == nullptr) return 0;
  if (!lock_.TryLock()) return 0;
  const uint32_t now = epoch_.load(std::memory_order_acquire);
  const auto wanted = reinterpret_cast<uintptr_t>(handle);
  uint32_t at = SlotOf(handle, slot_count_);
  uint32_t index = 0;
  while (true) {
    const uintptr_t found = slots_[at].handle.load(std::memory_order_relaxed);
    if (found == wanted) {
      index = slots_[at].index.load(std::memory_order_relaxed);
      break;
    }
    if (found == 0) break;
    at = (at + 1) & (slot_count_ - 1);
  }
  const size_t length = name == nullptr ? 0 : strnlen(name, kNameLimitBytes);
  const auto name_bytes = static_cast<uint32_t>(length);
  const CodeSlot* code = name == nullptr ? nullptr : FindCode(HashBytes(name, name_bytes));
  if (index != 0) {
    FunctionInfo& known = functions_[index];
    const bool same_name = name == nullptr || known.name == nullptr ||
                           (known.name_bytes == name_bytes && std::memcmp(known.name, name, name_bytes) == 0);
    const bool same_code = code == nullptr || !known.has_code || code->code.hash == known.code.hash;
    if (same_name && same_code) {
      known.epoch.store(now, std::memory_order_release);
      lock_.Unlock();
      return index;
    }
  }
  if (function_count_ + 1 >= function_capacity_) {
    lock_.Unlock();
    return 0;
  }
  index = ++function_count_;
  FunctionInfo& info = functions_[index];
  info.handle = handle;
  info.context = context;
  info.name = name == nullptr ? nullptr : CopyName(name, name_bytes);
  info.name_bytes = info.name == nullptr ? 0 : name_bytes;
  info.has_code = code != nullptr;
  if (code != nullptr) info.code = code->code;
  info.epoch.store(now, std::memory_order_release);
  slots_[at].index.store(index, std::memory_order_release);
  slots_[at].handle.store(wanted, std::memory_order_release);
  lock_.Unlock();
  return index;
}

const FunctionTable::CodeSlot* FunctionTable::FindCode(uint64_t name_hash) const noexcept {
  for (uint32_t i = 0, at = static_cast<uint32_t>(name_hash) & (code_count_ - 1); i < code_count_;
       ++i, at = (at + 1) & (code_count_ - 1)) {
    if (codes_[at].name_hash == 0) return nullptr;
    if (codes_[at].name_hash == name_hash) return codes_[at].present ? &codes_[at] : nullptr;
  }
  return nullptr;
}

void FunctionTable::AddCode(uint64_t name_hash, uint64_t code_hash, uint32_t module_id, bool* full) noexcept {
  for (uint32_t i = 0, at = static_cast<uint32_t>(name_hash) & (code_count_ - 1); i < code_count_;
       ++i, at = (at + 1) & (code_count_ - 1)) {
    CodeSlot& slot = codes_[at];
    if (slot.name_hash == name_hash) {
      const bool other = slot.present && slot.code.hash != code_hash;
      const uint32_t slot_module_id = slot.code.module_id;
      slot.code = {code_hash, module_id, slot.present && (slot.code.ambiguous || other)};
      slot.shared = slot.present && (slot.shared || slot_module_id != module_id);
      slot.present = true;
      return;
    }
    if (slot.name_hash == 0) {
      // Three quarters full: longer searches would cost callbacks time.
      if (codes_used_ >= code_count_ / 4 * 3) break;
      slot.name_hash = name_hash;
      slot.code = {code_hash, module_id, false};
      slot.present = true;
      ++codes_used_;
      return;
    }
  }
  *full = true;
}

uint32_t FunctionTable::AddModule(uint32_t module_id, std::span<const uint8_t> cubin, bool* full) noexcept {
  *full = false;
  if (codes_ == nullptr) return 0;
  struct Adding {
    FunctionTable* table;
    uint32_t module_id;
    uint32_t count;
    bool* full;
  } adding{this, module_id, 0, full};
  ForEachFunction(
      cubin,
      [](void* user, std::string_view name, std::span<const uint8_t> code) {
        auto* self = static_cast<Adding*>(user);
        // Hashed outside the lock: a module may hold hundreds of MB of code, and other threads launch meanwhile.
        const uint64_t name_hash = HashBytes(name.data(), name.size());
        const uint64_t code_hash = HashBytes(code.data(), code.size());
        if (!self->table->lock_.TryLock()) {
          *self->full = true;
          return;
        }
        self->table->AddCode(name_hash, code_hash, self->module_id, self->full);
        self->table->lock_.Unlock();
        ++self->count;
      },
      &adding);
  return adding.count;
}

void FunctionTable::RemoveModule(uint32_t module_id) noexcept {
  NewEpoch();
  if (codes_ == nullptr || !lock_.TryLock()) return;
  if (codes_used_ != 0) {
    for (uint32_t i = 0; i < code_count_; ++i) {
      CodeSlot& slot = codes_[i];
      if (slot.present && !slot.shared && slot.code.module_id == module_id) slot.present = false;
    }
  }
  lock_.Unlock();
}

const char* FunctionTable::CopyName(const char* name, uint32_t bytes) noexcept {
  if (names_capacity_ - names_used_ < bytes) return nullptr;
  char* copy = names_ + names_used_;
  std::memcpy(copy, name, bytes);
  names_used_ += bytes;
  return copy;
}

}  // namespace gx::inject
