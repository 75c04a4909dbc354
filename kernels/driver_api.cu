// The driver's launch functions, called as libraries and languages other than CUDA C++ call them: cuLaunchKernel,
// cuLaunchKernelEx, the per-thread-stream variant, a module's CUfunction and a library's CUkernel in its place.
#include <cuda.h>

#include <memory>

#include "kernels/cases.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 128;

// y[i] = a * x[i] + y[i]. In PTX, so that the driver compiles it when the module is loaded.
constexpr char kPtx[] = R"ptx(
.version 7.0
.target sm_80
.address_size 64

.visible .entry gx_ptx_axpy(
    .param .u64 x_param,
    .param .u64 y_param,
    .param .f32 a_param,
    .param .u32 count_param)
{
    .reg .pred %p<2>;
    .reg .f32 %f<5>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;

    ld.param.u64 %rd1, [x_param];
    ld.param.u64 %rd2, [y_param];
    ld.param.f32 %f1, [a_param];
    ld.param.u32 %r1, [count_param];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r5, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f4;
DONE:
    ret;
}
)ptx";

}  // namespace

// The same in CUDA C++, reached through cudaGetKernel.
__global__ void HandleAxpyKernel(const float* x, float* y, float a, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = a * x[i] + y[i];
}

namespace {

// Driver functions come from the runtime, so that nothing here links libcuda.
template <typename Function>
bool Find(CaseRun& run, const char* symbol, unsigned version, unsigned long long flags, Function* function) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  if (!run.Ok(cudaGetDriverEntryPointByVersion(symbol, &address, version, flags, &found), symbol)) return false;
  if (found != cudaDriverEntryPointSuccess || address == nullptr) {
    run.Fail(std::string(symbol) + ": not in this driver");
    return false;
  }
  *function = reinterpret_cast<Function>(address);
  return true;
}

bool DriverOk(CaseRun& run, CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return true;
  run.Fail(std::string(what) + ": CUresult " + std::to_string(static_cast<int>(result)));
  return false;
}

#define GX_DRIVER(run, call)                     \
  do {                                           \
    if (!DriverOk((run), (call), #call)) return; \
  } while (false)

// Signatures of the versions asked for below.
using LaunchKernelFunction = CUresult(CUDAAPI*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                                unsigned, CUstream, void**, void**);
using LaunchKernelExFunction = CUresult(CUDAAPI*)(const CUlaunchConfig*, CUfunction, void**, void**);
using ModuleLoadDataFunction = CUresult(CUDAAPI*)(CUmodule*, const void*);
using ModuleUnloadFunction = CUresult(CUDAAPI*)(CUmodule);
using ModuleGetFunctionFunction = CUresult(CUDAAPI*)(CUfunction*, CUmodule, const char*);
using FuncGetAttributeFunction = CUresult(CUDAAPI*)(int*, CUfunction_attribute, CUfunction);
using LibraryLoadDataFunction = CUresult(CUDAAPI*)(CUlibrary*, const void*, CUjit_option*, void**, unsigned,
                                                   CUlibraryOption*, void**, unsigned);
using LibraryUnloadFunction = CUresult(CUDAAPI*)(CUlibrary);
using LibraryGetKernelFunction = CUresult(CUDAAPI*)(CUkernel*, CUlibrary, const char*);

void RunDriverApi(CaseRun& run) {
  const uint64_t n = run.size();
  const uint64_t repeat = run.repeat();
  if (n < 1 || n > (uint64_t{1} << 28)) return run.Fail("--size must be 1 to 268435456 elements");
  constexpr uint64_t kWays = 6;
  Expectation expect;
  expect.launches = expect.kernels = kWays * repeat;
  expect.copies = 3;
  expect.bytes = expect.kernels * n * 3 * sizeof(float);
  expect.flop = expect.kernels * n * 2;
  run.Expect(expect);

  LaunchKernelFunction launch = nullptr;
  LaunchKernelFunction launch_per_thread = nullptr;
  LaunchKernelExFunction launch_ex = nullptr;
  LaunchKernelExFunction launch_ex_per_thread = nullptr;
  ModuleLoadDataFunction module_load = nullptr;
  ModuleUnloadFunction module_unload = nullptr;
  ModuleGetFunctionFunction module_get_function = nullptr;
  FuncGetAttributeFunction get_attribute = nullptr;
  LibraryLoadDataFunction library_load = nullptr;
  LibraryUnloadFunction library_unload = nullptr;
  LibraryGetKernelFunction library_get_kernel = nullptr;
  constexpr auto kLegacy = static_cast<unsigned long long>(cudaEnableLegacyStream);
  constexpr auto kPerThread = static_cast<unsigned long long>(cudaEnablePerThreadDefaultStream);
  GX_STEP(Find(run, "cuLaunchKernel", 12000, kLegacy, &launch));
  GX_STEP(Find(run, "cuLaunchKernel", 12000, kPerThread, &launch_per_thread));
  GX_STEP(Find(run, "cuLaunchKernelEx", 12000, kLegacy, &launch_ex));
  GX_STEP(Find(run, "cuLaunchKernelEx", 12000, kPerThread, &launch_ex_per_thread));
  GX_STEP(Find(run, "cuModuleLoadData", 12000, kLegacy, &module_load));
  GX_STEP(Find(run, "cuModuleUnload", 12000, kLegacy, &module_unload));
  GX_STEP(Find(run, "cuModuleGetFunction", 12000, kLegacy, &module_get_function));
  GX_STEP(Find(run, "cuFuncGetAttribute", 12000, kLegacy, &get_attribute));
  GX_STEP(Find(run, "cuLibraryLoadData", 12000, kLegacy, &library_load));
  GX_STEP(Find(run, "cuLibraryUnload", 12000, kLegacy, &library_unload));
  GX_STEP(Find(run, "cuLibraryGetKernel", 12000, kLegacy, &library_get_kernel));

  const std::vector<float> x = RandomFloats(14, n);
  const std::vector<float> y = RandomFloats(15, n);
  DeviceArray<float> device_x(run, n);
  DeviceArray<float> device_y(run, n);
  if (!device_x || !device_y) return;
  GX_STEP(run.Upload(device_x.data(), x.data(), device_x.bytes()));
  GX_STEP(run.Upload(device_y.data(), y.data(), device_y.bytes()));
  GX_CUDA(run, cudaDeviceSynchronize());

  CUmodule module = nullptr;
  GX_DRIVER(run, module_load(&module, kPtx));
  const std::unique_ptr<CUmod_st, ModuleUnloadFunction> module_owner(module, module_unload);
  CUfunction function = nullptr;
  GX_DRIVER(run, module_get_function(&function, module, "gx_ptx_axpy"));
  CUlibrary library = nullptr;
  GX_DRIVER(run, library_load(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  const std::unique_ptr<CUlib_st, LibraryUnloadFunction> library_owner(library, library_unload);
  CUkernel library_kernel = nullptr;
  GX_DRIVER(run, library_get_kernel(&library_kernel, library, "gx_ptx_axpy"));
  cudaKernel_t runtime_kernel = nullptr;
  GX_CUDA(run, cudaGetKernel(&runtime_kernel, reinterpret_cast<const void*>(HandleAxpyKernel)));

  int registers = 0;
  int static_shared = 0;
  GX_DRIVER(run, get_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
  GX_DRIVER(run, get_attribute(&static_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
  const FunctionFacts ptx_facts{"gx_ptx_axpy", registers, static_cast<size_t>(static_shared)};

  const float* x_argument = device_x.data();
  float* y_argument = device_y.data();
  float a = 0.25f;
  auto count = static_cast<uint32_t>(n);
  void* arguments[] = {&x_argument, &y_argument, &a, &count};
  const LaunchShape shape{dim3(BlocksFor(n, kBlockThreads)), dim3(kBlockThreads)};
  CUlaunchConfig config = {};
  config.gridDimX = shape.grid.x;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = shape.block.x;
  config.blockDimY = config.blockDimZ = 1;

  // A kernel handle stands for a function wherever the driver launches one (cuLaunchKernel's documentation).
  const auto library_function = reinterpret_cast<CUfunction>(library_kernel);
  const auto runtime_function = reinterpret_cast<CUfunction>(runtime_kernel);
  for (uint64_t r = 0; r < repeat; ++r) {
    GX_DRIVER(run, launch(function, shape.grid.x, 1, 1, shape.block.x, 1, 1, 0, nullptr, arguments, nullptr));
    GX_DRIVER(run, launch_ex(&config, function, arguments, nullptr));
    GX_DRIVER(run, launch(library_function, shape.grid.x, 1, 1, shape.block.x, 1, 1, 0, nullptr, arguments, nullptr));
    // The per-thread stream does not wait for work of non-blocking streams, but does for the legacy stream's, and the
    // legacy stream waits for it: the updates of y stay in order.
    GX_DRIVER(run,
              launch_per_thread(function, shape.grid.x, 1, 1, shape.block.x, 1, 1, 0, nullptr, arguments, nullptr));
    GX_DRIVER(run, launch_ex_per_thread(&config, library_function, arguments, nullptr));
    GX_DRIVER(run, launch(runtime_function, shape.grid.x, 1, 1, shape.block.x, 1, 1, 0, nullptr, arguments, nullptr));
    run.CountLaunches(kWays);
  }
  GX_CUDA(run, cudaDeviceSynchronize());
  run.CountKernels(ptx_facts, shape, (kWays - 1) * repeat);
  GX_STEP(run.CountKernels(reinterpret_cast<const void*>(HandleAxpyKernel), shape, repeat));

  std::vector<float> got(n);
  GX_STEP(run.Download(got.data(), device_y.data(), device_y.bytes()));
  const auto steps = static_cast<double>(kWays * repeat);
  run.CheckValues(
      "y", n, [&](uint64_t i) { return double{got[i]}; },
      [&](uint64_t i) { return double{y[i]} + steps * double{a} * double{x[i]}; },
      0x1p-24 * (1 + 0.25 * steps) * steps);
}

}  // namespace

const Case kDriverApiCase = {"driver_api",
                             "the driver's own launch functions, with function and kernel handles",
                             "elements",
                             100000,
                             "rounds of six launches",
                             4,
                             RunDriverApi};

}  // namespace gx::kernels
