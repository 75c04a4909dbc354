// Ids of the functions that API records name, and their names, asked of CUPTI once each.
#ifndef GPUEXEC_INJECT_API_FUNCTIONS_H_
#define GPUEXEC_INJECT_API_FUNCTIONS_H_

#include <cstdint>
#include <unordered_map>

#include "inject/cupti_api.h"
#include "inject/trace_encoder.h"

namespace gx::inject {

// Used by the writer thread alone.
class ApiFunctions {
 public:
  // `cupti` may lack cuptiGetCallbackName, or be null: functions have no names then.
  ApiFunctions(const CuptiApi* cupti, TraceEncoder* encoder) noexcept : cupti_(cupti), encoder_(encoder) {}

  // The function's id, 1, 2, 3, ...; defined in the trace when it is new.
  uint64_t Find(ApiDomain domain, uint32_t cbid);

 private:
  const CuptiApi* cupti_;
  TraceEncoder* encoder_;
  std::unordered_map<uint64_t, uint64_t> iids_;  // domain << 32 | cbid
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_API_FUNCTIONS_H_
