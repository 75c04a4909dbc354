// What a program can see of its own process, in a file beside its output: lines that differ from run to run belong
// here, not on standard output. Without a file nothing is written. One thread.
//
//   folder PATH                         working directory
//   umask OCTAL, rounding N             file mode mask; rounding mode of the FPU
//   handled N+ N-, blocked N ...        signals with a handler, ignored; blocked in this thread
//   alternate_stack 0|1                 whether signals have a stack of their own here
//   limit N                             of open files
//   file N inherited|own TARGET         each open file; inherited: a program that is started gets it, too
//   variable NAME HASH                  of the environment, without those that are there for tools
//   mark NANOSECONDS N                  N launches by that time of CLOCK_MONOTONIC
//   WORD ...                            whatever the scenario adds
#ifndef GPUEXEC_TESTS_GPU_HOST_LIVES_STATE_H_
#define GPUEXEC_TESTS_GPU_HOST_LIVES_STATE_H_

#include <cstdint>
#include <string>

namespace gx::lives {

// Begins the file. False: it cannot be made.
bool OpenState(const char* path);

// A line of the scenario's own, at once.
void Note(const std::string& line);

// A line `mark`: one in 0.1 s, or with `now` at once.
void Mark(uint64_t launches, bool now);

// All that is known of the process.
void NoteProcess();

}  // namespace gx::lives

#endif  // GPUEXEC_TESTS_GPU_HOST_LIVES_STATE_H_
