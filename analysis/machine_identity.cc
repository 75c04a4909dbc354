#include "analysis/machine_identity.h"

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace gx::analysis {

void RemoveMachineIdentity(gpuexec::v1::MachineFile* machine) {
  machine->mutable_device()->clear_uuid();
  machine->mutable_device()->clear_pci_bus_id();
  std::vector<absl::string_view> words = absl::StrSplit(machine->run().command_line(), ' ');
  for (absl::string_view& word : words) {
    const size_t slash = word.rfind('/');
    if (slash != absl::string_view::npos) word.remove_prefix(slash + 1);
  }
  // The words are views of what is replaced.
  std::string command_line = absl::StrJoin(words, " ");
  machine->mutable_run()->set_command_line(std::move(command_line));
}

}  // namespace gx::analysis
