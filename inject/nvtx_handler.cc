#include "inject/nvtx_handler.h"

#include <nvtx3/nvToolsExt.h>  // with nvtxDetail/nvtxTypes.h: the injection side of the interface
#include <sys/mman.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <cwchar>
#include <string_view>
#include <system_error>

#include "inject/boundary.h"
#include "inject/clock.h"
#include "inject/spin_lock.h"

namespace gx::inject {
namespace {

constexpr uint32_t kMaxDomains = 1024;
// Longer messages are cut: NVTX ranges are names, and a queue holds 64 KiB at least.
constexpr uint32_t kMessageLimitBytes = 4096;
// Domain names and registered strings.
constexpr uint64_t kTextBytes = uint64_t{8} << 20;

struct Domain {
  const char* name;
  uint32_t name_bytes;
};

// What an nvtxStringHandle_t points at.
struct RegisteredString {
  uint32_t bytes;
  char text[];
};

struct Handler {
  std::atomic<bool> enabled{false};
  // Installed again, with the same value, by each library's copy of NVTX while others are in use.
  std::atomic<ThreadQueues*> queues{nullptr};
  SpinLock lock;
  Domain domains[kMaxDomains] = {};
  std::atomic<uint32_t> domain_count{1};  // Index 0 is unused, 1 the default domain.
  char* text = nullptr;
  uint64_t text_used = 0;
  std::atomic<uint64_t> next_range_id{1};
};

Handler g_handler;

bool EnsureText() noexcept {
  if (g_handler.text != nullptr) return true;
  void* memory = mmap(nullptr, kTextBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  g_handler.text = static_cast<char*>(memory);
  return true;
}

// Under the lock.
char* TakeText(uint64_t bytes) noexcept {
  bytes = (bytes + 7) & ~uint64_t{7};
  if (!EnsureText() || kTextBytes - g_handler.text_used < bytes) return nullptr;
  char* taken = g_handler.text + g_handler.text_used;
  g_handler.text_used += bytes;
  return taken;
}

// A message as UTF-8 in a buffer of the caller's.
struct Message {
  const char* text = nullptr;
  uint32_t bytes = 0;
  char converted[kMessageLimitBytes];

  void SetBytes(const char* source) noexcept {
    if (source == nullptr) return;
    text = source;
    bytes = static_cast<uint32_t>(strnlen(source, kMessageLimitBytes));
  }
  void SetWide(const wchar_t* source) noexcept {
    if (source == nullptr) return;
    uint32_t used = 0;
    for (; *source != L'\0' && used + 4 <= sizeof(converted); ++source) {
      const auto code = static_cast<uint32_t>(*source);
      const auto put = [&](uint32_t byte) { converted[used++] = static_cast<char>(byte); };
      if (code < 0x80) {
        put(code);
      } else if (code < 0x800) {
        put(0xC0 | code >> 6);
        put(0x80 | (code & 0x3F));
      } else if (code < 0x10000) {
        put(0xE0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3F));
        put(0x80 | (code & 0x3F));
      } else {
        put(0xF0 | (code >> 18 & 0x07));
        put(0x80 | (code >> 12 & 0x3F));
        put(0x80 | (code >> 6 & 0x3F));
        put(0x80 | (code & 0x3F));
      }
    }
    text = converted;
    bytes = used;
  }
};

// A number as text; the shortest that reads as the same number. Not printf: it follows the program's locale.
struct Payload {
  char buffer[64];
  size_t bytes = 0;

  template <typename Number>
  void Set(Number number) noexcept {
    const std::to_chars_result result = std::to_chars(buffer, buffer + sizeof(buffer), number);
    bytes = result.ec == std::errc() ? static_cast<size_t>(result.ptr - buffer) : 0;
  }
  std::string_view text() const noexcept { return {buffer, bytes}; }
};

uint32_t DomainIndex(nvtxDomainHandle_t domain) noexcept {
  const auto index = reinterpret_cast<uintptr_t>(domain);
  return index == 0 || index > g_handler.domain_count.load(std::memory_order_acquire) ? 1
                                                                                      : static_cast<uint32_t>(index);
}

void Emit(NvtxKind kind, uint32_t domain_index, const Message* message, std::string_view payload,
          uint64_t range_id) noexcept {
  if (!g_handler.enabled.load(std::memory_order_acquire)) return;
  ThreadState* thread = g_handler.queues.load(std::memory_order_relaxed)->Current();
  if (thread == nullptr) {
    Stats().Add(StatId::kNvtxDroppedQueueFull);
    return;
  }
  const uint32_t text_bytes = message == nullptr ? 0 : message->bytes;
  const auto payload_bytes = static_cast<uint32_t>(payload.size());
  auto* event = thread->queue.Reserve<NvtxEvent>(EventType::kNvtx, text_bytes + payload_bytes);
  if (event == nullptr) {
    Stats().Add(StatId::kNvtxDroppedQueueFull);
    return;
  }
  event->monotonic_ns = MonotonicNs();
  event->range_id = range_id;
  event->kind = static_cast<uint32_t>(kind);
  event->domain_index = domain_index;
  event->text_bytes = text_bytes;
  event->payload_bytes = payload_bytes;
  auto* behind = reinterpret_cast<char*>(event + 1);
  if (text_bytes != 0) std::memcpy(behind, message->text, text_bytes);
  if (payload_bytes != 0) std::memcpy(behind + text_bytes, payload.data(), payload_bytes);
  thread->queue.Commit();
  Stats().Add(StatId::kNvtxEvents);
}

void EmitAttributes(NvtxKind kind, uint32_t domain_index, const nvtxEventAttributes_t* attributes,
                    uint64_t range_id) noexcept {
  Message message;
  Payload payload;
  if (attributes != nullptr) {
    switch (attributes->messageType) {
      case NVTX_MESSAGE_TYPE_ASCII:
        message.SetBytes(attributes->message.ascii);
        break;
      case NVTX_MESSAGE_TYPE_UNICODE:
        message.SetWide(attributes->message.unicode);
        break;
      case NVTX_MESSAGE_TYPE_REGISTERED: {
        const auto* registered = reinterpret_cast<const RegisteredString*>(attributes->message.registered);
        if (registered != nullptr) {
          message.text = registered->text;
          message.bytes = registered->bytes;
        }
        break;
      }
      default:
        break;
    }
    const auto& value = attributes->payload;
    switch (attributes->payloadType) {
      case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        payload.Set(value.ullValue);
        break;
      case NVTX_PAYLOAD_TYPE_INT64:
        payload.Set(value.llValue);
        break;
      case NVTX_PAYLOAD_TYPE_DOUBLE:
        payload.Set(value.dValue);
        break;
      case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        payload.Set(value.uiValue);
        break;
      case NVTX_PAYLOAD_TYPE_INT32:
        payload.Set(value.iValue);
        break;
      case NVTX_PAYLOAD_TYPE_FLOAT:
        payload.Set(value.fValue);
        break;
      default:
        break;
    }
  }
  Emit(kind, domain_index, &message, payload.text(), range_id);
}

// NVTX wants the nesting level of pushes and pops: kept per thread and domain by real tools; what we return is allowed
// to say "not supported" (NVTX_NO_PUSH_POP_TRACKING).
constexpr int kNoTracking = NVTX_NO_PUSH_POP_TRACKING;

void NVTX_API MarkEx(const nvtxEventAttributes_t* attributes) { EmitAttributes(NvtxKind::kMark, 1, attributes, 0); }
void NVTX_API MarkA(const char* text) {
  Message message;
  message.SetBytes(text);
  Emit(NvtxKind::kMark, 1, &message, {}, 0);
}
void NVTX_API MarkW(const wchar_t* text) {
  Message message;
  message.SetWide(text);
  Emit(NvtxKind::kMark, 1, &message, {}, 0);
}
uint64_t NextRangeId() noexcept { return g_handler.next_range_id.fetch_add(1, std::memory_order_relaxed); }
nvtxRangeId_t NVTX_API RangeStartEx(const nvtxEventAttributes_t* attributes) {
  const uint64_t range_id = NextRangeId();
  EmitAttributes(NvtxKind::kStart, 1, attributes, range_id);
  return range_id;
}
nvtxRangeId_t NVTX_API RangeStartA(const char* text) {
  const uint64_t range_id = NextRangeId();
  Message message;
  message.SetBytes(text);
  Emit(NvtxKind::kStart, 1, &message, {}, range_id);
  return range_id;
}
nvtxRangeId_t NVTX_API RangeStartW(const wchar_t* text) {
  const uint64_t range_id = NextRangeId();
  Message message;
  message.SetWide(text);
  Emit(NvtxKind::kStart, 1, &message, {}, range_id);
  return range_id;
}
void NVTX_API RangeEnd(nvtxRangeId_t range_id) { Emit(NvtxKind::kEnd, 1, nullptr, {}, range_id); }
int NVTX_API RangePushEx(const nvtxEventAttributes_t* attributes) {
  EmitAttributes(NvtxKind::kPush, 1, attributes, 0);
  return kNoTracking;
}
int NVTX_API RangePushA(const char* text) {
  Message message;
  message.SetBytes(text);
  Emit(NvtxKind::kPush, 1, &message, {}, 0);
  return kNoTracking;
}
int NVTX_API RangePushW(const wchar_t* text) {
  Message message;
  message.SetWide(text);
  Emit(NvtxKind::kPush, 1, &message, {}, 0);
  return kNoTracking;
}
int NVTX_API RangePop() {
  Emit(NvtxKind::kPop, 1, nullptr, {}, 0);
  return kNoTracking;
}

void NVTX_API DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  EmitAttributes(NvtxKind::kMark, DomainIndex(domain), attributes, 0);
}
nvtxRangeId_t NVTX_API DomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  const uint64_t range_id = NextRangeId();
  EmitAttributes(NvtxKind::kStart, DomainIndex(domain), attributes, range_id);
  return range_id;
}
void NVTX_API DomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t range_id) {
  Emit(NvtxKind::kEnd, DomainIndex(domain), nullptr, {}, range_id);
}
int NVTX_API DomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  EmitAttributes(NvtxKind::kPush, DomainIndex(domain), attributes, 0);
  return kNoTracking;
}
int NVTX_API DomainRangePop(nvtxDomainHandle_t domain) {
  Emit(NvtxKind::kPop, DomainIndex(domain), nullptr, {}, 0);
  return kNoTracking;
}

nvtxDomainHandle_t CreateDomain(const Message& name) noexcept {
  if (!g_handler.lock.TryLock()) {
    Stats().Add(StatId::kNvtxUnnamed);
    return nullptr;
  }
  uint32_t index = 0;
  const uint32_t count = g_handler.domain_count.load(std::memory_order_relaxed);
  for (uint32_t i = 2; i <= count && index == 0; ++i) {
    const Domain& domain = g_handler.domains[i];
    if (std::string_view(domain.name, domain.name_bytes) == std::string_view(name.text, name.bytes)) index = i;
  }
  if (index == 0 && count + 1 < kMaxDomains) {
    char* copy = TakeText(name.bytes + 1);
    if (copy != nullptr) {
      if (name.bytes != 0) std::memcpy(copy, name.text, name.bytes);
      index = count + 1;
      g_handler.domains[index] = {copy, name.bytes};
      g_handler.domain_count.store(index, std::memory_order_release);
    }
  }
  g_handler.lock.Unlock();
  if (index == 0) Stats().Add(StatId::kNvtxUnnamed);
  // A handle is its index: 0 (no room) is the default domain, as NVTX defines it.
  return reinterpret_cast<nvtxDomainHandle_t>(static_cast<uintptr_t>(index));
}
nvtxDomainHandle_t NVTX_API DomainCreateA(const char* name) {
  Message message;
  message.SetBytes(name);
  return CreateDomain(message);
}
nvtxDomainHandle_t NVTX_API DomainCreateW(const wchar_t* name) {
  Message message;
  message.SetWide(name);
  return CreateDomain(message);
}

nvtxStringHandle_t Register(const Message& text) noexcept {
  if (!g_handler.lock.TryLock()) {
    Stats().Add(StatId::kNvtxUnnamed);
    return nullptr;
  }
  char* room = TakeText(sizeof(RegisteredString) + text.bytes + 1);
  g_handler.lock.Unlock();
  if (room == nullptr) {
    Stats().Add(StatId::kNvtxUnnamed);
    return nullptr;
  }
  auto* registered = reinterpret_cast<RegisteredString*>(room);
  registered->bytes = text.bytes;
  if (text.bytes != 0) std::memcpy(registered->text, text.text, text.bytes);
  return reinterpret_cast<nvtxStringHandle_t>(registered);
}
nvtxStringHandle_t NVTX_API DomainRegisterStringA(nvtxDomainHandle_t, const char* text) {
  Message message;
  message.SetBytes(text);
  return Register(message);
}
nvtxStringHandle_t NVTX_API DomainRegisterStringW(nvtxDomainHandle_t, const wchar_t* text) {
  Message message;
  message.SetWide(text);
  return Register(message);
}

template <typename Function>
void Install(NvtxFunctionTable table, unsigned size, unsigned index, Function* function) noexcept {
  // The table holds the addresses of the program's function pointers.
  if (index < size && table[index] != nullptr) {
    *table[index] = reinterpret_cast<NvtxFunctionPointer>(function);
  }
}

}  // namespace

bool InstallNvtxHandler(const void* (*get_export_table)(uint32_t), ThreadQueues* queues) noexcept {
  if (get_export_table == nullptr) return false;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) return false;
  NvtxFunctionTable core = nullptr;
  NvtxFunctionTable core2 = nullptr;
  unsigned core_size = 0;
  unsigned core2_size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &core_size) == 0 || core == nullptr) return false;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &core2_size) == 0) core2_size = 0;
  g_handler.queues.store(queues, std::memory_order_relaxed);
  g_handler.enabled.store(true, std::memory_order_release);
  Install(core, core_size, NVTX_CBID_CORE_MarkEx, MarkEx);
  Install(core, core_size, NVTX_CBID_CORE_MarkA, MarkA);
  Install(core, core_size, NVTX_CBID_CORE_MarkW, MarkW);
  Install(core, core_size, NVTX_CBID_CORE_RangeStartEx, RangeStartEx);
  Install(core, core_size, NVTX_CBID_CORE_RangeStartA, RangeStartA);
  Install(core, core_size, NVTX_CBID_CORE_RangeStartW, RangeStartW);
  Install(core, core_size, NVTX_CBID_CORE_RangeEnd, RangeEnd);
  Install(core, core_size, NVTX_CBID_CORE_RangePushEx, RangePushEx);
  Install(core, core_size, NVTX_CBID_CORE_RangePushA, RangePushA);
  Install(core, core_size, NVTX_CBID_CORE_RangePushW, RangePushW);
  Install(core, core_size, NVTX_CBID_CORE_RangePop, RangePop);
  if (core2_size != 0 && core2 != nullptr) {
    Install(core2, core2_size, NVTX_CBID_CORE2_DomainMarkEx, DomainMarkEx);
    Install(core2, core2_size, NVTX_CBID_CORE2_DomainRangeStartEx, DomainRangeStartEx);
    Install(core2, core2_size, NVTX_CBID_CORE2_DomainRangeEnd, DomainRangeEnd);
    Install(core2, core2_size, NVTX_CBID_CORE2_DomainRangePushEx, DomainRangePushEx);
    Install(core2, core2_size, NVTX_CBID_CORE2_DomainRangePop, DomainRangePop);
    Install(core2, core2_size, NVTX_CBID_CORE2_DomainRegisterStringA, DomainRegisterStringA);
    Install(core2, core2_size, NVTX_CBID_CORE2_DomainRegisterStringW, DomainRegisterStringW);
    Install(core2, core2_size, NVTX_CBID_CORE2_DomainCreateA, DomainCreateA);
    Install(core2, core2_size, NVTX_CBID_CORE2_DomainCreateW, DomainCreateW);
  }
  return true;
}

std::string_view NvtxDomainName(uint32_t domain_index) noexcept {
  if (domain_index < 2 || domain_index > g_handler.domain_count.load(std::memory_order_acquire)) return {};
  const Domain& domain = g_handler.domains[domain_index];
  return {domain.name, domain.name_bytes};
}

void SetNvtxEnabled(bool enabled) noexcept {
  g_handler.enabled.store(enabled && g_handler.queues.load(std::memory_order_relaxed) != nullptr,
                          std::memory_order_release);
}

}  // namespace gx::inject
