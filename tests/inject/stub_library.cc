// A shared library that looks a little like libcupti: it has a version and nothing else.
#include <cstdint>

#define GX_EXPORT __attribute__((visibility("default")))

extern "C" {

GX_EXPORT int gx_stub_function() { return 1; }
GX_EXPORT int cuptiGetVersion(uint32_t* version) {
  *version = 130001;
  return 0;
}

}  // extern "C"
