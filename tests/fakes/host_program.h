// What the scenarios of the fake host share: arguments, kernels, a context. For fake_host*.cc only.
#ifndef GPUEXEC_TESTS_FAKES_HOST_PROGRAM_H_
#define GPUEXEC_TESTS_FAKES_HOST_PROGRAM_H_

#include <cuda.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/fakes/host_driver.h"

namespace gx::fakes {

inline constexpr int kKernelCount = 5;

// name=value arguments behind the scenario's name.
class Options {
 public:
  Options(int argc, char** argv);
  std::string Text(const std::string& name, const std::string& otherwise) const;
  int Number(const std::string& name, int otherwise) const;

 private:
  std::map<std::string, std::string> values_;
};

// Ends the process with 3 where a call has failed.
void Check(CUresult result, const char* what);
#define GX_CHECK(call) ::gx::fakes::Check(::gx::fakes::Cuda().call, #call)

struct Program {
  CUcontext context = nullptr;
  std::string cubin;
  CUmodule module = nullptr;
  std::vector<CUfunction> functions;
};

struct NamedKernel {
  std::string name;
  int duration_us = 0;
};

// Kernels that differ in every attribute. `generation` changes their code, not their names.
void LoadKernels(int generation, int duration_us, Program* program);
void LoadNamedKernels(const std::vector<NamedKernel>& kernels, Program* program);
// cuInit and the context that context= and device= ask for, current on this thread.
Program StartContext(const Options& options);
// The same with kernel_us=2 kernels.
Program Start(const Options& options);
// The i-th launch of a thread: shapes repeat every 84 launches.
CUresult LaunchNth(const Program& program, int i, CUstream stream);

using Scenarios = std::map<std::string, std::function<void(const Options&)>>;
// Those of fake_host_sampling.cc.
const Scenarios& SamplingScenarios();
// Those of fake_host_clients.cc.
const Scenarios& ClientScenarios();
// Those of fake_host_life.cc.
const Scenarios& LifeScenarios();

// What cd=FOLDER, load=LIBRARY:LIBRARY, file_limit=N (open files) and small_files=1 (1 MiB each) ask for, before the
// scenario begins.
void Prepare(const Options& options);
// Lines about this process: folder, open files, signals, variables and the like, without what tools may have.
void PrintState();
// exit=term|throw|crash|quick_exit. Returns for others.
void EndBySpecialMeans(const std::string& how);

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_HOST_PROGRAM_H_
