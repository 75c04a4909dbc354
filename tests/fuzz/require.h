// What fuzz targets share: what one holds to be true of every input ends the process where it is not, so that the input
// is kept; and which forms of an input are tried.
#ifndef GPUEXEC_TESTS_FUZZ_REQUIRE_H_
#define GPUEXEC_TESTS_FUZZ_REQUIRE_H_

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#define GX_FUZZ_REQUIRE(condition)                                                   \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                  \
    }                                                                                \
  } while (false)

namespace gx::fuzz {

// Whether `bytes` are taken in that form, of `count` that there are: in each of them by the replay of the corpus; in
// one of them, told by the bytes, by a fuzzer (GX_ONE_FORM_EACH). Pure.
template <typename Bytes>
bool IsFormOf(const Bytes& bytes, size_t form, size_t count) {
#ifdef GX_ONE_FORM_EACH
  size_t sum = 0;
  for (const char c : bytes) sum = sum * 31 + static_cast<unsigned char>(c);
  return (sum >> 8) % count == form;
#else
  (void)bytes;
  return form < count;
#endif
}

}  // namespace gx::fuzz

#endif  // GPUEXEC_TESTS_FUZZ_REQUIRE_H_
