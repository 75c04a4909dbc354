#include "tools/run/program_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tools/support/elf_file.h"

namespace gx::tools {
namespace {

// As the kernel has it (BINPRM_BUF_SIZE).
constexpr size_t kMaxFirstLineBytes = 256;

std::string ReadHead(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kElfHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

bool IsRegularFile(const std::string& path, struct stat* status) {
  return ::stat(path.c_str(), status) == 0 && S_ISREG(status->st_mode);
}

}  // namespace

std::string FindProgram(const std::string& name, std::optional<absl::string_view> path) {
  if (name.find('/') != std::string::npos) return name;
  // execvp's own default, without the current folder.
  for (const absl::string_view folder : absl::StrSplit(path.value_or("/bin:/usr/bin"), ':')) {
    const std::string candidate = folder.empty() ? name : absl::StrCat(folder, "/", name);
    struct stat status;
    if (IsRegularFile(candidate, &status) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

ProgramFile LookAtProgram(const std::string& program) {
  ProgramFile file;
  struct stat status;
  if (program.empty() || !IsRegularFile(program, &status)) return file;
  file.path = program;
  std::string head = ReadHead(program);
  if (const std::string interpreter = InterpreterOf(head); !interpreter.empty()) {
    if (!IsRegularFile(interpreter, &status)) return file;
    file.path = interpreter;
    head = ReadHead(interpreter);
  }
  file.is_privileged = (status.st_mode & (S_ISUID | S_ISGID)) != 0 ||
                       ::getxattr(file.path.c_str(), "security.capability", nullptr, 0) > 0;
  const std::optional<ElfFile> elf = ReadElfFile(head);
  file.is_static = elf && (elf->type == ET_EXEC || elf->type == ET_DYN) && elf->has_interpreter == false;
  return file;
}

std::string InterpreterOf(absl::string_view head) {
  if (!absl::ConsumePrefix(&head, "#!")) return "";
  head = head.substr(0, std::min(head.find('\n'), kMaxFirstLineBytes));
  const size_t begin = head.find_first_not_of(" \t");
  if (begin == absl::string_view::npos) return "";
  head.remove_prefix(begin);
  return std::string(head.substr(0, head.find_first_of(" \t")));
}

}  // namespace gx::tools
