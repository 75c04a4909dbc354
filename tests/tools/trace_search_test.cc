#include "tools/run/trace_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_dir.h"

namespace gx::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct NameCase {
  const char* output;
  const char* folder;
  const char* prefix;
  const char* suffix;
};

TEST(TraceSearch, NamesBeginAndEndAsThePatternDoes) {
  const NameCase cases[] = {
      {"/x/trace.pb", "/x", "trace", ".pb"},   {"/x/run.%p.pb", "/x", "run.", ".pb"}, {"/x/%h-%r.pb", "/x", "", ".pb"},
      {"/x%%y/a%%b.%p", "/x%y", "a%b", ".%p"}, {"/trace", "/", "trace", ""},          {"trace.pb", ".", "trace", ".pb"},
  };
  for (const NameCase& test : cases) {
    const NamePattern names = TraceNames(test.output);
    EXPECT_EQ(names.folder, test.folder) << test.output;
    EXPECT_EQ(names.prefix, test.prefix) << test.output;
    EXPECT_EQ(names.suffix, test.suffix) << test.output;
  }
}

TEST(TraceSearch, FindsFilesOfTheRunAlone) {
  const testing::TempDir folder;
  for (const char* name : {"trace.pb", "trace.12.pb", "trace.txt", "other.pb"}) std::ofstream(folder.File(name)) << "x";
  const NamePattern names = TraceNames(folder.File("trace.pb"));
  EXPECT_THAT(FindTraces(names, 0), ElementsAre(folder.File("trace.12.pb"), folder.File("trace.pb")));
  EXPECT_THAT(FindTraces(names, INT64_MAX), IsEmpty()) << "older than the run";
  EXPECT_THAT(FindTraces(TraceNames("/nowhere/trace.pb"), 0), IsEmpty());
}

}  // namespace
}  // namespace gx::tools
