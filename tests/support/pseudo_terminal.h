// A terminal that a test looks at from behind: what a program writes to `slave()` is read back. Owned by one thread.
//
//   PseudoTerminal terminal(80);
//   ::write(terminal.slave(), ...);
//   EXPECT_EQ(terminal.Read(), ...);
#ifndef GPUEXEC_TESTS_SUPPORT_PSEUDO_TERMINAL_H_
#define GPUEXEC_TESTS_SUPPORT_PSEUDO_TERMINAL_H_

#include <cstdint>
#include <string>

namespace gx::testing {

class PseudoTerminal {
 public:
  // columns 0: a terminal that does not say its size.
  explicit PseudoTerminal(uint16_t columns);
  ~PseudoTerminal();
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  bool ok() const { return master_ >= 0; }
  int slave() const { return slave_; }
  // Closes this side of the slave; Read then ends when the last program that has it open is gone.
  void CloseSlave();
  // All that was written, as the terminal got it ("\r\n" at the ends of lines), until nothing is left to read.
  std::string Read();

 private:
  int master_ = -1;
  int slave_ = -1;
};

}  // namespace gx::testing

#endif  // GPUEXEC_TESTS_SUPPORT_PSEUDO_TERMINAL_H_
