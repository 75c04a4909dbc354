#include "inject/replay_memory.h"

namespace gx::inject {
namespace {

struct Reason {
  ReplayObstacle obstacle;
  const char* why;
};
constexpr Reason kReasons[] = {
    {ReplayObstacle::kManaged, "managed memory is in use: replay cannot restore it"},
    {ReplayObstacle::kHostMapped, "host memory is mapped for the device: replay cannot restore it"},
    {ReplayObstacle::kIpc, "memory is shared with another process or API: replay cannot restore it"},
    {ReplayObstacle::kPool, "memory of a stream-ordered pool is in use: replay may not restore it"},
    {ReplayObstacle::kPeer, "memory of another device can be written: replay cannot restore it"},
    {ReplayObstacle::kUnknown, "memory may be in use that replay cannot restore"},
};

}  // namespace

bool ReplayMemory::MayReplay(uint64_t used_bytes, uint64_t limit_bytes, const char** why) const noexcept {
  const char* reason = nullptr;
  for (const Reason& candidate : kReasons) {
    if (reason == nullptr && Has(candidate.obstacle)) reason = candidate.why;
  }
  if (reason == nullptr && used_bytes == 0) reason = "the device memory in use is not known";
  if (reason == nullptr && used_bytes > limit_bytes) reason = "more device memory is in use than replay may save";
  if (why != nullptr && reason != nullptr) *why = reason;
  return reason == nullptr;
}

}  // namespace gx::inject
