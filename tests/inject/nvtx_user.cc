// A program's library with NVTX compiled in, as every library of a program has its own copy of NVTX: a table of what it
// calls, for the test. Built twice.
#include "tests/inject/nvtx_user.h"

#include <nvtx3/nvToolsExt.h>

namespace {

const gx::inject::NvtxCalls kCalls = {
    nvtxMarkA,
    nvtxMarkW,
    nvtxMarkEx,
    nvtxRangeStartA,
    nvtxRangeStartW,
    nvtxRangeStartEx,
    nvtxRangeEnd,
    nvtxRangePushA,
    nvtxRangePushW,
    nvtxRangePushEx,
    nvtxRangePop,
    nvtxDomainCreateA,
    nvtxDomainCreateW,
    nvtxDomainDestroy,
    nvtxDomainMarkEx,
    nvtxDomainRangeStartEx,
    nvtxDomainRangeEnd,
    nvtxDomainRangePushEx,
    nvtxDomainRangePop,
    nvtxDomainRegisterStringA,
    nvtxDomainRegisterStringW,
    nvtxNameCategoryA,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const gx::inject::NvtxCalls* GX_NVTX_CALLS() { return &kCalls; }
