// Scenarios in which the program is a client of CUPTI, too (the library named by cupti=PATH).
#include <cupti.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fakes/host_driver.h"
#include "tests/fakes/host_program.h"

namespace gx::fakes {
namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;
// A test that waits for what never comes ends by itself.
constexpr int kLongestWaitMs = 30'000;

std::atomic<int> g_requested{0};
std::atomic<int> g_completed{0};

void CUPTIAPI Requested(uint8_t** buffer, size_t* size, size_t* max_records) {
  g_requested.fetch_add(1);
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = kBufferBytes;
  *max_records = 0;
}

// Buffers of the client before it come here, too: none is freed.
void CUPTIAPI Completed(CUcontext, uint32_t, uint8_t*, size_t, size_t) { g_completed.fetch_add(1); }

template <typename Function>
Function* Find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

bool Says(const std::string& path, const std::string& text) {
  std::ifstream in(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return all.find(text) != std::string::npos;
}

// Launches, and waits for each stream, until `path` says `text`; without a path for so many rounds. Returns how many.
int LaunchUntil(const Program& program, int count, const std::string& path, const std::string& text, int rounds = 1) {
  int launched = 0;
  for (int waited_ms = 0; waited_ms < kLongestWaitMs; waited_ms += 20) {
    for (int i = 0; i < count; ++i, ++launched) Check(LaunchNth(program, i, nullptr), "launch");
    GX_CHECK(cuStreamSynchronize(nullptr));
    if (path.empty() ? --rounds <= 0 : Says(path, text)) break;
    usleep(20'000);
  }
  return launched;
}

// takeover how=callbacks|kinds n=10 rounds=1 cupti=PATH: n launches; then another client registers buffer callbacks of
// its own, without subscribing, or switches kernel records off; n launches, so many times 20 ms apart, with until=FILE
// until that file speaks of another client. back=1: kernel records on again, and launches likewise, with until=FILE
// until it says that records have come again.
void TakeOver(const Options& options) {
  const Program program = Start(options);
  const int count = options.Number("n", 10);
  const int rounds = options.Number("rounds", 1);
  const std::string until = options.Text("until", "");
  (void)LaunchUntil(program, count, "", "");
  void* const library = dlopen(options.Text("cupti", "libcupti.so.13").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("no libcupti\n");
    return;
  }
  const bool takes_callbacks = options.Text("how", "callbacks") == "callbacks";
  if (takes_callbacks) {
    std::printf("register: %d\n", static_cast<int>(Find<decltype(::cuptiActivityRegisterCallbacks)>(
                                      library, "cuptiActivityRegisterCallbacks")(Requested, Completed)));
  } else {
    std::printf("disable: %d\n", static_cast<int>(Find<decltype(::cuptiActivityDisable)>(
                                     library, "cuptiActivityDisable")(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)));
  }
  (void)LaunchUntil(program, count, until, "another CUPTI client", rounds);
  if (options.Number("back", 0) != 0) {
    std::printf("enable: %d\n", static_cast<int>(Find<decltype(::cuptiActivityEnable)>(
                                    library, "cuptiActivityEnable")(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)));
    (void)LaunchUntil(program, count, until, "records come again", rounds);
  }
  if (takes_callbacks) {
    Find<decltype(::cuptiActivityFlushAll)>(library, "cuptiActivityFlushAll")(1);
    std::printf("the other client has buffers: %s\n", g_completed.load() > 0 ? "yes" : "no");
  }
}

}  // namespace

const Scenarios& ClientScenarios() {
  static const auto& scenarios = *new Scenarios{{"takeover", TakeOver}};
  return scenarios;
}

}  // namespace gx::fakes
