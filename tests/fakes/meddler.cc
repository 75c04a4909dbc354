// libmeddler.so, for LD_PRELOAD: makes what the injection library itself asks of libc fail, and nothing that anybody
// else asks. Whose request it is, the stack says: the innermost frame that is neither libc's nor the C++ library's.
//
//   MEDDLE_ALLOCATION=N     the N-th allocation fails (from 1): operator new throws std::bad_alloc
//   MEDDLE_ALLOCATION=N+    and so do all after it
//   MEDDLE_ALLOCATION=N/M   and so does every M-th after it
//   MEDDLE_WRITE=full:N     the trace's disk is full after N bytes (ENOSPC)
//   MEDDLE_WRITE=slow:N     each write to it takes N milliseconds
//   MEDDLE_REPORT=FILE      "allocations A, failed F" of this process, when it ends by exit()
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#define GX_EXPORT __attribute__((visibility("default")))

namespace {

constexpr char kVictim[] = "libgpuexec_inject.so";
constexpr int kMaxFrames = 24;
constexpr int kMaxRanges = 32;

struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool is_victim = false;  // Else one of those that only pass a request on.
};

// Once the victim is mapped: its code, and that of the libraries that stand between it and us.
struct Ranges {
  Range range[kMaxRanges];
  int count = 0;
  bool has_victim = false;
};

struct Plan {
  uint64_t first = 0;  // 0: none.
  uint64_t step = 0;   // 0: only the first.
  uint64_t full_bytes = UINT64_MAX;
  uint64_t slow_ms = 0;
};

Ranges ranges;
std::atomic<bool> ranges_known{false};
std::atomic<uint64_t> allocations{0};
std::atomic<uint64_t> failed{0};
std::atomic<uint64_t> written_bytes{0};
thread_local bool inside = false;

Plan ReadPlan() {
  Plan plan;
  if (const char* text = getenv("MEDDLE_ALLOCATION")) {
    char* rest = nullptr;
    plan.first = strtoull(text, &rest, 10);
    if (*rest == '+') plan.step = 1;
    if (*rest == '/') plan.step = strtoull(rest + 1, nullptr, 10);
  }
  if (const char* text = getenv("MEDDLE_WRITE")) {
    if (strncmp(text, "full:", 5) == 0) plan.full_bytes = strtoull(text + 5, nullptr, 10);
    if (strncmp(text, "slow:", 5) == 0) plan.slow_ms = strtoull(text + 5, nullptr, 10);
  }
  return plan;
}

const Plan& ThePlan() {
  static const Plan plan = ReadPlan();
  return plan;
}

int Visit(dl_phdr_info* info, size_t, void* user) {
  auto* found = static_cast<Ranges*>(user);
  const char* path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const bool is_victim = strstr(path, kVictim) != nullptr;
  const bool passes_on = strstr(path, "/libc.so") != nullptr || strstr(path, "libstdc++") != nullptr ||
                         strstr(path, "libmeddler") != nullptr || strstr(path, "libgcc_s") != nullptr;
  if (!is_victim && !passes_on) return 0;
  found->has_victim |= is_victim;
  for (int i = 0; i < info->dlpi_phnum && found->count < kMaxRanges; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    found->range[found->count++] = {begin, begin + header.p_memsz, is_victim};
  }
  return 0;
}

bool FindRanges() {
  if (ranges_known.load(std::memory_order_acquire)) return true;
  Ranges found;
  dl_iterate_phdr(Visit, &found);
  if (!found.has_victim) return false;
  // Two threads find the same.
  ranges = found;
  ranges_known.store(true, std::memory_order_release);
  return true;
}

// Null: somebody else's code.
const Range* RangeOf(const void* address) {
  const auto where = reinterpret_cast<uintptr_t>(address);
  for (int i = 0; i < ranges.count; ++i) {
    if (where >= ranges.range[i].begin && where < ranges.range[i].end) return &ranges.range[i];
  }
  return nullptr;
}

// Whether the request that is being made on this thread is the victim's own.
bool IsVictims() {
  if (inside || !FindRanges()) return false;
  inside = true;
  void* frames[kMaxFrames];
  const int count = backtrace(frames, kMaxFrames);
  bool is_victims = false;
  for (int i = 0; i < count; ++i) {
    const Range* range = RangeOf(frames[i]);
    if (range != nullptr && !range->is_victim) continue;
    is_victims = range != nullptr;
    break;
  }
  inside = false;
  return is_victims;
}

bool Fails() {
  const Plan& plan = ThePlan();
  if (plan.first == 0 || !IsVictims()) return false;
  const uint64_t number = allocations.fetch_add(1) + 1;
  const bool fails =
      number == plan.first || (number > plan.first && plan.step != 0 && (number - plan.first) % plan.step == 0);
  if (fails) failed.fetch_add(1);
  return fails;
}

void* Allocate(size_t bytes) { return malloc(bytes == 0 ? 1 : bytes); }

void* AllocateAligned(size_t bytes, size_t alignment) {
  void* place = nullptr;
  return posix_memalign(&place, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes) == 0 ? place : nullptr;
}

// Says how much there was to fail, so that a test knows when it has been through all of it.
struct Reporter {
  Reporter() {
    // The first call of backtrace loads a library: now, not inside somebody's allocation.
    void* frame = nullptr;
    (void)backtrace(&frame, 1);
  }
  ~Reporter() {
    const char* path = getenv("MEDDLE_REPORT");
    if (path == nullptr) return;
    inside = true;
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    char text[100];
    const int length =
        snprintf(text, sizeof(text), "allocations %llu, failed %llu\n",
                 static_cast<unsigned long long>(allocations.load()), static_cast<unsigned long long>(failed.load()));
    if (file < 0) return;
    (void)!write(file, text, static_cast<size_t>(length));
    close(file);
  }
};
Reporter reporter;

}  // namespace

GX_EXPORT void* operator new(size_t bytes) {
  if (Fails()) throw std::bad_alloc();
  if (void* place = Allocate(bytes)) return place;
  throw std::bad_alloc();
}
GX_EXPORT void* operator new[](size_t bytes) { return operator new(bytes); }
GX_EXPORT void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return Fails() ? nullptr : Allocate(bytes);
}
GX_EXPORT void* operator new[](size_t bytes, const std::nothrow_t& tag) noexcept { return operator new(bytes, tag); }
GX_EXPORT void* operator new(size_t bytes, std::align_val_t alignment) {
  if (Fails()) throw std::bad_alloc();
  if (void* place = AllocateAligned(bytes, static_cast<size_t>(alignment))) return place;
  throw std::bad_alloc();
}
GX_EXPORT void* operator new[](size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
GX_EXPORT void operator delete(void* place) noexcept { free(place); }
GX_EXPORT void operator delete[](void* place) noexcept { free(place); }
GX_EXPORT void operator delete(void* place, size_t) noexcept { free(place); }
GX_EXPORT void operator delete[](void* place, size_t) noexcept { free(place); }
GX_EXPORT void operator delete(void* place, std::align_val_t) noexcept { free(place); }
GX_EXPORT void operator delete[](void* place, std::align_val_t) noexcept { free(place); }
GX_EXPORT void operator delete(void* place, size_t, std::align_val_t) noexcept { free(place); }
GX_EXPORT void operator delete[](void* place, size_t, std::align_val_t) noexcept { free(place); }

extern "C" GX_EXPORT ssize_t write(int descriptor, const void* data, size_t bytes) {
  static ssize_t (*const real)(int, const void*, size_t) =
      reinterpret_cast<ssize_t (*)(int, const void*, size_t)>(dlsym(RTLD_NEXT, "write"));
  const Plan& plan = ThePlan();
  if ((plan.full_bytes != UINT64_MAX || plan.slow_ms != 0) && IsVictims()) {
    if (plan.slow_ms != 0) usleep(static_cast<useconds_t>(plan.slow_ms) * 1000);
    const uint64_t before = written_bytes.fetch_add(bytes);
    if (before >= plan.full_bytes) {
      errno = ENOSPC;
      return -1;
    }
    // The last piece that has room.
    if (before + bytes > plan.full_bytes) bytes = plan.full_bytes - before;
  }
  return real(descriptor, data, bytes);
}
