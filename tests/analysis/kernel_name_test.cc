#include "analysis/kernel_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace gx::analysis {
namespace {

using ::testing::EndsWith;
using ::testing::SizeIs;

TEST(FullKernelNameTest, DemanglesCxxNamesAndLeavesOthersAlone) {
  EXPECT_EQ(FullKernelName("_Z4axpyPfS_fi"), "axpy(float*, float*, float, int)");
  EXPECT_EQ(FullKernelName("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(FullKernelName("_Znonsense"), "_Znonsense");
  EXPECT_EQ(FullKernelName(""), "");
}

TEST(FullKernelNameTest, NeverPrintsControlBytes) {
  EXPECT_EQ(FullKernelName("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(FullKernelName(absl::string_view("_Z\0x", 4)), "_Z\\x00x");
  EXPECT_EQ(FullKernelName("_Z3a\x01xv"), "a\\x01x()");
}

TEST(FullKernelNameTest, LongNamesAreCutAndMarked) {
  const std::string name(100'000, 'A');
  EXPECT_THAT(FullKernelName(name), SizeIs(kMaxShownNameBytes + 3));
  EXPECT_THAT(FullKernelName(name), EndsWith("A..."));
}

TEST(FullKernelNameTest, ANameMadeToExplodeIsLeftMangled) {
  // A<A<A<..>, A<..>>, ..>: every level doubles the text.
  constexpr absl::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string name = "_Z1f1AIiE";
  for (const char digit : kDigits) {
    const std::string index(1, digit);
    absl::StrAppend(&name, "S_IS", index, "_S", index, "_E");
  }
  EXPECT_EQ(FullKernelName(name), name);
}

struct NameCase {
  const char* full;
  const char* expected;
};

class ShortKernelNameTest : public ::testing::TestWithParam<NameCase> {};

TEST_P(ShortKernelNameTest, SaysWhatAPersonWouldCallIt) {
  EXPECT_EQ(ShortKernelName(GetParam().full), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Names, ShortKernelNameTest,
    ::testing::Values(
        NameCase{"axpy(float*, float*, float, int)", "axpy"},
        NameCase{"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"}, NameCase{"", ""},
        NameCase{"(anonymous namespace)::kernel()", "kernel"},
        NameCase{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
                 "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
                 "at::native::vectorized_elementwise_kernel<CUDAFunctor_add>"},
        NameCase{
            "void at::native::vectorized_elementwise_kernel<4, at::native::exp_kernel_cuda(at::TensorIteratorBase&)"
            "::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, "
            "std::array<char*, 2ul> >(int, int, std::array<char*, 2ul>)",
            "at::native::vectorized_elementwise_kernel<exp_kernel_cuda>"},
        NameCase{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
                 "at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, "
                 "float)#1}>, unsigned int, float, 4, 4> >(at::native::ReduceOp<float>)",
                 "at::native::reduce_kernel<sum_functor>"},
        NameCase{
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
            "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::CopyFunctor<float, float, 2, 1, "
            "1>, at::native::Copy<float, float> >(at::native::(anonymous namespace)::TensorListMetadata<2>)",
            "at::native::multi_tensor_apply_kernel<CopyFunctor>"},
        NameCase{"void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, true, false>(float*, float "
                 "const*, int, int, int)",
                 "softmax_warp_forward"},
        NameCase{"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align8>("
                 "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align8::Params)",
                 "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align8>"},
        NameCase{"void std::enable_if<!false, void>::type internal::gemvx::kernel<int, float, 7, "
                 "cublasGemvParamsEx<int> >(cublasGemvParamsEx<int>)",
                 "internal::gemvx::kernel<cublasGemvParamsEx>"},
        NameCase{"void f<(a::b)3, (1>2), true>(int)", "f"},
        NameCase{"void A<int>::operator<< <float>(int)", "A::operator<<"},
        NameCase{"A::operator()(int) const", "A::operator()"},
        NameCase{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda}::operator()"},
        // Not names: whatever comes out must be short of a crash and not empty.
        NameCase{"a<b", "a"}, NameCase{"x(", "x"}, NameCase{"::", "::"}, NameCase{"<>>>", "<>>>"}));

}  // namespace
}  // namespace gx::analysis
