// gx-run: runs a program under gpuexec. See gx-run --help.
#include <unistd.h>

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "tools/run/run_program.h"
#include "tools/run/signal_gate.h"

int main(int argc, char** argv) {
  gx::tools::RunEnd end;
  try {
    std::vector<std::string> environment;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
      environment.emplace_back(*variable);
    }
    end = gx::tools::RunProgram(std::vector<std::string>(argv + 1, argv + argc), environment);
  } catch (const std::exception& error) {
    // Memory ran out, as a rule: the project's own code throws nothing.
    std::cerr << "gx-run: " << error.what() << "\n";
    return gx::tools::kExitRunFailed;
  }
  if (end.signal != 0) gx::tools::EndBySignal(end.signal);
  return end.exit_code;
}
