#include "analysis/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace gx::analysis {

bool IsTerminal(int descriptor) { return ::isatty(descriptor) == 1; }

size_t TerminalColumns(int descriptor) {
  constexpr size_t kUsual = 80;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

}  // namespace gx::analysis
