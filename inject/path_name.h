// Names of output files: pure functions on text, no file system. [MT]
#ifndef GPUEXEC_INJECT_PATH_NAME_H_
#define GPUEXEC_INJECT_PATH_NAME_H_

#include <string>

namespace gx::inject {

// "dir/trace.pb" and ".12" -> "dir/trace.12.pb". Where the last part has no dot, or only a leading one, the suffix goes
// to the end.
std::string InsertBeforeExtension(const std::string& path, const std::string& suffix);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_PATH_NAME_H_
