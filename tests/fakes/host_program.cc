#include "tests/fakes/host_program.h"

#include <cstdio>
#include <cstdlib>

#include "tests/fakes/fake_cubin.h"

namespace gx::fakes {
namespace {

KernelCode MakeKernel(int i, const std::string& name, int duration_us, const std::string& code) {
  const auto n = static_cast<uint32_t>(i);
  KernelCode kernel;
  kernel.name = name;
  kernel.attributes.registers_per_thread = 16 + 8 * (n % kKernelCount);
  kernel.attributes.static_shared_memory_bytes = 128 * n;
  kernel.attributes.local_memory_per_thread_bytes = 16 * n;
  kernel.attributes.duration_ns = static_cast<uint32_t>(duration_us) * 1000 + 1024 * n;
  kernel.code = code;
  return kernel;
}

void Load(const std::vector<KernelCode>& kernels, Program* program) {
  program->cubin = BuildCubin(kernels);
  program->functions.clear();
  GX_CHECK(cuModuleLoadData(&program->module, program->cubin.data()));
  for (const KernelCode& kernel : kernels) {
    CUfunction function = nullptr;
    GX_CHECK(cuModuleGetFunction(&function, program->module, kernel.name.c_str()));
    program->functions.push_back(function);
  }
}

}  // namespace

Options::Options(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = text.find('=');
    if (equals != std::string::npos) values_[text.substr(0, equals)] = text.substr(equals + 1);
  }
}

std::string Options::Text(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

int Options::Number(const std::string& name, int otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : std::atoi(found->second.c_str());
}

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s failed: %d\n", what, static_cast<int>(result));
  std::fflush(stdout);
  std::_Exit(3);
}

void LoadKernels(int generation, int duration_us, Program* program) {
  std::vector<KernelCode> kernels;
  for (int i = 0; i < kKernelCount; ++i) {
    kernels.push_back(MakeKernel(i, "_Z7kernel_" + std::to_string(i) + "PfS_i", duration_us,
                                 "code " + std::to_string(generation) + " of kernel " + std::to_string(i)));
  }
  Load(kernels, program);
}

void LoadNamedKernels(const std::vector<NamedKernel>& named, Program* program) {
  std::vector<KernelCode> kernels;
  for (const NamedKernel& kernel : named) {
    kernels.push_back(
        MakeKernel(static_cast<int>(kernels.size()), kernel.name, kernel.duration_us, "code of " + kernel.name));
  }
  Load(kernels, program);
}

Program StartContext(const Options& options) {
  Program program;
  GX_CHECK(cuInit(0));
  if (options.Text("context", "primary") == "primary") {
    GX_CHECK(cuDevicePrimaryCtxRetain(&program.context, options.Number("device", 0)));
    GX_CHECK(cuCtxSetCurrent(program.context));
  } else {
    GX_CHECK(cuCtxCreate_v4(&program.context, nullptr, 0, options.Number("device", 0)));
  }
  return program;
}

Program Start(const Options& options) {
  Program program = StartContext(options);
  LoadKernels(0, options.Number("kernel_us", 2), &program);
  return program;
}

CUresult LaunchNth(const Program& program, int i, CUstream stream) {
  const auto n = static_cast<unsigned int>(i);
  return Cuda().cuLaunchKernel(program.functions[n % kKernelCount], n % 7 + 1, n % 3 + 1, 1, 128, 1, 1, (n % 4) * 1024,
                               stream, nullptr, nullptr);
}

}  // namespace gx::fakes
