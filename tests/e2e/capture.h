// A run of the fake host under the unmodified injection library, with everything that a test compares: what the program
// printed, what the fakes did, what the trace says. Each test has a folder of its own.
#ifndef GPUEXEC_TESTS_E2E_CAPTURE_H_
#define GPUEXEC_TESTS_E2E_CAPTURE_H_

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/e2e/trace_view.h"
#include "tests/fakes/run_host.h"
#include "tests/support/temp_dir.h"

namespace gx::e2e {

struct Capture {
  testing::CommandResult result;
  fakes::FakeLog log;
  TraceView trace;
};

class CaptureTest : public ::testing::Test {
 protected:
  // The program under the library. Fails the test where the library was not loaded (an instrumented library into a
  // plain host is silently left out), or did what a driver punishes.
  Capture Run(const std::vector<std::string>& arguments, fakes::Environment environment = {});
  // The same without the library.
  testing::CommandResult RunBare(const std::vector<std::string>& arguments, const fakes::Environment& environment = {});

  // The variables of an injected run, for tests that start the host in another way.
  fakes::Environment Injected(const fakes::Environment& more = {}) const;
  std::string File(const std::string& name) const { return folder_.File(name); }
  // Names of files in the test's folder that begin with `prefix`, sorted.
  std::vector<std::string> Files(const std::string& prefix) const;
  const testing::TempDir& folder() const { return folder_; }

 private:
  testing::TempDir folder_;
};

// One text per kernel with every field that the fakes decide; the left side from the fakes' log, the right one from the
// trace. Equal sets mean that every field arrived.
std::multiset<std::string> ToldKernels(const fakes::FakeLog& log);
std::multiset<std::string> TracedKernels(const TraceView& trace);

// The same for kernel launches that were not captured into a graph (and their signatures).
std::multiset<std::string> ToldLaunches(const fakes::FakeLog& log);
std::multiset<std::string> TracedLaunches(const TraceView& trace);

// Violations that the fakes saw, by text.
std::vector<std::string> Violations(const fakes::FakeLog& log);

}  // namespace gx::e2e

#endif  // GPUEXEC_TESTS_E2E_CAPTURE_H_
