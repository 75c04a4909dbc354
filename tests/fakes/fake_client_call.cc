#include "tests/fakes/fake_client_call.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "tests/fakes/fake_log.h"
#include "tests/fakes/fake_scenario.h"

namespace gx::fakes {
namespace {

uint64_t CountCall(const char* function) {
  static auto& mutex = *new std::mutex();
  static auto& counts = *new std::map<std::string, uint64_t>();
  std::lock_guard lock(mutex);
  return ++counts[function];
}

std::atomic<bool> any_failed{false};

}  // namespace

const GpuDriver* FindDriver() {
  static const GpuDriver* const driver = []() -> const GpuDriver* {
    void* const library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
    if (library == nullptr) return nullptr;
    const auto find = reinterpret_cast<GpuDriverFunction>(dlsym(library, kGpuDriverSymbol));
    return find == nullptr ? nullptr : find();
  }();
  return driver;
}

CUptiResult BeginCall(const char* function, uint64_t argument) {
  static const pid_t owner = getpid();
  if (getpid() != owner) {
    LogViolation(std::string(function) + " in a forked child");
    return CUPTI_ERROR_NOT_INITIALIZED;
  }
  if (const int code = InjectedFailure(function, argument)) return static_cast<CUptiResult>(code);
  return CUPTI_SUCCESS;
}

CUptiResult BeginCountedCall(const char* function, bool logged) {
  const uint64_t number = CountCall(function);
  const CUptiResult result = BeginCall(function, number);
  if (result != CUPTI_SUCCESS) any_failed.store(true);
  if (logged || result != CUPTI_SUCCESS) {
    LogLine("cupti")
        .Add("function", function)
        .Add("argument", number)
        .Add("result", static_cast<uint64_t>(result))
        .Add("pid", static_cast<uint64_t>(getpid()));
  }
  return result;
}

bool AnyCountedCallFailed() { return any_failed.load(); }

}  // namespace gx::fakes
