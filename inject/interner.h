// Interned ids of the trace: names, tracks, functions, signatures, kernel attributes, threads. A new one is written to
// the encoder at once, so that definitions always stand before their use. Used by the writer thread alone.
#ifndef GPUEXEC_INJECT_INTERNER_H_
#define GPUEXEC_INJECT_INTERNER_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "inject/activity_decoder.h"
#include "inject/event.h"
#include "inject/function_table.h"
#include "inject/trace_encoder.h"

namespace gx::inject {

// What is to be asked of the driver about something that was seen for the first time.
struct NewFunction {
  uint64_t iid = 0;
  uint32_t function_index = 0;
  uint32_t context_id = 0;  // Of the launch; 0: unknown.
};
struct NewSignature {
  uint64_t iid = 0;
  uint32_t function_index = 0;
  uint32_t block_threads = 0;
  uint32_t dynamic_shared_memory_bytes = 0;
  uint32_t context_id = 0;
};

class Interner {
 public:
  Interner(TraceEncoder* encoder, const FunctionTable* functions) : encoder_(encoder), functions_(functions) {}

  uint64_t Name(std::string_view value);
  // Text of an NVTX range. A program may make a new one for every range ("step 17"): only so many are remembered, and
  // one that comes again after that is defined anew.
  uint64_t RangeText(std::string_view value);
  uint64_t Track(uint32_t device_id, uint32_t context_id, uint32_t stream_id);
  void Thread(uint32_t thread_id);
  // 0 for index 0. `context_id`: of the launch; 0: unknown.
  uint64_t Function(uint32_t function_index, uint32_t context_id);
  // 0 for parameters that could not be read.
  uint64_t Signature(const LaunchParameters& parameters, uint32_t device_id, bool graph_node, uint32_t context_id = 0);
  // `name` is looked at only during the call.
  uint64_t KernelAttributes(const KernelLaunchValues& values, const char* name);
  // Between buffers: CUPTI may use the memory of a name again.
  void ForgetNamePointers() { name_pointers_.fill({}); }

  // Asked for since the last call.
  std::vector<NewFunction> TakeNewFunctions() { return std::exchange(new_functions_, {}); }
  std::vector<NewSignature> TakeNewSignatures() { return std::exchange(new_signatures_, {}); }
  // The name of a function became known later (graph nodes name none).
  void NameFunction(uint64_t function_iid, std::string_view name);

 private:
  // Keys are blocks of bytes without padding.
  struct SignatureKey {
    uint32_t function_iid = 0;
    uint32_t device_id = 0;
    Dim3 grid, block, cluster, preferred_cluster;
    uint32_t dynamic_shared_memory_bytes = 0;
    int32_t carveout = kNoCarveout;
    uint32_t flags = 0;
    friend bool operator==(const SignatureKey&, const SignatureKey&) = default;
  };
  struct AttributesKey {
    KernelLaunchValues values{};
    uint64_t name_iid = 0;
    friend bool operator==(const AttributesKey& a, const AttributesKey& b) {
      return std::memcmp(&a, &b, sizeof(a)) == 0;
    }
  };
  struct BytesHash {
    template <typename Key>
    size_t operator()(const Key& key) const noexcept;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  struct NamePointer {
    const char* pointer = nullptr;
    uint64_t iid = 0;
  };

  TraceEncoder* encoder_;
  const FunctionTable* functions_;
  static constexpr size_t kRangeTextLimit = 65536;
  static constexpr size_t kRangeTextBytesLimit = size_t{8} << 20;

  std::unordered_map<std::string, uint64_t, TextHash, std::equal_to<>> names_;
  std::unordered_map<std::string, uint64_t, TextHash, std::equal_to<>> range_texts_;
  size_t range_text_bytes_ = 0;
  uint64_t name_count_ = 0;  // Of both.
  std::unordered_map<std::string, uint64_t, TextHash, std::equal_to<>> functions_by_code_;
  std::vector<uint64_t> function_iids_;  // By function index.
  uint64_t function_count_ = 0;
  std::unordered_map<SignatureKey, uint64_t, BytesHash> signatures_;
  std::unordered_map<AttributesKey, uint64_t, BytesHash> attributes_;
  std::unordered_map<uint64_t, std::unordered_map<uint64_t, uint64_t>> tracks_;  // (device, context) -> stream -> iid
  uint64_t track_count_ = 0;
  std::unordered_set<uint32_t> threads_;
  std::array<NamePointer, 256> name_pointers_{};
  std::vector<NewFunction> new_functions_;
  std::vector<NewSignature> new_signatures_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_INTERNER_H_
