// Whole matrix products of cuBLASLt, found at run time: FP16, BF16, TF32, FP8, INT8, FP64. Its header's types and
// numbers alone are used, where the toolkit that built this has it.
#include "kernels/ceilings/bench.h"
#include "kernels/ceilings/fill_matrix.h"

#if __has_include(<cublasLt.h>)

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace gx::kernels {

namespace {

constexpr uint32_t kSeedA = 61;
constexpr uint32_t kSeedB = 62;
// 1.4 ms at 800 TFLOP/s, 16 ms at 67.
constexpr uint64_t kSize = 8192;
constexpr size_t kWorkspaceBytes = size_t{64} << 20;
constexpr int kMaxCandidates = 8;
constexpr uint64_t kCheckedColumns = 4;
constexpr uint64_t kCheckedRows = 64;

struct Library {
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtDestroy) destroy = nullptr;
  decltype(&::cublasLtGetVersion) version = nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;
  decltype(&::cublasLtMatmulDescCreate) create_operation = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) destroy_operation = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) set_operation = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
};

// Empty: loaded. Else why not.
std::string Load(Library* library) {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* handle = nullptr;
  std::string reasons;
  for (const std::string& path : {name, "/usr/local/cuda/lib64/" + name}) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) break;
    reasons += (reasons.empty() ? "" : "; ") + std::string(dlerror());
  }
  if (handle == nullptr) return reasons + " (LD_LIBRARY_PATH may name its folder)";
  std::string missing;
  const auto find = [&](auto* function, const char* symbol) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(handle, symbol));
    if (*function == nullptr) missing = symbol;
  };
  find(&library->create, "cublasLtCreate");
  find(&library->destroy, "cublasLtDestroy");
  find(&library->version, "cublasLtGetVersion");
  find(&library->matmul, "cublasLtMatmul");
  find(&library->create_operation, "cublasLtMatmulDescCreate");
  find(&library->destroy_operation, "cublasLtMatmulDescDestroy");
  find(&library->set_operation, "cublasLtMatmulDescSetAttribute");
  find(&library->create_layout, "cublasLtMatrixLayoutCreate");
  find(&library->destroy_layout, "cublasLtMatrixLayoutDestroy");
  find(&library->create_preference, "cublasLtMatmulPreferenceCreate");
  find(&library->destroy_preference, "cublasLtMatmulPreferenceDestroy");
  find(&library->set_preference, "cublasLtMatmulPreferenceSetAttribute");
  find(&library->heuristic, "cublasLtMatmulAlgoGetHeuristic");
  return missing.empty() ? "" : name + " has no " + missing;
}

struct ProductType {
  const char* name;
  EnumValue resource;
  cudaDataType_t operand;
  cudaDataType_t result;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  SmallCodes codes;
  // Of results up to 2,048 in the result's type, and of sums that FP8 keeps with few bits.
  double allowed_error;
};

const ProductType kTypes[] = {
    {"fp16",
     ceiling_resource::kTensorFp16,
     CUDA_R_16F,
     CUDA_R_16F,
     CUBLAS_COMPUTE_32F,
     CUDA_R_32F,
     {{0xC200, 0xC000, 0xBC00, 0, 0x3C00, 0x4000, 0x4200}},
     2},
    {"bf16",
     ceiling_resource::kTensorBf16,
     CUDA_R_16BF,
     CUDA_R_16BF,
     CUBLAS_COMPUTE_32F,
     CUDA_R_32F,
     {{0xC040, 0xC000, 0xBF80, 0, 0x3F80, 0x4000, 0x4040}},
     8},
    {"tf32",
     ceiling_resource::kTensorTf32,
     CUDA_R_32F,
     CUDA_R_32F,
     CUBLAS_COMPUTE_32F_FAST_TF32,
     CUDA_R_32F,
     {{0xC0400000, 0xC0000000, 0xBF800000, 0, 0x3F800000, 0x40000000, 0x40400000}},
     0},
    {"e4m3",
     ceiling_resource::kTensorFp8,
     CUDA_R_8F_E4M3,
     CUDA_R_16BF,
     CUBLAS_COMPUTE_32F,
     CUDA_R_32F,
     {{0xC4, 0xC0, 0xB8, 0, 0x38, 0x40, 0x44}},
     16},
    {"int8",
     ceiling_resource::kTensorInt8,
     CUDA_R_8I,
     CUDA_R_32I,
     CUBLAS_COMPUTE_32I,
     CUDA_R_32I,
     {{0xFD, 0xFE, 0xFF, 0, 1, 2, 3}},
     0},
    {"fp64",
     ceiling_resource::kTensorFp64,
     CUDA_R_64F,
     CUDA_R_64F,
     CUBLAS_COMPUTE_64F,
     CUDA_R_64F,
     {{0xC008000000000000, 0xC000000000000000, 0xBFF0000000000000, 0, 0x3FF0000000000000, 0x4000000000000000,
       0x4008000000000000}},
     0},
};

size_t ElementBytes(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_8F_E4M3:
    case CUDA_R_8I:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_64F:
      return 8;
    default:
      return 4;
  }
}

double ElementValue(cudaDataType_t type, const uint8_t* bytes) {
  const auto as = [&](auto value) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  };
  switch (type) {
    case CUDA_R_16F:
      return double{__half2float(__half(__half_raw{as(static_cast<unsigned short>(0))}))};
    case CUDA_R_16BF:
      return double{__bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{as(static_cast<unsigned short>(0))}))};
    case CUDA_R_32I:
      return as(int32_t{0});
    case CUDA_R_64F:
      return as(double{0});
    default:
      return double{as(float{0})};
  }
}

// What the library handed out for one type, given back at the end.
class Product {
 public:
  Product(Bench& bench, const Library& library, cublasLtHandle_t handle, const ProductType& type)
      : bench_(bench),
        library_(library),
        handle_(handle),
        type_(type),
        a_(bench, kSize * kSize * ElementBytes(type.operand)),
        b_(bench, kSize * kSize * ElementBytes(type.operand)),
        d_(bench, kSize * kSize * ElementBytes(type.result)),
        workspace_(bench, kWorkspaceBytes) {}
  ~Product() {
    for (const cublasLtMatrixLayout_t layout : layouts_) (void)library_.destroy_layout(layout);
    if (operation_ != nullptr) (void)library_.destroy_operation(operation_);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void Measure();

 private:
  bool Ok(cublasStatus_t status, const char* call) {
    if (status == CUBLAS_STATUS_SUCCESS) return true;
    bench_.Fail(std::string(call) + ": cublasStatus_t " + std::to_string(static_cast<int>(status)));
    return false;
  }
  bool MakeLayout(cudaDataType_t type, uint64_t rows, cublasLtMatrixLayout_t* layout) {
    if (!Ok(library_.create_layout(layout, type, rows, kSize, static_cast<int64_t>(kSize)),
            "cublasLtMatrixLayoutCreate")) {
      return false;
    }
    layouts_.push_back(*layout);
    return true;
  }
  bool FillBoth();
  bool MakeOperation();
  std::vector<cublasLtMatmulAlgo_t> Candidates();
  bool Enqueue(const cublasLtMatmulAlgo_t& algorithm, uint64_t depth);
  ValueCheck Check();

  Bench& bench_;
  const Library& library_;
  const cublasLtHandle_t handle_;
  const ProductType& type_;
  BenchArray<uint8_t> a_;
  BenchArray<uint8_t> b_;
  BenchArray<uint8_t> d_;
  BenchArray<uint8_t> workspace_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  std::vector<cublasLtMatrixLayout_t> layouts_;
  // Operands with half and all of the depth, and the result.
  cublasLtMatrixLayout_t half_ = nullptr;
  cublasLtMatrixLayout_t full_ = nullptr;
  cublasLtMatrixLayout_t result_ = nullptr;
};

bool Product::FillBoth() {
  const size_t bytes = ElementBytes(type_.operand);
  return FillMatrix(bench_, kSeedA, type_.codes, bytes, a_.data(), kSize * kSize) &&
         FillMatrix(bench_, kSeedB, type_.codes, bytes, b_.data(), kSize * kSize);
}

// D = A^T B, columns after each other: the form that every type has.
bool Product::MakeOperation() {
  if (!Ok(library_.create_operation(&operation_, type_.compute, type_.scale), "cublasLtMatmulDescCreate")) return false;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  if (!Ok(library_.set_operation(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
          "cublasLtMatmulDescSetAttribute")) {
    return false;
  }
  if (type_.operand == CUDA_R_8F_E4M3) {
    const int8_t fast = 1;
    if (!Ok(library_.set_operation(operation_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast),
            "cublasLtMatmulDescSetAttribute")) {
      return false;
    }
  }
  return MakeLayout(type_.operand, kSize / 2, &half_) && MakeLayout(type_.operand, kSize, &full_) &&
         MakeLayout(type_.result, kSize, &result_);
}

std::vector<cublasLtMatmulAlgo_t> Product::Candidates() {
  cublasLtMatmulPreference_t preference = nullptr;
  if (!Ok(library_.create_preference(&preference), "cublasLtMatmulPreferenceCreate")) return {};
  std::vector<cublasLtMatmulHeuristicResult_t> results(kMaxCandidates);
  int count = 0;
  const size_t workspace_bytes = kWorkspaceBytes;
  const bool ok = Ok(library_.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                             sizeof workspace_bytes),
                     "cublasLtMatmulPreferenceSetAttribute") &&
                  Ok(library_.heuristic(handle_, operation_, full_, full_, result_, result_, preference, kMaxCandidates,
                                        results.data(), &count),
                     "cublasLtMatmulAlgoGetHeuristic");
  (void)library_.destroy_preference(preference);
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; ok && i < count; ++i) {
    if (results[static_cast<size_t>(i)].state == CUBLAS_STATUS_SUCCESS) {
      algorithms.push_back(results[static_cast<size_t>(i)].algo);
    }
  }
  if (ok && algorithms.empty()) bench_.Absent("the library has no algorithm for this product");
  return algorithms;
}

bool Product::Enqueue(const cublasLtMatmulAlgo_t& algorithm, uint64_t depth) {
  const float float_one = 1;
  const float float_zero = 0;
  const double double_one = 1;
  const double double_zero = 0;
  const int32_t integer_one = 1;
  const int32_t integer_zero = 0;
  const void* one = &float_one;
  const void* zero = &float_zero;
  if (type_.scale == CUDA_R_64F) {
    one = &double_one;
    zero = &double_zero;
  } else if (type_.scale == CUDA_R_32I) {
    one = &integer_one;
    zero = &integer_zero;
  }
  const cublasLtMatrixLayout_t operand = depth == kSize ? full_ : half_;
  return Ok(library_.matmul(handle_, operation_, one, a_.data(), operand, b_.data(), operand, zero, d_.data(), result_,
                            d_.data(), result_, &algorithm, workspace_.data(), kWorkspaceBytes, bench_.stream()),
            "cublasLtMatmul");
}

ValueCheck Product::Check() {
  const size_t bytes = ElementBytes(type_.result);
  const uint64_t step = kSize / kCheckedColumns;
  std::vector<uint8_t> got(kCheckedColumns * kSize * bytes);
  for (uint64_t column = 0; column < kCheckedColumns; ++column) {
    if (!bench_.Download(&got[column * kSize * bytes], d_.data() + column * step * kSize * bytes, kSize * bytes)) {
      return {};
    }
  }
  const auto row_of = [](uint64_t i) { return i % kCheckedRows * (kSize / kCheckedRows) + i % kCheckedRows; };
  return Bench::Compare(
      kCheckedColumns * kCheckedRows,
      [&](uint64_t i) { return ElementValue(type_.result, &got[(i / kCheckedRows * kSize + row_of(i)) * bytes]); },
      [&](uint64_t i) {
        const uint64_t column = i / kCheckedRows * step;
        int64_t sum = 0;
        for (uint64_t k = 0; k < kSize; ++k) {
          sum += SmallInteger(kSeedA, static_cast<uint32_t>(row_of(i) * kSize + k)) *
                 SmallInteger(kSeedB, static_cast<uint32_t>(column * kSize + k));
        }
        return static_cast<double>(sum);
      },
      type_.allowed_error);
}

void Product::Measure() {
  if (!a_ || !b_ || !d_ || !workspace_ || !FillBoth() || !MakeOperation()) return;
  Workload workload;
  workload.work = [](uint64_t depth) { return static_cast<double>(2 * kSize * kSize * depth); };
  workload.clock = ClockFrom::kAfterwards;
  workload.first_units = workload.max_units = kSize;
  workload.unit_step = kSize / 2;
  workload.target_ns = 1e12;
  cublasLtMatmulAlgo_t best = {};
  double best_ns = 0;
  for (const cublasLtMatmulAlgo_t& algorithm : Candidates()) {
    workload.launch = [&](uint64_t depth) { return Enqueue(algorithm, depth); };
    // Once to load the code, once for the time.
    if (!bench_.TimeOnce(workload, kSize)) return;
    const std::optional<double> duration_ns = bench_.TimeOnce(workload, kSize);
    if (!duration_ns) return;
    if (best_ns == 0 || *duration_ns < best_ns) {
      best = algorithm;
      best_ns = *duration_ns;
    }
  }
  if (best_ns == 0 || !bench_.Poison(d_.data(), d_.bytes())) return;
  workload.launch = [&](uint64_t depth) { return Enqueue(best, depth); };
  const std::optional<Measured> measured = bench_.Measure(workload);
  if (!measured) return;
  Ceiling ceiling;
  ceiling.resource = type_.resource;
  ceiling.path = ceiling_path::kCublaslt;
  ceiling.unit = work_unit::kFlop;
  ceiling.variant = std::string(type_.name) + " m n 8192, k 4096 and 8192, TN" +
                    (type_.operand == CUDA_R_8F_E4M3 ? ", fast accumulation" : "");
  ceiling.points = measured->points;
  ceiling.check = Check();
  ceiling.clock_after = true;
  bench_.AddCeiling(ceiling);
}

}  // namespace

void MeasureCublasLt(Bench& bench) {
  bench.Begin("cublaslt");
  Library library;
  if (const std::string why = Load(&library); !why.empty()) return bench.Absent(why);
  bench.record().software.cublaslt_version = library.version();
  cublasLtHandle_t handle = nullptr;
  if (const cublasStatus_t status = library.create(&handle); status != CUBLAS_STATUS_SUCCESS) {
    return bench.Fail("cublasLtCreate: cublasStatus_t " + std::to_string(static_cast<int>(status)));
  }
  for (const ProductType& type : kTypes) {
    bench.Begin(std::string("cublaslt ") + type.name);
    Product(bench, library, handle, type).Measure();
  }
  (void)library.destroy(handle);
}

}  // namespace gx::kernels

#else

namespace gx::kernels {

void MeasureCublasLt(Bench& bench) {
  bench.Begin("cublaslt");
  bench.Absent("the toolkit that built gx-kernels has no cublasLt.h");
}

}  // namespace gx::kernels

#endif
