// A fake cubin: a valid ELF64 file with one .text.NAME section per kernel, as a real one has, and the kernel's
// attributes in a .nv.info.NAME section (in a layout of our own: only the fake driver reads it).
// Used by the host program (to build one) and by the fake driver (to load it). Pure functions.
#ifndef GPUEXEC_TESTS_FAKES_FAKE_CUBIN_H_
#define GPUEXEC_TESTS_FAKES_FAKE_CUBIN_H_

#include <cstdint>
#include <string>
#include <vector>

namespace gx::fakes {

// What cuFuncGetAttribute answers for a kernel, and how long it runs.
struct FunctionAttributes {
  uint32_t registers_per_thread = 32;
  uint32_t static_shared_memory_bytes = 0;
  uint32_t constant_memory_bytes = 528;
  uint32_t local_memory_per_thread_bytes = 0;
  uint32_t max_threads_per_block = 1024;
  uint32_t ptx_version = 90;
  uint32_t binary_version = 90;
  uint32_t duration_ns = 2048;
};

struct KernelCode {
  std::string name;
  FunctionAttributes attributes;
  // Contents of .text.NAME; any bytes.
  std::string code;
};

std::string BuildCubin(const std::vector<KernelCode>& kernels);

// Reads an image made by BuildCubin. Returns its size in bytes, or 0 where it is no such image.
uint64_t ParseCubin(const void* image, std::vector<KernelCode>* kernels);

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_FAKE_CUBIN_H_
