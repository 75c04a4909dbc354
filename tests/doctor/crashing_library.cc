// A library that ends the process which loads it, to stand where a libcupti is looked for.
#include <cstdlib>

namespace {

__attribute__((constructor)) void Crash() { std::abort(); }

}  // namespace
