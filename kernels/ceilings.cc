#include "kernels/ceilings.h"

#include <cuda_runtime.h>
#include <getopt.h>
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/ceilings/bench.h"
#include "kernels/ceilings/machine_fields.h"
#include "kernels/ceilings/machine_record.h"

namespace gx::kernels {
namespace {

constexpr std::string_view kOption = "--ceilings";

constexpr char kUsage[] =
    "usage: gx-kernels --ceilings[=PART,...] [-o FILE] [--json]\n"
    "\n"
    "Measures what the GPU sustains: bandwidths, rates, latencies, launches; takes less than a minute. The figures "
    "are\n"
    "slopes of time against work, and the machine file keeps the samples that they follow from.\n"
    "\n"
    "  --ceilings=PART,...  these parts alone: dram caches atomics vector mma wgmma cublaslt latency kernels launches\n"
    "  -o, --output FILE    writes the machine file (gpuexec.v1.MachineFile)\n"
    "  --json               prints the machine file as JSON in place of the table\n"
    "\n"
    "Nothing else should use the GPU meanwhile. For cuBLASLt's rates its library has to be found (LD_LIBRARY_PATH).\n"
    "\n"
    "exit code: 0 all right, also where a figure could not be had (it is listed with the reason), 1 a CUDA call failed "
    "or\n"
    "a result was wrong (the rest is written), there is no device or the file cannot be written, 2 wrong usage\n";

struct Part {
  std::string_view name;
  void (*measure)(Bench& bench);
};

constexpr Part kParts[] = {
    {"dram", MeasureDram},
    {"caches", MeasureCaches},
    {"atomics", MeasureAtomics},
    {"vector", MeasureVector},
    {"mma", MeasureMmaSync},
    {"wgmma", MeasureWgmma},
    {"cublaslt", MeasureCublasLt},
    {"latency", MeasureLatency},
    {"kernels", MeasureKernelTimings},
    {"launches", MeasureLaunchRates},
};

struct Options {
  // Empty: all.
  std::vector<std::string> parts;
  std::string output;
  bool json = false;
};

// Adds the parts of a comma-separated list; false after saying which name is unknown.
bool AddParts(std::string_view list, std::vector<std::string>* parts) {
  while (true) {
    const size_t comma = list.find(',');
    const std::string name(list.substr(0, comma));
    bool known = false;
    for (const Part& part : kParts) known = known || part.name == name;
    if (!known) {
      std::fprintf(stderr, "gx-kernels: no part of the ceilings is named '%s'; see gx-kernels --ceilings --help\n",
                   name.c_str());
      return false;
    }
    parts->push_back(name);
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

// Absent: the exit code is in *exit_code.
std::optional<Options> ParseOptions(int argc, char** argv, int* exit_code) {
  static const option kOptions[] = {{"ceilings", optional_argument, nullptr, 'c'},
                                    {"output", required_argument, nullptr, 'o'},
                                    {"json", no_argument, nullptr, 'j'},
                                    {"help", no_argument, nullptr, 'h'},
                                    {nullptr, 0, nullptr, 0}};
  Options options;
  *exit_code = 2;
  for (int letter = 0; (letter = getopt_long(argc, argv, "ho:", kOptions, nullptr)) != -1;) {
    switch (letter) {
      case 'c':
        if (optarg != nullptr && !AddParts(optarg, &options.parts)) return std::nullopt;
        break;
      case 'o':
        options.output = optarg;
        break;
      case 'j':
        options.json = true;
        break;
      case 'h':
        std::fputs(kUsage, stdout);
        *exit_code = 0;
        return std::nullopt;
      default:
        std::fputs("gx-kernels: see gx-kernels --ceilings --help\n", stderr);
        return std::nullopt;
    }
  }
  if (optind != argc) {
    std::fprintf(stderr, "gx-kernels: unexpected argument '%s'; see gx-kernels --ceilings --help\n", argv[optind]);
    return std::nullopt;
  }
  return options;
}

bool IsWanted(const Options& options, std::string_view part) {
  if (options.parts.empty()) return true;
  for (const std::string& wanted : options.parts) {
    if (wanted == part) return true;
  }
  return false;
}

uint64_t NowNs(clockid_t clock) {
  timespec now = {};
  (void)clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// As nvidia-smi shows it.
std::string UuidText(const cudaUUID_t& uuid, bool is_mig) {
  std::string text = is_mig ? "MIG-" : "GPU-";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

// Attributes that the driver knows, in the units of device.proto.
void AddAttributes(int device, MachineDevice* machine) {
  namespace field = device_attributes_field;
  struct Attribute {
    Field field;
    cudaDeviceAttr attribute;
    uint64_t factor;
  };
  constexpr Attribute kAttributes[] = {
      {field::kComputeCapabilityMajor, cudaDevAttrComputeCapabilityMajor, 1},
      {field::kComputeCapabilityMinor, cudaDevAttrComputeCapabilityMinor, 1},
      {field::kMultiprocessorCount, cudaDevAttrMultiProcessorCount, 1},
      {field::kMaxThreadsPerMultiprocessor, cudaDevAttrMaxThreadsPerMultiProcessor, 1},
      {field::kMaxBlocksPerMultiprocessor, cudaDevAttrMaxBlocksPerMultiprocessor, 1},
      {field::kMaxRegistersPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor, 1},
      {field::kMaxSharedMemoryPerBlockOptinBytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 1},
      {field::kMaxSharedMemoryPerMultiprocessorBytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 1},
      {field::kReservedSharedMemoryPerBlockBytes, cudaDevAttrReservedSharedMemoryPerBlock, 1},
      {field::kL2CacheBytes, cudaDevAttrL2CacheSize, 1},
      {field::kClockRateHz, cudaDevAttrClockRate, 1000},
      {field::kMemoryClockRateHz, cudaDevAttrMemoryClockRate, 1000},
      {field::kMemoryBusWidthBits, cudaDevAttrGlobalMemoryBusWidth, 1},
  };
  for (const Attribute& one : kAttributes) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, one.attribute, device) == cudaSuccess && value >= 0) {
      machine->attributes.emplace_back(one.field, static_cast<uint64_t>(value) * one.factor);
    } else {
      (void)cudaGetLastError();
    }
  }
}

void Describe(int argc, char** argv, Bench* bench) {
  MachineRecord& record = bench->record();
  record.run.gpuexec_version = GPUEXEC_VERSION;
  for (int i = 0; i < argc; ++i) record.run.command_line += (i == 0 ? "" : " ") + std::string(argv[i]);
  record.run.start_realtime_ns = NowNs(CLOCK_REALTIME);
  const char* injection = std::getenv("CUDA_INJECTION64_PATH");
  if (injection != nullptr) record.run.injection_path = injection;
  record.device.name = bench->device().name;
  record.device.uuid = UuidText(bench->device().uuid, record.device.mig_enabled.value_or(false));
  record.device.total_memory_bytes = bench->device().totalGlobalMem;
  AddAttributes(0, &record.device);
  int version = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess) {
    record.software.cuda_driver_version = static_cast<uint64_t>(version);
  }
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) {
    record.software.cuda_runtime_version = static_cast<uint64_t>(version);
  }
  record.software.compiler = CudaCompilerText();
}

void MeasureParts(const Options& options, Bench* bench) {
  MachineRecord& record = bench->record();
  for (const Part& part : kParts) {
    if (!IsWanted(options, part.name)) {
      record.unmeasured.push_back({std::string(part.name), "not asked for"});
    } else if (bench->broken()) {
      record.unmeasured.push_back({std::string(part.name), "an error before it left the device unusable"});
    } else {
      const uint64_t start_ns = NowNs(CLOCK_MONOTONIC);
      part.measure(*bench);
      std::fprintf(stderr, "gx-kernels: %s: %.1f s\n", std::string(part.name).c_str(),
                   static_cast<double>(NowNs(CLOCK_MONOTONIC) - start_ns) / 1e9);
    }
  }
  // Known not to be in any of them.
  record.unmeasured.push_back({"l2 fabric",
                               "no kernel by itself moves data through the fabric alone: it needs "
                               "lts__ltcfabric2lts_cycles_active of a counter window"});
  record.unmeasured.push_back({"l2 clock", "needs lts__cycles_elapsed.avg.per_second of a counter window"});
  record.unmeasured.push_back(
      {"tracing bias",
       "needs this program under injection: run it again with CUDA_INJECTION64_PATH and --ceilings=kernels"});
  record.unmeasured.push_back({"counter checks", "need the cases of gx-kernels in counter windows"});
}

// The machine file, complete or not at all.
class OutputFile {
 public:
  explicit OutputFile(std::string path) : path_(std::move(path)), part_path_(path_ + ".part") {}
  ~OutputFile() {
    if (file_ != nullptr) {
      (void)std::fclose(file_);
      (void)std::remove(part_path_.c_str());
    }
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Before a minute is spent on what cannot be written. False after saying why.
  bool Open() {
    file_ = std::fopen(part_path_.c_str(), "wb");
    return file_ != nullptr || Refused(part_path_, "opened for writing");
  }
  bool Write(std::string_view bytes) {
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
    const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
    if (!written || !closed) {
      (void)Refused(part_path_, "written");
      (void)std::remove(part_path_.c_str());
      return false;
    }
    return std::rename(part_path_.c_str(), path_.c_str()) == 0 || Refused(path_, "replaced");
  }

 private:
  static bool Refused(const std::string& path, const char* what) {
    std::fprintf(stderr, "gx-kernels: %s cannot be %s: %s\n", path.c_str(), what, std::strerror(errno));
    return false;
  }

  const std::string path_;
  const std::string part_path_;
  std::FILE* file_ = nullptr;
};

}  // namespace

bool WantsCeilings(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (argument == kOption || argument.substr(0, kOption.size() + 1) == "--ceilings=") return true;
  }
  return false;
}

int RunCeilings(int argc, char** argv) {
  int exit_code = 0;
  const std::optional<Options> options = ParseOptions(argc, argv, &exit_code);
  if (!options.has_value()) return exit_code;
  OutputFile output(options->output);
  if (!options->output.empty() && !output.Open()) return 1;
  std::optional<Bench> bench = Bench::Open(0);
  if (!bench.has_value()) return 1;
  const uint64_t start_ns = NowNs(CLOCK_MONOTONIC);
  Describe(argc, argv, &*bench);
  if (!bench->record().run.injection_path.empty()) {
    std::fputs(
        "gx-kernels: CUDA_INJECTION64_PATH is set: a profiler may lengthen kernels, so this machine file is the traced "
        "half of "
        "a comparison and holds no ceilings\n",
        stderr);
  }
  MeasureParts(*options, &*bench);
  bench->record().run.duration_ns = NowNs(CLOCK_MONOTONIC) - start_ns;
  const Message message = MachineMessage(bench->record());
  if (options->json) {
    std::printf("%s\n", message.Json().c_str());
  } else {
    std::fputs(MachineText(bench->record()).c_str(), stdout);
  }
  if (!options->output.empty()) {
    if (!output.Write(message.Wire())) return 1;
    std::fprintf(stderr, "gx-kernels: %s is written\n", options->output.c_str());
  }
  return bench->failure_count() == 0 ? 0 : 1;
}

}  // namespace gx::kernels
