// The file of a program that is to be run, as far as it decides whether a library can be injected. Any thread.
#ifndef GPUEXEC_TOOLS_RUN_PROGRAM_FILE_H_
#define GPUEXEC_TOOLS_RUN_PROGRAM_FILE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace gx::tools {

struct ProgramFile {
  // Of the program itself, of its interpreter where it is a script; "": not found.
  std::string path;
  // Linked without a dynamic loader: it cannot load libraries.
  bool is_static = false;
  // setuid, setgid or with file capabilities: the loader and the driver may ignore variables (AT_SECURE).
  bool is_privileged = false;
};

// Where exec would find `name`: itself where it holds a slash, else the first executable file in the folders of `path`
// (the variable PATH; nothing: the system's default). "": nowhere.
std::string FindProgram(const std::string& name, std::optional<absl::string_view> path);

// `program` as FindProgram gives it.
ProgramFile LookAtProgram(const std::string& program);

// "/bin/sh" of "#! /bin/sh -e\n..."; "" where `head` is no script. Pure.
std::string InterpreterOf(absl::string_view head);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_PROGRAM_FILE_H_
