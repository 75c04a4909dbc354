// Whether a shared library can be loaded on this machine, in this environment. The CUDA driver leaves out a library
// that it cannot load without a word, so it is tried before, and the reason put into a sentence.
//
//   const Loadability loadable = CheckLoadable(path, {"InitializeInjection"});
//   if (loadable.fault != LoadFault::kNone) Complain(loadable.problem, loadable.advice);
#ifndef GPUEXEC_TOOLS_SUPPORT_LOADABILITY_H_
#define GPUEXEC_TOOLS_SUPPORT_LOADABILITY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gx::tools {

enum class LoadFault {
  kNone,
  kUnreadable,      // no such file, no permission, a folder
  kNoLibrary,       // no ELF file, or one of another type than a shared library, or cut
  kOtherMachine,    // another processor or word size
  kMissingLibrary,  // needs a library that the loader does not find
  kMissingVersion,  // needs a newer version of a library than the one found
  kMissingSymbol,   // needs a symbol that no library has
  kNoEntryPoint,    // loads, but does not export what was asked for
  kNotMapped,       // the system refuses to map it: a file system mounted noexec, as a rule
  kRefused,         // any other word of the loader
  kCrashed,         // loading it ended the process that tried
  kTimedOut,        // loading it did not end
  kNotTried,        // no process could be made to try
};

struct Loadability {
  LoadFault fault = LoadFault::kNone;
  // One sentence without a full stop that begins with the library's path; empty for kNone. No control bytes.
  std::string problem;
  // What to do; empty for kNone. No control bytes.
  std::string advice;
};

// The default of CheckLoadable: a library on a slow network file system takes seconds, not more.
inline constexpr int64_t kLoadTimeoutMs = 10'000;

// Loads the library in a child process, as the driver would in a program with the environment and the loader's settings
// of the caller, and looks for the symbols. Nothing of it runs here, and no child is left. Call it while the process
// has one thread.
Loadability CheckLoadable(const std::string& path, const std::vector<std::string>& exported_symbols,
                          int64_t timeout_ms = kLoadTimeoutMs);

// The same from the first bytes of the file alone (kElfHeadBytes): kNone, kNoLibrary or kOtherMachine. Pure.
Loadability JudgeLibraryHead(absl::string_view path, absl::string_view head);

// What a message of glibc's dlerror means for the library at `path`. Pure.
Loadability ExplainLoaderMessage(absl::string_view path, absl::string_view message);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_SUPPORT_LOADABILITY_H_
