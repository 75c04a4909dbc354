#include "analysis/manifest/operation_work.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/manifest/derive.h"
#include "analysis/manifest/fault_log.h"
#include "analysis/model/check.h"
#include "analysis/model/checked_count.h"
#include "analysis/model/element.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

constexpr char kDram[] = "dram";
// Of the case that is made of an operation.
constexpr char kOperation[] = "operation";

struct ElementType {
  absl::string_view name;
  int64_t bits;
  // As paths of peaks name it (model/peaks.h): "bf16" in "tensor_bf16_fp32".
  absl::string_view path_word;
};
// Names of frameworks and of CUDA's headers.
constexpr ElementType kElementTypes[] = {
    {"fp64", 64, "fp64"},        {"float64", 64, "fp64"},   {"double", 64, "fp64"},
    {"fp32", 32, "fp32"},        {"float32", 32, "fp32"},   {"float", 32, "fp32"},
    {"tf32", 32, "tf32"},        {"int32", 32, "int32"},    {"fp16", 16, "fp16"},
    {"float16", 16, "fp16"},     {"half", 16, "fp16"},      {"bf16", 16, "bf16"},
    {"bfloat16", 16, "bf16"},    {"int16", 16, ""},         {"int64", 64, ""},
    {"fp8", 8, "fp8"},           {"fp8_e4m3", 8, "fp8"},    {"fp8_e5m2", 8, "fp8"},
    {"float8_e4m3fn", 8, "fp8"}, {"float8_e5m2", 8, "fp8"}, {"int8", 8, "int8"},
    {"uint8", 8, "int8"},        {"bool", 8, ""},           {"fp6", 6, "fp6"},
    {"fp4", 4, "fp4"},           {"int4", 4, "int4"},
};

const ElementType* FindType(absl::string_view dtype) {
  for (const ElementType& type : kElementTypes) {
    if (type.name == dtype) return &type;
  }
  return nullptr;
}

absl::StatusOr<int64_t> BitsOf(absl::string_view where, absl::string_view dtype) {
  const std::optional<int64_t> bits = ElementBitsOf(dtype);
  if (bits.has_value()) return *bits;
  return absl::InvalidArgumentError(absl::StrCat(where, ": dtype ", Quoted(dtype),
                                                 " is none that has a known size (\"bf16\", \"fp32\", \"int8\", ...)"));
}

// Distinct elements at most: an axis of stride 0 repeats the same ones, and rows may overlap.
absl::StatusOr<int64_t> DistinctElements(absl::string_view where, const v1::Tensor& tensor) {
  const bool strided = tensor.stride_size() == tensor.shape_size();
  int64_t count = 1;
  int64_t span = 1;
  for (int i = 0; i < tensor.shape_size(); ++i) {
    const int64_t extent = tensor.shape(i);
    if (absl::Status status = model::CheckPositive(absl::StrCat(where, ": shape"), extent); !status.ok()) {
      return status;
    }
    const int64_t stride = strided ? tensor.stride(i) : 1;
    if (stride != 0) {
      const auto product = model::CheckedProduct(absl::StrCat(where, ": elements"), count, extent);
      if (!product.ok()) return product.status();
      count = *product;
    }
    if (!strided) continue;
    // Beyond 64 bits it limits nothing.
    int64_t reach = 0;
    if (stride == INT64_MIN || __builtin_mul_overflow(extent - 1, std::abs(stride), &reach) ||
        __builtin_add_overflow(span, reach, &span)) {
      span = INT64_MAX;
    }
  }
  return strided ? std::min(count, span) : count;
}

// Each input once, each output once; of tensors in the same memory the largest.
absl::StatusOr<int64_t> TensorBytes(const v1::Operation& operation) {
  std::map<std::string, std::string> alias_of;
  for (const v1::Tensor& tensor : operation.tensor()) alias_of[tensor.name()] = tensor.alias_of();
  std::map<std::pair<std::string, int>, int64_t> bytes_by_memory;
  for (int i = 0; i < operation.tensor_size(); ++i) {
    const v1::Tensor& tensor = operation.tensor(i);
    if (tensor.role() != v1::Tensor::ROLE_INPUT && tensor.role() != v1::Tensor::ROLE_OUTPUT) continue;
    const std::string where = absl::StrCat("operation.tensor[", i, "] ", Quoted(tensor.name()));
    const absl::StatusOr<int64_t> bits =
        BitsOf(where, tensor.dtype().empty() ? operation.storage_dtype() : tensor.dtype());
    if (!bits.ok()) return bits.status();
    const absl::StatusOr<int64_t> elements = DistinctElements(where, tensor);
    if (!elements.ok()) return elements.status();
    const absl::StatusOr<int64_t> bytes = model::PackedBytes(*elements, *bits).Value(absl::StrCat(where, ": bytes"));
    if (!bytes.ok()) return bytes.status();
    std::string memory = tensor.name().empty() ? absl::StrCat("#", i) : tensor.name();
    // A ring of aliases ends where it began.
    std::set<std::string> seen;
    while (seen.insert(memory).second && !alias_of[memory].empty()) memory = alias_of[memory];
    int64_t& largest = bytes_by_memory[{memory, static_cast<int>(tensor.role())}];
    largest = std::max(largest, *bytes);
  }
  model::CheckedCount sum = 0;
  for (const auto& [memory, bytes] : bytes_by_memory) sum = sum + bytes;
  return sum.Value("bytes of the operation's tensors");
}

// "" where there is none.
std::string TensorPath(const v1::Operation& operation) {
  const ElementType* storage = FindType(operation.storage_dtype());
  if (storage == nullptr || storage->path_word.empty()) return "";
  const absl::string_view source = storage->path_word;
  if (source == "fp32") return "fp32";
  const ElementType* accumulation = FindType(operation.accumulation_dtype());
  const absl::string_view usual = source == "fp64" ? "fp64" : source == "int8" || source == "int4" ? "int32" : "fp32";
  const bool known = accumulation != nullptr && !accumulation->path_word.empty();
  return absl::StrCat("tensor_", source, "_", known ? accumulation->path_word : usual);
}

absl::StatusOr<OperationWork> FromCase(const v1::RooflineCase& stated) {
  if (stated.roof_kind() == v1::ROOF_KIND_EMPIRICAL) {
    return absl::InvalidArgumentError(absl::StrCat("roofline ", Quoted(stated.name()),
                                                   ": its rates are empirical, and a time at such rates is no lower "
                                                   "bound; roof_kind theoretical is"));
  }
  OperationWork result;
  result.work = stated;
  result.work.set_roof_kind(v1::ROOF_KIND_THEORETICAL);
  result.work.clear_traffic();
  for (const v1::RooflineCase::Traffic& traffic : stated.traffic()) {
    if (traffic.level() == kDram) {
      *result.work.add_traffic() = traffic;
    } else {
      result.notes.push_back(absl::StrCat("without traffic of ", Quoted(traffic.level()),
                                          ": what an operation needs is at the boundary of device memory"));
    }
  }
  if (result.work.work().empty() && result.work.traffic().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("roofline ", Quoted(stated.name()), ": has neither work nor traffic of level 'dram'"));
  }
  return result;
}

absl::StatusOr<OperationWork> FromOperation(const v1::Operation& operation) {
  OperationWork result;
  result.work.set_name(kOperation);
  result.work.set_roof_kind(v1::ROOF_KIND_THEORETICAL);
  const absl::StatusOr<int64_t> tensor_bytes = TensorBytes(operation);
  if (!tensor_bytes.ok()) return tensor_bytes.status();
  int64_t bytes = *tensor_bytes;
  if (bytes > 0) result.notes.emplace_back("bytes: each input tensor read once, each output tensor written once");
  if (operation.has_matrix_product()) {
    const v1::MatrixProduct& size = operation.matrix_product();
    for (const int64_t side : {size.m(), size.n(), size.k()}) {
      if (absl::Status status = model::CheckPositive("operation.matrix_product", side); !status.ok()) return status;
    }
    const absl::StatusOr<int64_t> flops =
        (model::CheckedCount(2) * size.m() * size.n() * size.k()).Value("FLOP of operation.matrix_product");
    if (!flops.ok()) return flops.status();
    const std::string path = TensorPath(operation);
    if (path.empty()) {
      result.notes.push_back(absl::StrCat("without FLOP: operation.storage_dtype ", Quoted(operation.storage_dtype()),
                                          " names no path of a matrix product"));
    } else {
      v1::RooflineCase::Work* work = result.work.add_work();
      work->set_path(path);
      work->set_flops(*flops);
      result.notes.push_back(absl::StrCat("FLOP: 2 m n k of operation.matrix_product on path ", path));
    }
    if (bytes == 0 && !operation.storage_dtype().empty()) {
      const absl::StatusOr<int64_t> bits = BitsOf("operation.storage_dtype", operation.storage_dtype());
      if (!bits.ok()) return bits.status();
      const absl::StatusOr<int64_t> elements =
          (model::CheckedCount(size.m()) * size.k() + model::CheckedCount(size.k()) * size.n() +
           model::CheckedCount(size.m()) * size.n())
              .Value("elements of operation.matrix_product");
      if (!elements.ok()) return elements.status();
      const absl::StatusOr<int64_t> product_bytes =
          model::PackedBytes(*elements, *bits).Value("bytes of operation.matrix_product");
      if (!product_bytes.ok()) return product_bytes.status();
      bytes = *product_bytes;
      result.notes.emplace_back("bytes: each matrix of operation.matrix_product once, all of operation.storage_dtype");
    }
  }
  if (bytes > 0) {
    v1::RooflineCase::Traffic* traffic = result.work.add_traffic();
    traffic->set_level(kDram);
    traffic->set_bytes(bytes);
  }
  if (result.work.work().empty() && result.work.traffic().empty()) {
    return absl::FailedPreconditionError(
        "states no work: expected a roofline case, an operation.matrix_product with operation.storage_dtype, or "
        "tensors "
        "of role input and output");
  }
  return result;
}

}  // namespace

std::optional<int64_t> ElementBitsOf(absl::string_view dtype) {
  const ElementType* type = FindType(dtype);
  return type == nullptr ? std::nullopt : std::optional<int64_t>(type->bits);
}

absl::StatusOr<OperationWork> WorkOfOperation(const v1::Manifest& manifest) {
  const std::string bound_case = LowerBoundCase(manifest);
  if (bound_case.empty()) {
    return manifest.roofline().empty() ? FromOperation(manifest.operation()) : FromCase(manifest.roofline(0));
  }
  for (const v1::RooflineCase& stated : manifest.roofline()) {
    if (stated.name() == bound_case) return FromCase(stated);
  }
  return absl::InvalidArgumentError(absl::StrCat("lower_bound_case: there is no roofline case ", Quoted(bound_case)));
}

}  // namespace gx::analysis
