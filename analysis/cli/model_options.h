// gx-model's command line -> options. Pure (getopt_long's own state is reset for each call); one thread.
#ifndef GPUEXEC_ANALYSIS_CLI_MODEL_OPTIONS_H_
#define GPUEXEC_ANALYSIS_CLI_MODEL_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gx::analysis {

enum class ModelFormat { kText, kJson, kBinary, kTextproto };

struct ModelOptions {
  bool help = false;
  bool version = false;
  bool list_devices = false;
  // "-": standard input.
  std::string manifest;
  // "": none.
  std::string observation;
  std::string device;
  bool fail_on_mismatch = false;
  ModelFormat format = ModelFormat::kText;
  // "": standard output.
  std::string output;
};

// InvalidArgument: one line that says what is wrong.
absl::StatusOr<ModelOptions> ParseModelOptions(const std::vector<std::string>& arguments);

// What --help prints.
std::string ModelHelp();

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLI_MODEL_OPTIONS_H_
