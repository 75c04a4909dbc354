#include "analysis/model/rate_table.h"

namespace gx::model {
namespace {

using CC = ComputeCapability;
constexpr ProductClass kAny = ProductClass::kUnknown;
constexpr ProductClass kPro = ProductClass::kProfessional;
constexpr ProductClass kGeForce = ProductClass::kGeForce;

// A multiply-add is two operations.
constexpr double Fma(double multiply_adds) { return 2 * multiply_adds; }

constexpr RateSource kGuide{SourceKind::kVendorDocument,
                            "CUDA C++ Programming Guide, throughput of native arithmetic instructions (7.x, 8.0)"};
constexpr RateSource kSchedulers{SourceKind::kVendorDocument,
                                 "CUDA C++ Programming Guide, compute capabilities: four warp schedulers per SM, one "
                                 "instruction per clock each"};
constexpr RateSource kForumTensor{SourceKind::kVendorStatement,
                                  "NVIDIA developer forum 244727: tensor rates of the V100, A100 and H100 whitepapers"};
constexpr RateSource kForumHalf{SourceKind::kVendorStatement,
                                "NVIDIA developer forum 218102: FP16 and BF16 rates of A100 and H100"};
constexpr RateSource kXlaAmpere{SourceKind::kThirdParty,
                                "openxla/xla cuda_core_info_table.cc, citing the A100 whitepaper"};
constexpr RateSource kXlaHopper{SourceKind::kThirdParty,
                                "openxla/xla cuda_core_info_table.cc, citing the H100 whitepaper, table 3"};
// One row for every 10.x.
constexpr RateSource kXlaBlackwell{
    SourceKind::kThirdParty,
    "openxla/xla cuda_core_info_table.cc, citing the CUDA 13.0 Best Practices Guide, table 5, and Wikipedia"};
constexpr RateSource kTechPowerUp{SourceKind::kDerived, "TechPowerUp: TFLOP/s over SMs and boost clock"};
constexpr RateSource kHmcTech{SourceKind::kDerived, "hmc-tech.com: TOP/s over SMs and boost clock"};
// The page has the TFLOP/s; neither SMs nor clock.
constexpr RateSource kB300{SourceKind::kDerived,
                           "glennklockwood.com, B300: TFLOP/s over 148 SMs and 1.856 GHz, both assumed as in B200"};
constexpr RateSource kB300Fp64{SourceKind::kDerived,
                               "glennklockwood.com, B300: 1.25 TFLOP/s over 148 SMs and 2.032 GHz, rounded"};
constexpr RateSource kSm120{SourceKind::kThirdParty,
                            "public note on sm_120, quoting the CUDA 13.4 guide and the RTX Blackwell whitepaper"};
constexpr RateSource kRecalled{SourceKind::kUnsourced, "recalled, not looked up"};

constexpr RateNote Note(absl::string_view text) { return {false, text}; }
constexpr RateNote Conflict(absl::string_view text) { return {true, text}; }

constexpr RateNote kHeadlineHopper = Note("headline TFLOP/s assume 1.83 GHz; the SMs of H100 and H200 reach 1.98 GHz");
constexpr RateNote kFp8GeForce120 =
    Conflict("half rate with FP32 accumulation by the RTX Blackwell whitepaper; CUTLASS implies the full 2048");
constexpr RateNote kFp8Pro120 =
    Conflict("the RTX Blackwell whitepaper has half rate with FP32 accumulation, for GeForce; CUTLASS implies 2048");
// The source has one row for 10.0 and 10.3, so what speaks against it for one does for the other.
constexpr RateNote kHalf100 = Conflict("hmc-tech.com has 150 TFLOP/s for B200, twice FP32: 256");
constexpr RateNote kHalf103 =
    Conflict("the row of 10.0, for which hmc-tech.com has 256 (B200, 150 TFLOP/s: twice FP32)");
constexpr RateNote kAboutFp64 = Note("about: 1.25 TFLOP/s are 4.2 operations per clock and SM at 2.032 GHz");
constexpr RateNote kPro120 = Conflict("recalled; hmc-tech.com lists half of it for RTX PRO 5000");

constexpr RateRow kRates[] = {
    // 7.0: V100. 80 SMs x 1.53 GHz x 1024 = 125.3 TFLOP/s.
    {CC{7, 0}, kAny, kFp64Fma, Fma(32), kGuide, {}},
    {CC{7, 0}, kAny, kFp32Fma, Fma(64), kGuide, {}},
    {CC{7, 0}, kAny, kFp16Fma, Fma(128), kGuide, {}},
    {CC{7, 0}, kAny, kInt32Mad, Fma(64), kRecalled, {}},
    {CC{7, 0}, kAny, kSpecialFunction, 16, kGuide, {}},
    {CC{7, 0}, kAny, kWarpIssue, 4, kSchedulers, {}},
    {CC{7, 0}, kAny, kTensorFp16Fp16, 1024, kForumTensor, {}},
    {CC{7, 0}, kAny, kTensorFp16Fp32, 1024, kForumTensor, {}},

    // 7.5: T4. 40 SMs x 1.59 GHz x 1024 = 65.1 TFLOP/s.
    {CC{7, 5}, kAny, kFp64Fma, Fma(2), kTechPowerUp, Note("T4: 0.254 TFLOP/s; the guide's 32 is of 7.0")},
    {CC{7, 5}, kAny, kFp32Fma, Fma(64), kGuide, {}},
    {CC{7, 5}, kAny, kFp16Fma, Fma(128), kGuide, {}},
    {CC{7, 5}, kAny, kInt32Mad, Fma(64), kRecalled, {}},
    {CC{7, 5}, kAny, kSpecialFunction, 16, kGuide, {}},
    {CC{7, 5}, kAny, kWarpIssue, 4, kSchedulers, {}},
    {CC{7, 5}, kAny, kTensorFp16Fp16, 1024, kTechPowerUp, {}},
    {CC{7, 5}, kPro, kTensorFp16Fp32, 1024, kRecalled, {}},
    {CC{7, 5}, kGeForce, kTensorFp16Fp32, 512, kRecalled, {}},
    {CC{7, 5}, kAny, kTensorInt8Int32, 2048, kTechPowerUp, {}},
    {CC{7, 5}, kAny, kTensorInt4Int32, 4096, kRecalled, {}},

    // 8.0: A100. 108 SMs x 1.41 GHz x 2048 = 311.9 TFLOP/s.
    {CC{8, 0}, kAny, kFp64Fma, Fma(32), kGuide, {}},
    {CC{8, 0}, kAny, kFp32Fma, Fma(64), kGuide, {}},
    {CC{8, 0}, kAny, kFp16Fma, Fma(256), kGuide,
     Conflict("openxla/xla has 128; part of the packed FP16 instructions run on the tensor pipe")},
    {CC{8, 0}, kAny, kBf16Fma, Fma(128), kForumHalf, {}},
    {CC{8, 0}, kAny, kInt32Mad, Fma(64), kGuide, {}},
    {CC{8, 0}, kAny, kSpecialFunction, 16, kGuide, {}},
    {CC{8, 0}, kAny, kWarpIssue, 4, kSchedulers, {}},
    {CC{8, 0}, kAny, kTensorFp16Fp16, 2048, kForumTensor, {}},
    {CC{8, 0}, kAny, kTensorFp16Fp32, 2048, kForumTensor, {}},
    {CC{8, 0}, kAny, kTensorBf16Fp32, 2048, kForumTensor, {}},
    {CC{8, 0}, kAny, kTensorTf32Fp32, 1024, kXlaAmpere, {}},
    {CC{8, 0}, kAny, kTensorInt8Int32, 4096, kXlaAmpere, {}},
    {CC{8, 0}, kAny, kTensorInt4Int32, 8192, kHmcTech, {}},
    {CC{8, 0}, kAny, kTensorFp64Fp64, 128, kXlaAmpere, Note("shares its pipe with FP64 instructions")},

    // 8.6: A10. 72 SMs x 1.695 GHz x 1024 = 125 TFLOP/s; RTX 3090 with FP32 accumulation half of it per SM.
    {CC{8, 6}, kAny, kFp64Fma, Fma(2), kTechPowerUp, Note("1/64 of FP32")},
    {CC{8, 6}, kAny, kFp32Fma, Fma(128), kTechPowerUp, {}},
    {CC{8, 6}, kAny, kFp16Fma, Fma(128), kTechPowerUp,
     Conflict("NVIDIA developer forum 302641 reads 256 for 8.6 in the guide; product tables have the FP32 rate")},
    {CC{8, 6}, kAny, kBf16Fma, Fma(128), kTechPowerUp, {}},
    {CC{8, 6}, kAny, kInt32Mad, Fma(64), kRecalled, {}},
    {CC{8, 6}, kAny, kSpecialFunction, 16, kRecalled, {}},
    {CC{8, 6}, kAny, kWarpIssue, 4, kSchedulers, {}},
    {CC{8, 6}, kAny, kTensorFp16Fp16, 1024, kTechPowerUp, {}},
    {CC{8, 6}, kPro, kTensorFp16Fp32, 1024, kTechPowerUp, {}},
    {CC{8, 6}, kGeForce, kTensorFp16Fp32, 512, kTechPowerUp, {}},
    {CC{8, 6}, kPro, kTensorBf16Fp32, 1024, kTechPowerUp, {}},
    {CC{8, 6}, kGeForce, kTensorBf16Fp32, 512, kTechPowerUp, {}},
    {CC{8, 6}, kPro, kTensorTf32Fp32, 512, kTechPowerUp, {}},
    {CC{8, 6}, kGeForce, kTensorTf32Fp32, 256, kTechPowerUp, {}},
    {CC{8, 6}, kAny, kTensorInt8Int32, 2048, kTechPowerUp, {}},
    {CC{8, 6}, kAny, kTensorInt4Int32, 4096, kRecalled, {}},

    // 8.7: Orin.
    {CC{8, 7}, kAny, kFp64Fma, Fma(2), kRecalled, {}},
    {CC{8, 7}, kAny, kFp32Fma, Fma(128), kRecalled, {}},
    {CC{8, 7}, kAny, kFp16Fma, Fma(256), kRecalled, Note("low confidence")},
    {CC{8, 7}, kAny, kBf16Fma, Fma(128), kRecalled, {}},
    {CC{8, 7}, kAny, kInt32Mad, Fma(64), kRecalled, {}},
    {CC{8, 7}, kAny, kSpecialFunction, 16, kRecalled, {}},
    {CC{8, 7}, kAny, kWarpIssue, 4, kSchedulers, {}},
    {CC{8, 7}, kAny, kTensorFp16Fp16, 2048, kRecalled, {}},
    {CC{8, 7}, kAny, kTensorFp16Fp32, 2048, kRecalled, {}},
    {CC{8, 7}, kAny, kTensorBf16Fp32, 2048, kRecalled, {}},
    {CC{8, 7}, kAny, kTensorTf32Fp32, 1024, kRecalled, {}},
    {CC{8, 7}, kAny, kTensorInt8Int32, 4096, kRecalled, {}},
    {CC{8, 7}, kAny, kTensorInt4Int32, 8192, kRecalled, {}},

    // 8.9: RTX 4090. 128 SMs x 2.52 GHz x 1024 = 330 TFLOP/s with FP16 accumulation.
    {CC{8, 9}, kAny, kFp64Fma, Fma(2), kTechPowerUp, {}},
    {CC{8, 9}, kAny, kFp32Fma, Fma(128), kTechPowerUp, {}},
    {CC{8, 9}, kAny, kFp16Fma, Fma(128), kTechPowerUp, {}},
    {CC{8, 9}, kAny, kBf16Fma, Fma(128), kTechPowerUp, {}},
    {CC{8, 9}, kAny, kInt32Mad, Fma(64), kRecalled, {}},
    {CC{8, 9}, kAny, kSpecialFunction, 16, kRecalled, {}},
    {CC{8, 9}, kAny, kWarpIssue, 4, kSchedulers, {}},
    {CC{8, 9}, kAny, kTensorFp16Fp16, 1024, kHmcTech, {}},
    {CC{8, 9}, kPro, kTensorFp16Fp32, 1024, kTechPowerUp, {}},
    {CC{8, 9}, kGeForce, kTensorFp16Fp32, 512, kHmcTech, {}},
    {CC{8, 9}, kPro, kTensorBf16Fp32, 1024, kTechPowerUp, {}},
    {CC{8, 9}, kGeForce, kTensorBf16Fp32, 512, kHmcTech, {}},
    {CC{8, 9}, kPro, kTensorTf32Fp32, 512, kTechPowerUp, {}},
    {CC{8, 9}, kGeForce, kTensorTf32Fp32, 256, kHmcTech, {}},
    {CC{8, 9}, kAny, kTensorFp8Fp16, 2048, kHmcTech, {}},
    {CC{8, 9}, kPro, kTensorFp8Fp32, 2048, kTechPowerUp, {}},
    {CC{8, 9}, kGeForce, kTensorFp8Fp32, 1024, kHmcTech, {}},
    {CC{8, 9}, kAny, kTensorInt8Int32, 2048, kHmcTech, {}},
    {CC{8, 9}, kAny, kTensorInt4Int32, 4096, kHmcTech, {}},

    // 9.0: H100. 132 SMs x 1.83 GHz x 4096 = 989 TFLOP/s; at 1.98 GHz 1070.
    {CC{9, 0}, kAny, kFp64Fma, Fma(64), kXlaHopper, {}},
    {CC{9, 0}, kAny, kFp32Fma, Fma(128), kXlaHopper, {}},
    {CC{9, 0}, kAny, kFp16Fma, Fma(256), kXlaHopper,
     Conflict("TechPowerUp has 512 (four times FP32); NVIDIA's H100 table has twice FP32")},
    {CC{9, 0}, kAny, kBf16Fma, Fma(256), kForumHalf, {}},
    {CC{9, 0}, kAny, kInt32Mad, Fma(64), kXlaHopper, {}},
    {CC{9, 0}, kAny, kSpecialFunction, 16, kRecalled, {}},
    {CC{9, 0}, kAny, kWarpIssue, 4, kSchedulers, {}},
    {CC{9, 0}, kAny, kTensorFp16Fp16, 4096, kForumTensor, kHeadlineHopper},
    {CC{9, 0}, kAny, kTensorFp16Fp32, 4096, kForumTensor, kHeadlineHopper},
    {CC{9, 0}, kAny, kTensorBf16Fp32, 4096, kForumTensor, kHeadlineHopper},
    {CC{9, 0}, kAny, kTensorTf32Fp32, 2048, kXlaHopper, kHeadlineHopper},
    {CC{9, 0}, kAny, kTensorFp8Fp16, 8192, kXlaHopper, kHeadlineHopper},
    {CC{9, 0}, kAny, kTensorFp8Fp32, 8192, kXlaHopper, kHeadlineHopper},
    {CC{9, 0}, kAny, kTensorInt8Int32, 8192, kXlaHopper, kHeadlineHopper},
    {CC{9, 0}, kAny, kTensorFp64Fp64, 256, kXlaHopper, Note("shares its pipe with FP64 instructions")},

    // 10.0: B200. 148 SMs x 1.856 GHz x 8192 = 2250 TFLOP/s.
    {CC{10, 0}, kAny, kFp64Fma, Fma(64), kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kFp32Fma, Fma(128), kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kFp16Fma, Fma(128), kXlaBlackwell, kHalf100},
    {CC{10, 0}, kAny, kBf16Fma, Fma(128), kXlaBlackwell, kHalf100},
    {CC{10, 0}, kAny, kInt32Mad, Fma(64), kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kSpecialFunction, 16, kRecalled, Note("a public note of B300 shows 32 for 10.3")},
    {CC{10, 0}, kAny, kWarpIssue, 4, kSchedulers, {}},
    {CC{10, 0}, kAny, kTensorFp16Fp16, 8192, kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kTensorFp16Fp32, 8192, kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kTensorBf16Fp32, 8192, kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kTensorTf32Fp32, 4096, kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kTensorFp8Fp16, 16384, kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kTensorFp8Fp32, 16384, kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kTensorFp6Fp16, 16384, kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kTensorFp6Fp32, 16384, kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kTensorFp4Fp32, 32768, kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kTensorInt8Int32, 16384, kXlaBlackwell, {}},
    {CC{10, 0}, kAny, kTensorFp64Fp64, 128, kXlaBlackwell, {}},

    // 10.3: B300.
    {CC{10, 3}, kAny, kFp64Fma, Fma(2), kB300Fp64, kAboutFp64},
    {CC{10, 3}, kAny, kFp32Fma, Fma(128), kTechPowerUp,
     Note("B300: 77 TFLOP/s at 2.032 GHz; glennklockwood.com has 75, the same at 1.98 GHz")},
    {CC{10, 3}, kAny, kFp16Fma, Fma(128), kXlaBlackwell, kHalf103},
    {CC{10, 3}, kAny, kBf16Fma, Fma(128), kXlaBlackwell, kHalf103},
    {CC{10, 3}, kAny, kInt32Mad, Fma(64), kXlaBlackwell, {}},
    {CC{10, 3}, kAny, kSpecialFunction, 32, {SourceKind::kThirdParty, "public notes on B300: a profiler's peak"}, {}},
    {CC{10, 3}, kAny, kWarpIssue, 4, kSchedulers, {}},
    {CC{10, 3}, kAny, kTensorFp16Fp16, 8192, kB300, {}},
    {CC{10, 3}, kAny, kTensorFp16Fp32, 8192, kB300, {}},
    {CC{10, 3}, kAny, kTensorBf16Fp32, 8192, kB300, {}},
    {CC{10, 3}, kAny, kTensorTf32Fp32, 4096, kB300, {}},
    {CC{10, 3}, kAny, kTensorFp8Fp16, 16384, kB300, {}},
    {CC{10, 3}, kAny, kTensorFp8Fp32, 16384, kB300, {}},
    {CC{10, 3}, kAny, kTensorFp6Fp16, 16384, kB300, {}},
    {CC{10, 3}, kAny, kTensorFp6Fp32, 16384, kB300, {}},
    // Sparse: 18 PFLOP/s in the same table, not twice the dense rate.
    {CC{10, 3}, kAny, kTensorFp4Fp32, 49152, kB300, Conflict("13 to 15 PFLOP/s for B300, by source"), 65536},
    {CC{10, 3}, kAny, kTensorInt8Int32, 16384, kB300,
     Conflict("recalled: NVIDIA's own table has far less; the larger one is the safe bound")},
    {CC{10, 3}, kAny, kTensorFp64Fp64, 4, kB300Fp64, kAboutFp64},

    // 12.0: RTX 5090. 170 SMs x 2.407 GHz x 1024 = 419 TFLOP/s with FP16 accumulation.
    {CC{12, 0}, kAny, kFp64Fma, Fma(2), kSm120, {}},
    {CC{12, 0}, kAny, kFp32Fma, Fma(128), kSm120, {}},
    {CC{12, 0}, kAny, kFp16Fma, Fma(128), kSm120, {}},
    {CC{12, 0}, kAny, kBf16Fma, Fma(128), kSm120, {}},
    {CC{12, 0}, kAny, kInt32Mad, Fma(64), kSm120, {}},
    {CC{12, 0}, kAny, kSpecialFunction, 16, kRecalled, {}},
    {CC{12, 0}, kAny, kWarpIssue, 4, kSchedulers, {}},
    {CC{12, 0}, kAny, kTensorFp16Fp16, 1024, kSm120, {}},
    {CC{12, 0}, kPro, kTensorFp16Fp32, 1024, kRecalled, kPro120},
    {CC{12, 0}, kGeForce, kTensorFp16Fp32, 512, kSm120, {}},
    {CC{12, 0}, kPro, kTensorBf16Fp32, 1024, kRecalled, kPro120},
    {CC{12, 0}, kGeForce, kTensorBf16Fp32, 512, kSm120, {}},
    {CC{12, 0}, kPro, kTensorTf32Fp32, 512, kRecalled, kPro120},
    {CC{12, 0}, kGeForce, kTensorTf32Fp32, 256, kSm120, {}},
    {CC{12, 0}, kAny, kTensorFp8Fp16, 2048, kSm120, {}},
    {CC{12, 0}, kPro, kTensorFp8Fp32, 2048, kSm120, kFp8Pro120},
    {CC{12, 0}, kGeForce, kTensorFp8Fp32, 1024, kSm120, kFp8GeForce120},
    {CC{12, 0}, kAny, kTensorFp6Fp16, 2048, kSm120, {}},
    {CC{12, 0}, kPro, kTensorFp6Fp32, 2048, kSm120, kFp8Pro120},
    {CC{12, 0}, kGeForce, kTensorFp6Fp32, 1024, kSm120, kFp8GeForce120},
    {CC{12, 0}, kAny, kTensorFp4Fp32, 4096, kSm120, Note("block-scaled formats only")},
    {CC{12, 0}, kAny, kTensorInt8Int32, 2048, kSm120, {}},
};

constexpr RateSource kBanks{SourceKind::kVendorDocument,
                            "CUDA C++ Programming Guide, shared memory: 32 banks of 32 bits per clock"};
constexpr RateSource kGpuBenches{SourceKind::kThirdParty, "te42kyfo/gpu-benches, gpu-cache: loads of 4 bytes"};
constexpr RateNote kScalarLoads =
    Note("loads of 16 bytes are reported near 121 (recalled): count wavefronts, one per clock and SM, not bytes");
constexpr RateNote kTensorOperands =
    Note("for load and store instructions; tensor operands may get more (256 in notes)");
constexpr CeilingKind kDocumented = CeilingKind::kTheoretical;
constexpr CeilingKind kMeasured = CeilingKind::kEmpirical;

// No row is recalled: what nobody documented or measured is no ceiling.
constexpr MemoryRateRow kMemoryRates[] = {
    {CC{7, 0}, OnChipMemory::kShared, 128, kDocumented, kBanks, {}},
    {CC{7, 0}, OnChipMemory::kL1Load, 125.6, kMeasured, kGpuBenches, Note("V100")},
    {CC{7, 5}, OnChipMemory::kShared, 128, kDocumented, kBanks,
     Conflict("64 is recalled, not looked up (16 load and store lanes per clock)")},
    {CC{8, 0}, OnChipMemory::kShared, 128, kDocumented, kBanks, {}},
    {CC{8, 0}, OnChipMemory::kL1Load, 125.8, kMeasured, kGpuBenches, Note("A100")},
    {CC{8, 0},
     OnChipMemory::kL2Read,
     5120,
     kDocumented,
     {SourceKind::kVendorDocument, "NVIDIA A100 whitepaper, p. 35"},
     Note("A100; gpu-benches reach 3840")},
    {CC{8, 6}, OnChipMemory::kShared, 128, kDocumented, kBanks, {}},
    {CC{8, 6}, OnChipMemory::kL1Load, 64.5, kMeasured, kGpuBenches, kScalarLoads},
    {CC{8, 7}, OnChipMemory::kShared, 128, kDocumented, kBanks, {}},
    {CC{8, 9}, OnChipMemory::kShared, 128, kDocumented, kBanks, {}},
    {CC{8, 9}, OnChipMemory::kL1Load, 64.0, kMeasured, kGpuBenches, kScalarLoads},
    {CC{9, 0}, OnChipMemory::kShared, 128, kDocumented, kBanks, {}},
    {CC{9, 0}, OnChipMemory::kL1Load, 126.0, kMeasured, kGpuBenches, {}},
    {CC{10, 0}, OnChipMemory::kShared, 128, kDocumented, kBanks, kTensorOperands},
    {CC{10, 3}, OnChipMemory::kShared, 128, kDocumented, kBanks, kTensorOperands},
    {CC{12, 0}, OnChipMemory::kShared, 128, kDocumented, kBanks, {}},
};

}  // namespace

absl::Span<const RateRow> RateRows() noexcept { return kRates; }

absl::Span<const MemoryRateRow> MemoryRateRows() noexcept { return kMemoryRates; }

}  // namespace gx::model
