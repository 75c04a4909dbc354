// gx-model: the analytical model of one execution manifest, and the check of an evidence bundle. See gx-model --help.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "analysis/cli/model_command.h"

int main(int argc, char** argv) {
  try {
    return gx::analysis::RunModel(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    // Memory ran out, as a rule: the project's own code throws nothing.
    std::cerr << "gx-model: " << error.what() << "\n";
    return gx::analysis::kModelUnusable;
  }
}
