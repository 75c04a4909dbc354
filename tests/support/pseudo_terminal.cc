#include "tests/support/pseudo_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>

namespace gx::testing {

PseudoTerminal::PseudoTerminal(uint16_t columns) {
  winsize size{};
  size.ws_col = columns;
  size.ws_row = columns == 0 ? 0 : 25;
  if (::openpty(&master_, &slave_, nullptr, nullptr, &size) != 0) {
    master_ = slave_ = -1;
    return;
  }
  ::fcntl(master_, F_SETFD, FD_CLOEXEC);
  ::fcntl(slave_, F_SETFD, FD_CLOEXEC);
}

PseudoTerminal::~PseudoTerminal() {
  CloseSlave();
  if (master_ >= 0) ::close(master_);
}

void PseudoTerminal::CloseSlave() {
  if (slave_ >= 0) ::close(slave_);
  slave_ = -1;
}

std::string PseudoTerminal::Read() {
  std::string text;
  while (true) {
    // With the slave closed here, wait for its other holders; else take what is there.
    pollfd polled{master_, POLLIN, 0};
    if (::poll(&polled, 1, slave_ >= 0 ? 0 : -1) <= 0) return text;
    std::array<char, 4096> chunk;
    const ssize_t got = ::read(master_, chunk.data(), chunk.size());
    // EIO: nobody has the slave open any more.
    if (got <= 0) return text;
    text.append(chunk.data(), static_cast<size_t>(got));
  }
}

}  // namespace gx::testing
