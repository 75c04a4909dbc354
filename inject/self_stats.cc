#include "inject/self_stats.h"

#include <type_traits>

namespace gx::inject {
namespace {

// Constant-initialised and never destroyed: usable before the first constructor and after the last destructor.
constinit SelfStats process_stats;
static_assert(std::is_trivially_destructible_v<SelfStats>);

}  // namespace

SelfStats& Stats() noexcept { return process_stats; }

}  // namespace gx::inject
