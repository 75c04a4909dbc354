// The machine file: what a GPU sustains, as `gx-kernels --ceilings` measured it (gpuexec/v1/machine.proto). Read,
// checked, found, and matched to a device of a trace. Empirical figures alone: each is computed again from its samples,
// and a file in which one does not follow from them is refused.
#ifndef GPUEXEC_ANALYSIS_MACHINE_FILE_H_
#define GPUEXEC_ANALYSIS_MACHINE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpuexec/v1/device.pb.h"
#include "gpuexec/v1/machine.pb.h"

namespace gx::analysis {

// MachineFile.format_version that is read.
inline constexpr uint64_t kMachineFormatVersion = 1;

// A file in binary or text form (analysis/manifest/message_file.h; no JSON, which is for others), checked. NotFound: it
// cannot be read. InvalidArgument: it is no machine file, or one whose figures do not hold together; the message says
// which.
absl::StatusOr<gpuexec::v1::MachineFile> ReadMachineFile(const std::string& path);

// Pure; any thread. InvalidArgument as above, without the file's name.
absl::Status CheckMachineFile(const gpuexec::v1::MachineFile& machine);

enum class MachineMatch {
  // The same UUID.
  kSameDevice,
  // Another one of the same name, compute capability, SM count, L2 size and memory bus.
  kSameProduct,
  kOtherDevice,
};
// What is unknown on one side agrees with nothing: ceilings of a device that cannot be told apart from another are not
// its own. Pure; any thread.
MachineMatch MatchMachine(const gpuexec::v1::MachineDevice& machine, const gpuexec::v1::Device& device);

// What else differs where the two match, one line each, for people: power limit, greatest clocks, ECC; and the driver,
// where it is known ("": unknown). Pure; any thread.
std::vector<std::string> MachineDifferences(const gpuexec::v1::MachineFile& machine, const gpuexec::v1::Device& device,
                                            absl::string_view driver_version);

// What a machine file is looked for with. Environment variables come as values, so that the order can be tested.
struct MachineSearch {
  // --machine; "": not given.
  std::string machine_option;
  std::string trace_path;
  // Absent: not set.
  std::optional<std::string> xdg_cache_home;
  std::optional<std::string> home;
  // Of the files that come with gpuexec (ShippedMachineFolder); "": not looked at.
  std::string shipped_folder = "";
};

// Where to look, first to last: the option alone where it is given, else machine.pb in the trace's folder, then in the
// user's cache folder ($XDG_CACHE_HOME, or $HOME/.cache where that is unset or not absolute: XDG Base Directory
// Specification 0.8) gpuexec/UUID.pb and gpuexec/NAME.pb, and last NAME.pb of those that come with gpuexec. UUID is as
// nvidia-smi shows it; in NAME all but letters, digits, '.', '-' and '_' is '_'. Pure; any thread.
std::vector<std::string> MachineFileCandidates(const MachineSearch& search, const gpuexec::v1::Device& device);

// share/gpuexec/machines beside the folder of a program of gpuexec, in a prefix as in a build folder; "" where the path
// (of /proc/self/exe, as a rule) names no folder. Pure; any thread.
std::string ShippedMachineFolder(absl::string_view program_path);

struct FoundMachine {
  // Absent: none matches.
  std::optional<gpuexec::v1::MachineFile> machine;
  std::string path;
  MachineMatch match = MachineMatch::kOtherDevice;
  // Candidates that are there and were not taken, and why; where none matches, the last line says what to do.
  std::vector<std::string> notes;
};

// The first candidate that can be read and matches and has both tracing and empty kernels, without which no ladder
// closes; else the first that can be read and matches. An error only of --machine: that file is meant.
absl::StatusOr<FoundMachine> FindMachineFile(const MachineSearch& search, const gpuexec::v1::Device& device);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MACHINE_FILE_H_
