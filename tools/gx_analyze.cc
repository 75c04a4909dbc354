// gx-analyze: the report of one or more traces. See gx-analyze --help.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "analysis/cli/analyze_command.h"

int main(int argc, char** argv) {
  try {
    return gx::analysis::RunAnalyze(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    // Memory ran out, as a rule: the project's own code throws nothing.
    std::cerr << "gx-analyze: " << error.what() << "\n";
    return gx::analysis::kExitUnreadable;
  }
}
