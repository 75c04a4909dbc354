#include "tools/doctor/probes.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "tools/doctor/root_folder.h"

namespace gx::doctor {
namespace {

// A library on a slow disk loads within this; cuInit of a machine with eight devices without persistence mode takes
// several seconds.
constexpr std::chrono::milliseconds kLoadDeadline{10'000};
constexpr std::chrono::milliseconds kDriverDeadline{30'000};
constexpr int64_t kMaxDevices = 16;

// Where the loader put a library; "": it does not say.
std::string PathOf(void* handle) {
  const link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return "";
  return map->l_name;
}

// Answers "path" or "problem".
void* Open(const char* name, const Answer& answer) {
  void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    answer("problem", why != nullptr ? why : "dlopen gave no reason");
    return nullptr;
  }
  const std::string path = PathOf(handle);
  answer("path", path.empty() ? name : path);
  return handle;
}

template <typename Function>
Function Find(void* handle, const char* name) {
  return reinterpret_cast<Function>(::dlsym(handle, name));
}

OpenedLibrary LibraryOf(const ProbeResult& result) {
  OpenedLibrary library;
  library.tried = true;
  library.path = result.answers.Get("path").value_or("");
  library.problem = result.answers.Get("problem").value_or("");
  if (library.loaded()) library.canonical = RootFolder().Canonical(library.path);
  if (!library.loaded() && library.problem.empty()) {
    library.problem = absl::StrCat("the process that loaded it ", EndText(result.child));
  }
  return library;
}

// What the process was in when it died or was killed; "" where it ended by itself.
std::string StuckIn(const ProbeResult& result) {
  if (result.child.ok() || !result.answers.Get("path")) return "";
  return absl::StrCat(result.answers.Last("call").value_or("the first call"), ": the process ", EndText(result.child));
}

std::string DeviceKey(int64_t device, const char* what) { return absl::StrCat("device", device, ".", what); }

// Signatures and numbers are those of NVIDIA's CUDA driver API reference (CUDA 13.0).
void AskCuda(const Answer& answer) {
  void* handle = Open("libcuda.so.1", answer);
  if (handle == nullptr) return;
  const auto get_version = Find<int (*)(int*)>(handle, "cuDriverGetVersion");
  const auto init = Find<int (*)(unsigned)>(handle, "cuInit");
  const auto error_name = Find<int (*)(int, const char**)>(handle, "cuGetErrorName");
  const auto get_count = Find<int (*)(int*)>(handle, "cuDeviceGetCount");
  const auto get_device = Find<int (*)(int*, int)>(handle, "cuDeviceGet");
  const auto get_name = Find<int (*)(char*, int, int)>(handle, "cuDeviceGetName");
  const auto get_bus_id = Find<int (*)(char*, int, int)>(handle, "cuDeviceGetPCIBusId");
  const auto get_attribute = Find<int (*)(int*, int, int)>(handle, "cuDeviceGetAttribute");
  int number = 0;
  if (get_version != nullptr && get_version(&number) == 0) answer("driver_api_version", absl::StrCat(number));
  if (init == nullptr) {
    answer("problem", "it has no function cuInit");
    return;
  }
  answer("call", "cuInit");
  const int result = init(0);
  answer("init_result", absl::StrCat(result));
  const char* text = nullptr;
  if (error_name != nullptr && error_name(result, &text) == 0 && text != nullptr) answer("init_text", text);
  int count = 0;
  if (result != 0 || get_count == nullptr || get_count(&count) != 0) return;
  answer("device_count", absl::StrCat(count));
  answer("call", "a question about a device");
  if (get_device == nullptr || get_attribute == nullptr) return;
  constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  constexpr int kMinor = 76;
  for (int i = 0; i < std::min<int>(count, kMaxDevices); ++i) {
    int device = 0;
    if (get_device(&device, i) != 0) continue;
    char name[256] = {};
    if (get_name != nullptr && get_name(name, sizeof(name) - 1, device) == 0) answer(DeviceKey(i, "name"), name);
    char bus_id[32] = {};
    if (get_bus_id != nullptr && get_bus_id(bus_id, sizeof(bus_id) - 1, device) == 0) {
      answer(DeviceKey(i, "pci_bus_id"), bus_id);
    }
    if (get_attribute(&number, kMajor, device) == 0) answer(DeviceKey(i, "major"), absl::StrCat(number));
    if (get_attribute(&number, kMinor, device) == 0) answer(DeviceKey(i, "minor"), absl::StrCat(number));
  }
}

// nvmlConfComputeSystemState_t of NVML's API reference, version 1.
struct ConfidentialState {
  unsigned environment = 0;
  unsigned feature = 0;
  unsigned dev_tools_mode = 0;
};

// Signatures are those of NVIDIA's NVML API reference.
void AskNvml(const CudaFacts& cuda, const Answer& answer) {
  void* handle = Open("libnvidia-ml.so.1", answer);
  if (handle == nullptr) return;
  const auto init = Find<int (*)()>(handle, "nvmlInit_v2");
  if (init == nullptr) {
    answer("problem", "it has no function nvmlInit_v2");
    return;
  }
  answer("call", "nvmlInit_v2");
  const int result = init();
  answer("init_result", absl::StrCat(result));
  if (result != 0) return;
  char text[96] = {};
  const auto driver = Find<int (*)(char*, unsigned)>(handle, "nvmlSystemGetDriverVersion");
  if (driver != nullptr && driver(text, sizeof(text) - 1) == 0) answer("driver_version", text);
  const auto get_confidential = Find<int (*)(ConfidentialState*)>(handle, "nvmlSystemGetConfComputeState");
  ConfidentialState state;
  if (get_confidential != nullptr && get_confidential(&state) == 0) {
    answer("confidential_feature", absl::StrCat(state.feature));
    answer("confidential_dev_tools", absl::StrCat(state.dev_tools_mode));
  }
  const auto get_count = Find<int (*)(unsigned*)>(handle, "nvmlDeviceGetCount_v2");
  const auto by_index = Find<int (*)(unsigned, void**)>(handle, "nvmlDeviceGetHandleByIndex_v2");
  const auto by_bus_id = Find<int (*)(const char*, void**)>(handle, "nvmlDeviceGetHandleByPciBusId_v2");
  unsigned count = static_cast<unsigned>(cuda.devices.size());
  if (cuda.devices.empty() && (get_count == nullptr || get_count(&count) != 0)) return;
  answer("device_count", absl::StrCat(count));
  answer("call", "a question about a device");
  const auto get_name = Find<int (*)(void*, char*, unsigned)>(handle, "nvmlDeviceGetName");
  const auto get_mig = Find<int (*)(void*, unsigned*, unsigned*)>(handle, "nvmlDeviceGetMigMode");
  const auto get_mode = Find<int (*)(void*, unsigned*)>(handle, "nvmlDeviceGetVirtualizationMode");
  const auto get_processes = Find<int (*)(void*, unsigned*, void*)>(handle, "nvmlDeviceGetComputeRunningProcesses_v3");
  for (unsigned i = 0; i < std::min<unsigned>(count, kMaxDevices); ++i) {
    void* device = nullptr;
    const bool found = cuda.devices.empty()
                           ? by_index != nullptr && by_index(i, &device) == 0
                           : by_bus_id != nullptr && by_bus_id(cuda.devices[i].pci_bus_id.c_str(), &device) == 0;
    if (!found) continue;
    unsigned current = 0;
    unsigned pending = 0;
    if (get_name != nullptr && get_name(device, text, sizeof(text) - 1) == 0) answer(DeviceKey(i, "name"), text);
    if (get_mig != nullptr && get_mig(device, &current, &pending) == 0) {
      answer(DeviceKey(i, "mig"), absl::StrCat(current));
    }
    if (get_mode != nullptr && get_mode(device, &current) == 0) {
      answer(DeviceKey(i, "virtualization"), absl::StrCat(current));
    }
    // Without room it says how many there are: NVML_ERROR_INSUFFICIENT_SIZE; with none, success.
    constexpr int kInsufficientSize = 7;
    unsigned processes = 0;
    if (get_processes != nullptr) {
      const int told = get_processes(device, &processes, nullptr);
      if (told == 0 || told == kInsufficientSize) answer(DeviceKey(i, "processes"), absl::StrCat(processes));
    }
  }
}

}  // namespace

OpenedLibrary ProbeLibrary(const std::string& name) {
  return LibraryOf(Probe([&name](const Answer& answer) { (void)Open(name.c_str(), answer); }, kLoadDeadline));
}

CudaFacts CudaFactsOf(const ProbeResult& result) {
  const Answers& answers = result.answers;
  CudaFacts facts;
  facts.library = LibraryOf(result);
  facts.driver_api_version = answers.Number("driver_api_version");
  facts.init_result = answers.Number("init_result");
  facts.init_text = answers.Get("init_text").value_or("");
  facts.device_count = answers.Number("device_count");
  for (int64_t i = 0; i < std::min(facts.device_count.value_or(0), kMaxDevices); ++i) {
    CudaDevice device;
    device.name = answers.Get(DeviceKey(i, "name")).value_or("");
    device.pci_bus_id = answers.Get(DeviceKey(i, "pci_bus_id")).value_or("");
    device.compute_capability_major = answers.Number(DeviceKey(i, "major"));
    device.compute_capability_minor = answers.Number(DeviceKey(i, "minor"));
    facts.devices.push_back(std::move(device));
  }
  facts.stuck = StuckIn(result);
  return facts;
}

CudaFacts ProbeCuda() { return CudaFactsOf(Probe(AskCuda, kDriverDeadline)); }

NvmlFacts NvmlFactsOf(const ProbeResult& result) {
  const Answers& answers = result.answers;
  NvmlFacts facts;
  facts.library = LibraryOf(result);
  facts.init_result = answers.Number("init_result");
  facts.driver_version = answers.Get("driver_version").value_or("");
  facts.confidential_feature = answers.Number("confidential_feature");
  facts.confidential_dev_tools = answers.Number("confidential_dev_tools");
  for (int64_t i = 0; i < std::min(answers.Number("device_count").value_or(0), kMaxDevices); ++i) {
    NvmlDevice device;
    device.name = answers.Get(DeviceKey(i, "name")).value_or("");
    device.mig_mode = answers.Number(DeviceKey(i, "mig"));
    device.virtualization_mode = answers.Number(DeviceKey(i, "virtualization"));
    device.process_count = answers.Number(DeviceKey(i, "processes"));
    facts.devices.push_back(std::move(device));
  }
  facts.stuck = StuckIn(result);
  return facts;
}

NvmlFacts ProbeNvml(const CudaFacts& cuda) {
  return NvmlFactsOf(Probe([&cuda](const Answer& answer) { AskNvml(cuda, answer); }, kDriverDeadline));
}

void ProbeCuptiVersion(CuptiCopy* copy) {
  const ProbeResult result = Probe(
      [copy](const Answer& answer) {
        void* handle = Open(copy->path.c_str(), answer);
        if (handle == nullptr) return;
        const auto get_version = Find<int (*)(uint32_t*)>(handle, "cuptiGetVersion");
        uint32_t version = 0;
        if (get_version == nullptr) {
          answer("problem", "it has no function cuptiGetVersion");
        } else if (const int code = get_version(&version); code != 0) {
          answer("problem", absl::StrCat("cuptiGetVersion returned error ", code));
        } else {
          answer("version", absl::StrCat(version));
        }
      },
      kLoadDeadline);
  copy->api_version = result.answers.Number("version");
  copy->problem = result.answers.Get("problem").value_or("");
  if (!copy->api_version && copy->problem.empty()) {
    copy->problem = absl::StrCat("the process that loaded it ", EndText(result.child));
  }
}

}  // namespace gx::doctor
