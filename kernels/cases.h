// The cases' definitions, one declaration each: written in the .cu file named beside it, listed by cases.cc.
#ifndef GPUEXEC_KERNELS_CASES_H_
#define GPUEXEC_KERNELS_CASES_H_

#include "kernels/kernel_case.h"

namespace gx::kernels {

extern const Case kAxpyCase;           // streaming.cu
extern const Case kTriadCase;          // streaming.cu
extern const Case kNaiveSgemmCase;     // sgemm.cu
extern const Case kTiledSgemmCase;     // sgemm.cu
extern const Case kLaunchStormCase;    // launch_storm.cu
extern const Case kThreadStormCase;    // launch_storm.cu
extern const Case kGraphReplayCase;    // graph_replay.cu
extern const Case kGraphNodesCase;     // graph_replay.cu
extern const Case kMultiStreamCase;    // multi_stream.cu
extern const Case kCooperativeCase;    // cooperative.cu
extern const Case kClusterCase;        // cluster.cu
extern const Case kPdlCase;            // pdl.cu
extern const Case kDriverApiCase;      // driver_api.cu
extern const Case kOccupancyMixCase;   // occupancy_mix.cu
extern const Case kFailingLaunchCase;  // failing_launch.cu
extern const Case kMemoryOpsCase;      // memory_ops.cu

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CASES_H_
