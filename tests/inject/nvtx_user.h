// The NVTX calls of a library that has NVTX compiled in: nvtx_user.cc, loaded by nvtx_handler_test and the benchmark.
#ifndef GPUEXEC_TESTS_INJECT_NVTX_USER_H_
#define GPUEXEC_TESTS_INJECT_NVTX_USER_H_

#include <nvtx3/nvToolsExt.h>

namespace gx::inject {

struct NvtxCalls {
  decltype(&nvtxMarkA) mark_a;
  decltype(&nvtxMarkW) mark_w;
  decltype(&nvtxMarkEx) mark_ex;
  decltype(&nvtxRangeStartA) start_a;
  decltype(&nvtxRangeStartW) start_w;
  decltype(&nvtxRangeStartEx) start_ex;
  decltype(&nvtxRangeEnd) end;
  decltype(&nvtxRangePushA) push_a;
  decltype(&nvtxRangePushW) push_w;
  decltype(&nvtxRangePushEx) push_ex;
  decltype(&nvtxRangePop) pop;
  decltype(&nvtxDomainCreateA) create_a;
  decltype(&nvtxDomainCreateW) create_w;
  decltype(&nvtxDomainDestroy) destroy;
  decltype(&nvtxDomainMarkEx) domain_mark_ex;
  decltype(&nvtxDomainRangeStartEx) domain_start_ex;
  decltype(&nvtxDomainRangeEnd) domain_end;
  decltype(&nvtxDomainRangePushEx) domain_push_ex;
  decltype(&nvtxDomainRangePop) domain_pop;
  decltype(&nvtxDomainRegisterStringA) register_a;
  decltype(&nvtxDomainRegisterStringW) register_w;
  decltype(&nvtxNameCategoryA) name_category_a;
};

}  // namespace gx::inject

extern "C" {
const gx::inject::NvtxCalls* gx_nvtx_calls_a();
const gx::inject::NvtxCalls* gx_nvtx_calls_b();
}

#endif  // GPUEXEC_TESTS_INJECT_NVTX_USER_H_
