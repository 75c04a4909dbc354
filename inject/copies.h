// Second copies of this library and of libcupti in the process. State is per copy, so only one of each is at work; the
// others are named in the trace.
#ifndef GPUEXEC_INJECT_COPIES_H_
#define GPUEXEC_INJECT_COPIES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace gx::inject {

inline constexpr char kInjectLibraryPrefix[] = "libgpuexec_inject.so";

// The other file of this library's name that CUDA_INJECTION64_PATH (`named`) gives to the driver, which is then the one
// that records; "" where it is this one (`own_path`, by whatever path), no such file, or another tool.
std::string RecordingCopy(const char* named, const std::string& own_path);

// NVTX's request, passed on to that copy, which is loaded if it is not yet. False: it cannot be, or it refuses.
bool PassNvtxOn(const std::string& recording_copy, const void* (*get_export_table)(uint32_t));

// One sentence for each libcupti in the process (`mapped`) beside the one in use.
std::vector<std::string> CuptiCopyNotes(const std::vector<std::string>& mapped, const std::string& used_path);
// Likewise of this library.
std::vector<std::string> InjectCopyNotes(const std::vector<std::string>& mapped, const std::string& own_path);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_COPIES_H_
