// What a fuzz target holds to be true of every input: ends the process where it is not, so that the input is kept.
#ifndef GPUEXEC_TESTS_FUZZ_REQUIRE_H_
#define GPUEXEC_TESTS_FUZZ_REQUIRE_H_

#include <cstdio>
#include <cstdlib>

#define GX_FUZZ_REQUIRE(condition)                                                   \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                  \
    }                                                                                \
  } while (false)

#endif  // GPUEXEC_TESTS_FUZZ_REQUIRE_H_
