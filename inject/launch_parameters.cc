#include "inject/launch_parameters.h"

#include <cupti.h>  // with generated_cuda_meta.h: the parameter blocks of driver calls

// Calls that name a stream: X(name, kind, member of the parameter block, whether null is the thread's own stream).
#define GX_STREAM_CALLS(X)                                            \
  X(cuMemcpyHtoDAsync, kCopy, hStream, false)                         \
  X(cuMemcpyDtoHAsync, kCopy, hStream, false)                         \
  X(cuMemcpyDtoDAsync, kCopy, hStream, false)                         \
  X(cuMemcpyHtoAAsync, kCopy, hStream, false)                         \
  X(cuMemcpyAtoHAsync, kCopy, hStream, false)                         \
  X(cuMemcpy2DAsync, kCopy, hStream, false)                           \
  X(cuMemcpy3DAsync, kCopy, hStream, false)                           \
  X(cuMemcpyHtoDAsync_v2, kCopy, hStream, false)                      \
  X(cuMemcpyHtoDAsync_v2_ptsz, kCopy, hStream, true)                  \
  X(cuMemcpyDtoHAsync_v2, kCopy, hStream, false)                      \
  X(cuMemcpyDtoHAsync_v2_ptsz, kCopy, hStream, true)                  \
  X(cuMemcpyDtoDAsync_v2, kCopy, hStream, false)                      \
  X(cuMemcpyDtoDAsync_v2_ptsz, kCopy, hStream, true)                  \
  X(cuMemcpyAtoHAsync_v2, kCopy, hStream, false)                      \
  X(cuMemcpyAtoHAsync_v2_ptsz, kCopy, hStream, true)                  \
  X(cuMemcpyHtoAAsync_v2, kCopy, hStream, false)                      \
  X(cuMemcpyHtoAAsync_v2_ptsz, kCopy, hStream, true)                  \
  X(cuMemcpy2DAsync_v2, kCopy, hStream, false)                        \
  X(cuMemcpy2DAsync_v2_ptsz, kCopy, hStream, true)                    \
  X(cuMemcpy3DAsync_v2, kCopy, hStream, false)                        \
  X(cuMemcpy3DAsync_v2_ptsz, kCopy, hStream, true)                    \
  X(cuMemcpyAsync, kCopy, hStream, false)                             \
  X(cuMemcpyAsync_ptsz, kCopy, hStream, true)                         \
  X(cuMemcpyPeerAsync, kCopy, hStream, false)                         \
  X(cuMemcpyPeerAsync_ptsz, kCopy, hStream, true)                     \
  X(cuMemcpy3DPeerAsync, kCopy, hStream, false)                       \
  X(cuMemcpy3DPeerAsync_ptsz, kCopy, hStream, true)                   \
  X(cuMemcpyBatchAsync, kCopy, hStream, false)                        \
  X(cuMemcpyBatchAsync_ptsz, kCopy, hStream, true)                    \
  X(cuMemcpy3DBatchAsync, kCopy, hStream, false)                      \
  X(cuMemcpy3DBatchAsync_ptsz, kCopy, hStream, true)                  \
  X(cuMemcpyBatchAsync_v2, kCopy, hStream, false)                     \
  X(cuMemcpyBatchAsync_v2_ptsz, kCopy, hStream, true)                 \
  X(cuMemcpy3DBatchAsync_v2, kCopy, hStream, false)                   \
  X(cuMemcpy3DBatchAsync_v2_ptsz, kCopy, hStream, true)               \
  X(cuMemsetD8Async, kMemset, hStream, false)                         \
  X(cuMemsetD8Async_ptsz, kMemset, hStream, true)                     \
  X(cuMemsetD16Async, kMemset, hStream, false)                        \
  X(cuMemsetD16Async_ptsz, kMemset, hStream, true)                    \
  X(cuMemsetD32Async, kMemset, hStream, false)                        \
  X(cuMemsetD32Async_ptsz, kMemset, hStream, true)                    \
  X(cuMemsetD2D8Async, kMemset, hStream, false)                       \
  X(cuMemsetD2D8Async_ptsz, kMemset, hStream, true)                   \
  X(cuMemsetD2D16Async, kMemset, hStream, false)                      \
  X(cuMemsetD2D16Async_ptsz, kMemset, hStream, true)                  \
  X(cuMemsetD2D32Async, kMemset, hStream, false)                      \
  X(cuMemsetD2D32Async_ptsz, kMemset, hStream, true)                  \
  X(cuLaunchHostFunc, kHostWork, hStream, false)                      \
  X(cuLaunchHostFunc_ptsz, kHostWork, hStream, true)                  \
  X(cuStreamAddCallback, kHostWork, hStream, false)                   \
  X(cuStreamAddCallback_ptsz, kHostWork, hStream, true)               \
  X(cuStreamAttachMemAsync, kHostWork, hStream, false)                \
  X(cuStreamAttachMemAsync_ptsz, kHostWork, hStream, true)            \
  X(cuGraphicsMapResources, kHostWork, hStream, false)                \
  X(cuGraphicsMapResources_ptsz, kHostWork, hStream, true)            \
  X(cuGraphicsUnmapResources, kHostWork, hStream, false)              \
  X(cuGraphicsUnmapResources_ptsz, kHostWork, hStream, true)          \
  X(cuMemPrefetchAsync, kHostWork, hStream, false)                    \
  X(cuMemPrefetchAsync_ptsz, kHostWork, hStream, true)                \
  X(cuMemPrefetchAsync_v2, kHostWork, hStream, false)                 \
  X(cuMemPrefetchAsync_v2_ptsz, kHostWork, hStream, true)             \
  X(cuMemPrefetchBatchAsync, kHostWork, hStream, false)               \
  X(cuMemPrefetchBatchAsync_ptsz, kHostWork, hStream, true)           \
  X(cuMemDiscardBatchAsync, kHostWork, hStream, false)                \
  X(cuMemDiscardBatchAsync_ptsz, kHostWork, hStream, true)            \
  X(cuMemDiscardAndPrefetchBatchAsync, kHostWork, hStream, false)     \
  X(cuMemDiscardAndPrefetchBatchAsync_ptsz, kHostWork, hStream, true) \
  X(cuMemMapArrayAsync, kHostWork, hStream, false)                    \
  X(cuMemMapArrayAsync_ptsz, kHostWork, hStream, true)                \
  X(cuGraphUpload, kHostWork, hStream, false)                         \
  X(cuGraphUpload_ptsz, kHostWork, hStream, true)                     \
  X(cuStreamWaitValue32, kHostWork, stream, false)                    \
  X(cuStreamWaitValue32_ptsz, kHostWork, stream, true)                \
  X(cuStreamWaitValue64, kHostWork, stream, false)                    \
  X(cuStreamWaitValue64_ptsz, kHostWork, stream, true)                \
  X(cuStreamWriteValue32, kHostWork, stream, false)                   \
  X(cuStreamWriteValue32_ptsz, kHostWork, stream, true)               \
  X(cuStreamWriteValue64, kHostWork, stream, false)                   \
  X(cuStreamWriteValue64_ptsz, kHostWork, stream, true)               \
  X(cuStreamBatchMemOp, kHostWork, stream, false)                     \
  X(cuStreamBatchMemOp_ptsz, kHostWork, stream, true)                 \
  X(cuStreamWaitValue32_v2, kHostWork, stream, false)                 \
  X(cuStreamWaitValue32_v2_ptsz, kHostWork, stream, true)             \
  X(cuStreamWaitValue64_v2, kHostWork, stream, false)                 \
  X(cuStreamWaitValue64_v2_ptsz, kHostWork, stream, true)             \
  X(cuStreamWriteValue32_v2, kHostWork, stream, false)                \
  X(cuStreamWriteValue32_v2_ptsz, kHostWork, stream, true)            \
  X(cuStreamWriteValue64_v2, kHostWork, stream, false)                \
  X(cuStreamWriteValue64_v2_ptsz, kHostWork, stream, true)            \
  X(cuStreamBatchMemOp_v2, kHostWork, stream, false)                  \
  X(cuStreamBatchMemOp_v2_ptsz, kHostWork, stream, true)              \
  X(cuMemBatchDecompressAsync, kHostWork, stream, false)              \
  X(cuMemBatchDecompressAsync_ptsz, kHostWork, stream, true)          \
  X(cuSignalExternalSemaphoresAsync, kHostWork, stream, false)        \
  X(cuSignalExternalSemaphoresAsync_ptsz, kHostWork, stream, true)    \
  X(cuWaitExternalSemaphoresAsync, kHostWork, stream, false)          \
  X(cuWaitExternalSemaphoresAsync_ptsz, kHostWork, stream, true)

// Calls that name none: X(name, kind, whether they use the thread's own default stream).
#define GX_OTHER_CALLS(X)                                \
  X(cuMemcpyHtoD, kCopy, false)                          \
  X(cuMemcpyDtoH, kCopy, false)                          \
  X(cuMemcpyDtoD, kCopy, false)                          \
  X(cuMemcpyDtoA, kCopy, false)                          \
  X(cuMemcpyAtoD, kCopy, false)                          \
  X(cuMemcpyHtoA, kCopy, false)                          \
  X(cuMemcpyAtoH, kCopy, false)                          \
  X(cuMemcpyAtoA, kCopy, false)                          \
  X(cuMemcpy2D, kCopy, false)                            \
  X(cuMemcpy2DUnaligned, kCopy, false)                   \
  X(cuMemcpy3D, kCopy, false)                            \
  X(cuMemcpy_v2, kCopy, false)                           \
  X(cuMemcpyHtoD_v2, kCopy, false)                       \
  X(cuMemcpyHtoD_v2_ptds, kCopy, true)                   \
  X(cuMemcpyDtoH_v2, kCopy, false)                       \
  X(cuMemcpyDtoH_v2_ptds, kCopy, true)                   \
  X(cuMemcpyDtoD_v2, kCopy, false)                       \
  X(cuMemcpyDtoD_v2_ptds, kCopy, true)                   \
  X(cuMemcpyAtoH_v2, kCopy, false)                       \
  X(cuMemcpyAtoH_v2_ptds, kCopy, true)                   \
  X(cuMemcpyAtoD_v2, kCopy, false)                       \
  X(cuMemcpyAtoD_v2_ptds, kCopy, true)                   \
  X(cuMemcpyDtoA_v2, kCopy, false)                       \
  X(cuMemcpyDtoA_v2_ptds, kCopy, true)                   \
  X(cuMemcpyAtoA_v2, kCopy, false)                       \
  X(cuMemcpyAtoA_v2_ptds, kCopy, true)                   \
  X(cuMemcpy2D_v2, kCopy, false)                         \
  X(cuMemcpy2D_v2_ptds, kCopy, true)                     \
  X(cuMemcpy2DUnaligned_v2, kCopy, false)                \
  X(cuMemcpy2DUnaligned_v2_ptds, kCopy, true)            \
  X(cuMemcpy3D_v2, kCopy, false)                         \
  X(cuMemcpy3D_v2_ptds, kCopy, true)                     \
  X(cuMemcpyHtoA_v2, kCopy, false)                       \
  X(cuMemcpyHtoA_v2_ptds, kCopy, true)                   \
  X(cuMemcpy, kCopy, false)                              \
  X(cuMemcpy_ptds, kCopy, true)                          \
  X(cuMemcpyPeer, kCopy, false)                          \
  X(cuMemcpyPeer_ptds, kCopy, true)                      \
  X(cuMemcpy3DPeer, kCopy, false)                        \
  X(cuMemcpy3DPeer_ptds, kCopy, true)                    \
  X(cuMemsetD8, kMemset, false)                          \
  X(cuMemsetD8_v2, kMemset, false)                       \
  X(cuMemsetD8_v2_ptds, kMemset, true)                   \
  X(cuMemsetD16, kMemset, false)                         \
  X(cuMemsetD16_v2, kMemset, false)                      \
  X(cuMemsetD16_v2_ptds, kMemset, true)                  \
  X(cuMemsetD32, kMemset, false)                         \
  X(cuMemsetD32_v2, kMemset, false)                      \
  X(cuMemsetD32_v2_ptds, kMemset, true)                  \
  X(cuMemsetD2D8, kMemset, false)                        \
  X(cuMemsetD2D8_v2, kMemset, false)                     \
  X(cuMemsetD2D8_v2_ptds, kMemset, true)                 \
  X(cuMemsetD2D16, kMemset, false)                       \
  X(cuMemsetD2D16_v2, kMemset, false)                    \
  X(cuMemsetD2D16_v2_ptds, kMemset, true)                \
  X(cuMemsetD2D32, kMemset, false)                       \
  X(cuMemsetD2D32_v2, kMemset, false)                    \
  X(cuMemsetD2D32_v2_ptds, kMemset, true)                \
  X(cuModuleLoad, kModuleLoad, false)                    \
  X(cuModuleLoadData, kModuleLoad, false)                \
  X(cuModuleLoadDataEx, kModuleLoad, false)              \
  X(cuModuleLoadFatBinary, kModuleLoad, false)           \
  X(cuLibraryLoadData, kModuleLoad, false)               \
  X(cuLibraryLoadFromFile, kModuleLoad, false)           \
  X(cuFuncLoad, kModuleLoad, false)                      \
  X(cuGraphInstantiateWithParams, kHostWork, false)      \
  X(cuGraphInstantiateWithParams_ptsz, kHostWork, false) \
  X(cuStreamCreate, kStreamCreate, false)                \
  X(cuStreamCreateWithPriority, kStreamCreate, false)    \
  X(cuGreenCtxStreamCreate, kStreamCreate, false)        \
  X(cuStreamDestroy, kStreamDestroy, false)              \
  X(cuStreamDestroy_v2, kStreamDestroy, false)           \
  X(cuGreenCtxCreate, kGreenContext, false)              \
  X(cuDevicePrimaryCtxRetain, kPrimaryRetain, false)     \
  X(cuCtxEnablePeerAccess, kPeerAccess, false)           \
  X(cuMemSetAccess, kPeerAccess, false)                  \
  X(cuMemPoolSetAccess, kPeerAccess, false)              \
  X(cuMemCreate, kPeerAccess, false)                     \
  X(cuIpcGetMemHandle, kIpcOpen, false)                  \
  X(cuIpcOpenMemHandle, kIpcOpen, false)                 \
  X(cuIpcOpenMemHandle_v2, kIpcOpen, false)              \
  X(cuMemExportToShareableHandle, kIpcOpen, false)       \
  X(cuMemImportFromShareableHandle, kIpcOpen, false)     \
  X(cuMemPoolExportToShareableHandle, kIpcOpen, false)   \
  X(cuMemPoolImportFromShareableHandle, kIpcOpen, false) \
  X(cuMemGetHandleForAddressRange, kIpcOpen, false)      \
  X(cuImportExternalMemory, kIpcOpen, false)             \
  X(cuMulticastCreate, kMulticast, false)                \
  X(cuMulticastAddDevice, kMulticast, false)             \
  X(cuMulticastBindMem, kMulticast, false)               \
  X(cuMulticastBindAddr, kMulticast, false)              \
  X(cuMemAllocManaged, kManagedMemory, false)            \
  X(cuLibraryGetManaged, kManagedMemory, false)          \
  X(cuMemAllocHost, kHostMemory, false)                  \
  X(cuMemAllocHost_v2, kHostMemory, false)               \
  X(cuMemHostAlloc, kHostMemory, false)                  \
  X(cuMemHostAlloc_v2, kHostMemory, false)               \
  X(cuMemHostRegister, kHostMemory, false)               \
  X(cuMemHostRegister_v2, kHostMemory, false)            \
  X(cuMemAllocAsync, kPoolMemory, false)                 \
  X(cuMemAllocAsync_ptsz, kPoolMemory, false)            \
  X(cuMemAllocFromPoolAsync, kPoolMemory, false)         \
  X(cuMemAllocFromPoolAsync_ptsz, kPoolMemory, false)

namespace gx::inject {
namespace {

constexpr uint32_t kFollowed[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice,
    CUPTI_DRIVER_TRACE_CBID_cuLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode,
    CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2,
    CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode,
    CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2,
    CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams,
    CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams_v2,
    CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams,
    CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2,
    CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams,
    CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams,
    CUPTI_DRIVER_TRACE_CBID_cuModuleUnload,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload,
    CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy,
    CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2,
    CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease,
    CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2,
    CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset,
    CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2,
    CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture,
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuProfilerStart,
    CUPTI_DRIVER_TRACE_CBID_cuProfilerStop,
    CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz,
    0,
};

constexpr uint32_t kCounters[] = {
#define GX_CBID_OF_STREAM_CALL(name, kind, member, own) CUPTI_DRIVER_TRACE_CBID_##name,
    GX_STREAM_CALLS(GX_CBID_OF_STREAM_CALL)
#undef GX_CBID_OF_STREAM_CALL
#define GX_CBID_OF_CALL(name, kind, own) CUPTI_DRIVER_TRACE_CBID_##name,
        GX_OTHER_CALLS(GX_CBID_OF_CALL)
#undef GX_CBID_OF_CALL
            0,
};

void SetDimensions(LaunchParameters* to, Dim3 grid, Dim3 block, uint32_t dynamic_shared_memory_bytes) noexcept {
  to->grid = grid;
  to->block = block;
  to->dynamic_shared_memory_bytes = dynamic_shared_memory_bytes;
  to->readable = 1;
}

void ReadAttributes(const CUlaunchConfig& config, LaunchParameters* to) noexcept {
  if (config.attrs == nullptr) return;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        to->cooperative = attribute.value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        to->cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z};
        break;
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        to->preferred_cluster = {attribute.value.preferredClusterDim.x, attribute.value.preferredClusterDim.y,
                                 attribute.value.preferredClusterDim.z};
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        if (attribute.value.programmaticStreamSerializationAllowed != 0) to->programmatic = 1;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        to->programmatic = 1;
        break;
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        to->carveout = static_cast<int32_t>(attribute.value.sharedMemCarveout);
        break;
      default:
        break;
    }
  }
}

// CUDA_KERNEL_NODE_PARAMS_v2 and ..._v3 differ in what stands behind these members.
template <typename NodeParameters>
void ReadNode(const NodeParameters& in, LaunchCall* call) noexcept {
  SetDimensions(&call->parameters, {in.gridDimX, in.gridDimY, in.gridDimZ}, {in.blockDimX, in.blockDimY, in.blockDimZ},
                in.sharedMemBytes);
  call->function = in.func;
}

template <typename NodeParameters>
void ReadNodeWithKernel(const NodeParameters& in, LaunchCall* call) noexcept {
  ReadNode(in, call);
  if (call->function == nullptr) call->function = in.kern;
}

void ReadAnyNode(const CUgraphNodeParams* in, LaunchCall* call) noexcept {
  if (in == nullptr || in->type != CU_GRAPH_NODE_TYPE_KERNEL) return;
  ReadNodeWithKernel(in->kernel, call);
}

// The _ptsz variants have parameter blocks of the same members in the same order.
void ReadLaunch(const cuLaunchKernel_params& in, LaunchCall* call) noexcept {
  SetDimensions(&call->parameters, {in.gridDimX, in.gridDimY, in.gridDimZ}, {in.blockDimX, in.blockDimY, in.blockDimZ},
                in.sharedMemBytes);
  call->function = in.f;
  call->stream = in.hStream;
}

}  // namespace

CallInfo ClassifyCall(uint32_t cbid) noexcept {
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync:
      return {CallKind::kLaunch, false};
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      return {CallKind::kLaunch, true};
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
      return {CallKind::kGraphLaunch, false};
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
      return {CallKind::kGraphLaunch, true};
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2:
      return {CallKind::kGraphAddNode, false};
    case CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams:
      return {CallKind::kGraphSetNode, false};
    case CUPTI_DRIVER_TRACE_CBID_cuModuleUnload:
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy:
      return {CallKind::kUnload, false};
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph:
      return {CallKind::kCaptureBegin, false};
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz:
      return {CallKind::kCaptureBegin, true};
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture:
      return {CallKind::kCaptureEnd, false};
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz:
      return {CallKind::kCaptureEnd, true};
    case CUPTI_DRIVER_TRACE_CBID_cuProfilerStart:
      return {CallKind::kProfilerStart, false};
    case CUPTI_DRIVER_TRACE_CBID_cuProfilerStop:
      return {CallKind::kProfilerStop, false};
    case CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2:
      return {CallKind::kSynchronize, false};
    case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize:
      return {CallKind::kStreamSynchronize, false};
    case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz:
      return {CallKind::kStreamSynchronize, true};
    case CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize:
      return {CallKind::kEventSynchronize, false};
    case CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent:
      return {CallKind::kStreamWaitEvent, false};
    case CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz:
      return {CallKind::kStreamWaitEvent, true};
#define GX_CASE_OF_STREAM_CALL(name, kind, member, own) \
  case CUPTI_DRIVER_TRACE_CBID_##name:                  \
    return {CallKind::kind, own};
      GX_STREAM_CALLS(GX_CASE_OF_STREAM_CALL)
#undef GX_CASE_OF_STREAM_CALL
#define GX_CASE_OF_CALL(name, kind, own) \
  case CUPTI_DRIVER_TRACE_CBID_##name:   \
    return {CallKind::kind, own};
      GX_OTHER_CALLS(GX_CASE_OF_CALL)
#undef GX_CASE_OF_CALL
    default:
      return {};
  }
}

const uint32_t* FollowedCalls() noexcept { return kFollowed; }
const uint32_t* CounterCalls() noexcept { return kCounters; }

CUstream StreamOf(uint32_t cbid, const void* parameters) noexcept {
  if (parameters == nullptr) return nullptr;
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz:
      // The first member of all their blocks.
      return static_cast<const cuStreamEndCapture_params*>(parameters)->hStream;
#define GX_STREAM_OF_CALL(name, kind, member, own) \
  case CUPTI_DRIVER_TRACE_CBID_##name:             \
    return static_cast<const name##_params*>(parameters)->member;
      GX_STREAM_CALLS(GX_STREAM_OF_CALL)
#undef GX_STREAM_OF_CALL
    default:
      // Launches; without a stream the rest.
      return ReadLaunchCall(cbid, parameters).stream;
  }
}

LaunchCall ReadLaunchCall(uint32_t cbid, const void* parameters) noexcept {
  LaunchCall call;
  if (parameters == nullptr) return call;
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      ReadLaunch(*static_cast<const cuLaunchKernel_params*>(parameters), &call);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
      const auto& in = *static_cast<const cuLaunchCooperativeKernel_params*>(parameters);
      SetDimensions(&call.parameters, {in.gridDimX, in.gridDimY, in.gridDimZ},
                    {in.blockDimX, in.blockDimY, in.blockDimZ}, in.sharedMemBytes);
      call.parameters.cooperative = 1;
      call.function = in.f;
      call.stream = in.hStream;
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const auto& in = *static_cast<const cuLaunchKernelEx_params*>(parameters);
      call.function = in.f;
      if (in.config == nullptr) break;
      const CUlaunchConfig& config = *in.config;
      SetDimensions(&call.parameters, {config.gridDimX, config.gridDimY, config.gridDimZ},
                    {config.blockDimX, config.blockDimY, config.blockDimZ}, config.sharedMemBytes);
      call.stream = config.hStream;
      ReadAttributes(config, &call.parameters);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz: {
      const auto& in = *static_cast<const cuGraphLaunch_params*>(parameters);
      call.graph_exec = in.hGraph;
      call.stream = in.hStream;
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode: {
      const auto* node = static_cast<const cuGraphAddKernelNode_params*>(parameters)->nodeParams;
      if (node != nullptr) ReadNode(*node, &call);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2: {
      const auto* node = static_cast<const cuGraphAddKernelNode_v2_params*>(parameters)->nodeParams;
      if (node != nullptr) ReadNodeWithKernel(*node, &call);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams: {
      const auto* node = static_cast<const cuGraphKernelNodeSetParams_params*>(parameters)->nodeParams;
      if (node != nullptr) ReadNode(*node, &call);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams_v2: {
      const auto* node = static_cast<const cuGraphKernelNodeSetParams_v2_params*>(parameters)->nodeParams;
      if (node != nullptr) ReadNodeWithKernel(*node, &call);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams: {
      const auto* node = static_cast<const cuGraphExecKernelNodeSetParams_params*>(parameters)->nodeParams;
      if (node != nullptr) ReadNode(*node, &call);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2: {
      const auto* node = static_cast<const cuGraphExecKernelNodeSetParams_v2_params*>(parameters)->nodeParams;
      if (node != nullptr) ReadNodeWithKernel(*node, &call);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode:
      ReadAnyNode(static_cast<const cuGraphAddNode_params*>(parameters)->nodeParams, &call);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2:
      ReadAnyNode(static_cast<const cuGraphAddNode_v2_params*>(parameters)->nodeParams, &call);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams:
      ReadAnyNode(static_cast<const cuGraphNodeSetParams_params*>(parameters)->nodeParams, &call);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams:
      ReadAnyNode(static_cast<const cuGraphExecNodeSetParams_params*>(parameters)->nodeParams, &call);
      break;
    default:
      // cuLaunch, cuLaunchGrid: their dimensions were set on the function by other calls. Multi-device cooperative
      // launches: one call, several kernels. Counted as launches with unreadable parameters.
      break;
  }
  return call;
}

}  // namespace gx::inject
