// Redirects calls that other libraries of the process make through their import tables (the global offset table). Used
// for one purpose only: to notice, with GPUEXEC_YIELD=1, that another CUPTI client subscribes, before CUPTI refuses it.
// And reads these tables, to name who may be such a client.
#ifndef GPUEXEC_INJECT_IMPORT_PATCH_H_
#define GPUEXEC_INJECT_IMPORT_PATCH_H_

#include <cstdint>
#include <string>
#include <vector>

namespace gx::inject {

// In every shared object of the process, but for libcupti, libcuda and the vDSO, makes calls of the function `symbol`
// go to `replacement`. Objects loaded later are not touched: call again. Returns how many import slots were changed.
// Libraries that look the function up themselves (dlsym) are not reached.
uint32_t RedirectImports(const char* symbol, void* replacement) noexcept;

// Files of the process, but for libcupti and libcuda, that import the function `symbol`; "the program itself" for the
// executable. Reads only; milliseconds where there are many large libraries.
std::vector<std::string> ImportersOf(const char* symbol);

// A number that changes whenever a shared object was loaded into the process.
uint64_t LoadedObjectsCount() noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_IMPORT_PATCH_H_
