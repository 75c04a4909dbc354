// Names and machine code of the functions in a cubin (an ELF file that the driver has loaded): code identity comes from
// here. Pure; every offset is checked against the given bytes.
#ifndef GPUEXEC_INJECT_CUBIN_H_
#define GPUEXEC_INJECT_CUBIN_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace gx::inject {

// Calls visit(user, mangled function name, its code) for each section named ".text.NAME" of a 64-bit little-endian ELF
// file. Returns false where the bytes are no such file, or a section lies outside them (sections before it were
// visited).
bool ForEachFunction(std::span<const uint8_t> cubin,
                     void (*visit)(void* user, std::string_view name, std::span<const uint8_t> code),
                     void* user) noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CUBIN_H_
