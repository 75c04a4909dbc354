#include "inject/launch_parameters.h"

#include <cupti.h>  // with generated_cuda_meta.h: the parameter blocks of driver calls

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
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz:
      return {CallKind::kCaptureBegin, false};
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz:
      return {CallKind::kCaptureEnd, false};
    case CUPTI_DRIVER_TRACE_CBID_cuProfilerStart:
      return {CallKind::kProfilerStart, false};
    case CUPTI_DRIVER_TRACE_CBID_cuProfilerStop:
      return {CallKind::kProfilerStop, false};
    default:
      return {};
  }
}

const uint32_t* FollowedCalls() noexcept { return kFollowed; }

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
