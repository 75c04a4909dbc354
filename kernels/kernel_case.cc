#include "kernels/kernel_case.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>

namespace gx::kernels {
namespace {

std::string Dim3Text(const dim3& value) {
  return std::to_string(value.x) + "," + std::to_string(value.y) + "," + std::to_string(value.z);
}

std::string ClusterText(unsigned cluster) { return cluster == 0 ? "0,0,0" : std::to_string(cluster) + ",1,1"; }

std::string_view CopyKindText(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHostToDevice:
      return "h2d";
    case CopyKind::kDeviceToHost:
      return "d2h";
    case CopyKind::kDeviceToDevice:
      return "d2d";
  }
  return "?";
}

uint64_t Mix(uint64_t seed, uint64_t index) {
  // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
  uint64_t z = (seed * 0x9E3779B97F4A7C15u) ^ (index + 0x9E3779B97F4A7C15u * (index + 1));
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

float RandomFloat(uint64_t seed, uint64_t index) {
  // 23 bits scaled by 2^-22: every step of the way is exact in float.
  return static_cast<float>(Mix(seed, index) >> 41) * 0x1p-22f - 1.0f;
}

uint32_t RandomBits(uint64_t seed, uint64_t index) { return static_cast<uint32_t>(Mix(seed, index) >> 32); }

std::vector<float> RandomFloats(uint64_t seed, uint64_t count) {
  std::vector<float> values(count);
  for (uint64_t i = 0; i < count; ++i) values[i] = RandomFloat(seed, i);
  return values;
}

void CaseRun::Skip(std::string_view reason) {
  skipped_ = true;
  notes_.emplace_back("skipped: " + std::string(reason));
}

void CaseRun::Fail(std::string_view what) {
  failed_ = true;
  notes_.emplace_back("failure: " + std::string(what));
}

bool CaseRun::Ok(cudaError_t result, std::string_view what) {
  if (result == cudaSuccess) return true;
  Fail(std::string(what) + ": " + cudaGetErrorName(result) + " (" + cudaGetErrorString(result) + ")");
  return false;
}

bool CaseRun::LaunchRaw(const void* kernel, const LaunchShape& shape, cudaStream_t stream, void** arguments) {
  cudaError_t result = cudaSuccess;
  if (shape.cooperative) {
    result =
        cudaLaunchCooperativeKernel(kernel, shape.grid, shape.block, arguments, shape.dynamic_shared_bytes, stream);
  } else if (shape.cluster == 0 && !shape.programmatic) {
    result = cudaLaunchKernel(kernel, shape.grid, shape.block, arguments, shape.dynamic_shared_bytes, stream);
  } else {
    cudaLaunchAttribute attributes[2] = {};
    unsigned count = 0;
    if (shape.cluster != 0) {
      attributes[count].id = cudaLaunchAttributeClusterDimension;
      attributes[count].val.clusterDim.x = shape.cluster;
      attributes[count].val.clusterDim.y = 1;
      attributes[count].val.clusterDim.z = 1;
      ++count;
    }
    if (shape.programmatic) {
      attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attributes[count].val.programmaticStreamSerializationAllowed = 1;
      ++count;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.dynamic_shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = count;
    result = cudaLaunchKernelExC(&config, kernel, arguments);
  }
  if (!Ok(result, "launch")) return false;
  CountLaunches(1);
  return CountKernels(kernel, shape, 1);
}

bool CaseRun::CountKernels(const void* function, const LaunchShape& shape, uint64_t kernels) {
  auto known = facts_.find(function);
  if (known == facts_.end()) {
    cudaFuncAttributes attributes = {};
    if (!Ok(cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes")) return false;
    const char* name = nullptr;
    if (!Ok(cudaFuncGetName(&name, function), "cudaFuncGetName")) return false;
    known = facts_.emplace(function, FunctionFacts{name, attributes.numRegs, attributes.sharedSizeBytes}).first;
  }
  CountKernels(known->second, shape, kernels);
  return true;
}

void CaseRun::CountKernels(const FunctionFacts& function, const LaunchShape& shape, uint64_t kernels) {
  std::string row = "name=" + function.mangled_name + " grid=" + Dim3Text(shape.grid) +
                    " block=" + Dim3Text(shape.block) + " cluster=" + ClusterText(shape.cluster) +
                    " registers=" + std::to_string(function.registers_per_thread) +
                    " static_shared=" + std::to_string(function.static_shared_bytes) +
                    " dynamic_shared=" + std::to_string(shape.dynamic_shared_bytes) +
                    " cooperative=" + (shape.cooperative ? "1" : "0") +
                    " programmatic=" + (shape.programmatic ? "1" : "0") + " graph=" + (shape.graph_node ? "1" : "0");
  kernels_by_row_[row] += kernels;
  made_.kernels += kernels;
}

void CaseRun::CountCopies(CopyKind kind, uint64_t count, uint64_t bytes_each) {
  made_.copies += count;
  copies_by_kind_and_bytes_[{std::string(CopyKindText(kind)), bytes_each}] += count;
}

void CaseRun::CountRangeKernels(std::string_view domain, std::string_view name, uint64_t kernels) {
  kernels_by_range_["domain=" + std::string(domain) + " name=" + std::string(name)] += kernels;
}

bool CaseRun::Upload(void* device, const void* host, size_t bytes) {
  if (!Ok(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to device")) return false;
  CountCopies(CopyKind::kHostToDevice, 1, bytes);
  return true;
}

bool CaseRun::Download(void* host, const void* device, size_t bytes) {
  if (!Ok(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy to host")) return false;
  CountCopies(CopyKind::kDeviceToHost, 1, bytes);
  return true;
}

bool CaseRun::Poison(void* device, size_t bytes) {
  if (!Ok(cudaMemset(device, 0xFF, bytes), "cudaMemset")) return false;
  CountFills(1);
  return true;
}

void CaseRun::CheckValues(std::string_view what, uint64_t count, const std::function<double(uint64_t)>& got,
                          const std::function<double(uint64_t)>& reference, double tolerance) {
  double worst = 0;
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const double error = std::fabs(got(i) - reference(i));
    // Written so that a NaN counts as wrong.
    if (!(error <= tolerance)) ++wrong;
    if (!(error <= worst)) worst = error;
  }
  char text[64];
  std::snprintf(text, sizeof(text), "%.3g of %.3g allowed", worst, tolerance);
  notes_.push_back("checked " + std::string(what) + ": " + std::to_string(count) + " values, largest error " + text);
  if (count == 0) Fail(std::string(what) + ": no values were checked");
  if (wrong != 0) Fail(std::string(what) + ": " + std::to_string(wrong) + " values are wrong");
}

void CaseRun::CheckEqual(std::string_view what, uint64_t got, uint64_t expected) {
  if (got == expected) return;
  Fail(std::string(what) + ": " + std::to_string(got) + ", expected " + std::to_string(expected));
}

bool CaseRun::Finish() {
  const std::string name(case_.name);
  std::printf("case %s: %s\n", name.c_str(), std::string(case_.shows).c_str());
  if (!skipped_) {
    CheckEqual("launches made", made_.launches, expected_.launches);
    CheckEqual("graph launches made", made_.graph_launches, expected_.graph_launches);
    CheckEqual("launches refused", made_.refused_launches, expected_.refused_launches);
    CheckEqual("kernels", made_.kernels, expected_.kernels);
    CheckEqual("copies", made_.copies, expected_.copies);
    CheckEqual("fills", made_.fills, expected_.fills);
    CheckEqual("NVTX ranges", made_.nvtx_ranges, expected_.nvtx_ranges);
    std::printf(
        "expect case=%s launches=%" PRIu64 " graph_launches=%" PRIu64 " refused_launches=%" PRIu64 " kernels=%" PRIu64
        " copies=%" PRIu64 " fills=%" PRIu64 " nvtx_ranges=%" PRIu64 " bytes=%" PRIu64 " flop=%" PRIu64 "\n",
        name.c_str(), expected_.launches, expected_.graph_launches, expected_.refused_launches, expected_.kernels,
        expected_.copies, expected_.fills, expected_.nvtx_ranges, expected_.bytes, expected_.flop);
    for (const auto& [row, count] : kernels_by_row_) {
      std::printf("expect_kernel case=%s %s kernels=%" PRIu64 "\n", name.c_str(), row.c_str(), count);
    }
    for (const auto& [kind_and_bytes, count] : copies_by_kind_and_bytes_) {
      std::printf("expect_copy case=%s kind=%s bytes=%" PRIu64 " copies=%" PRIu64 "\n", name.c_str(),
                  kind_and_bytes.first.c_str(), kind_and_bytes.second, count);
    }
    for (const auto& [row, count] : kernels_by_range_) {
      std::printf("expect_range case=%s %s kernels=%" PRIu64 "\n", name.c_str(), row.c_str(), count);
    }
  }
  for (const std::string& note : notes_) std::printf("  %s\n", note.c_str());
  std::printf("%s %s\n", failed_ ? "FAIL" : skipped_ ? "SKIP" : "PASS", name.c_str());
  std::fflush(stdout);
  return !failed_;
}

}  // namespace gx::kernels
