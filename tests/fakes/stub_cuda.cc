// A stub libcuda.so.1, as toolkits bring one for linking on machines without a driver: it loads and has the functions
// that a program resolves first, and each of them answers CUDA_ERROR_STUB_LIBRARY. Tools are loaded here, which a real
// stub does not do: the library then finds a libcuda without functions.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>

#define GX_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

CUresult Stub() { return CUDA_ERROR_STUB_LIBRARY; }

}  // namespace

GX_EXPORT CUresult cuInit(unsigned int) {
  if (const char* path = std::getenv("CUDA_INJECTION64_PATH")) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const auto initialize =
        library == nullptr ? nullptr : reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
    if (initialize != nullptr) initialize();
  }
  return CUDA_ERROR_STUB_LIBRARY;
}

GX_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t,
                                       CUdriverProcAddressQueryResult*) {
  const bool starts = symbol[0] == 'c' && symbol[1] == 'u' && symbol[2] == 'I';  // cuInit
  *function = starts ? reinterpret_cast<void*>(&cuInit) : reinterpret_cast<void*>(&Stub);
  return CUDA_SUCCESS;
}
