// What NVTX_INJECTION64_PATH names in a test: hands NVTX on to whoever loaded it.
#include <cstdint>

#define GX_EXPORT __attribute__((visibility("default")))

using GetExportTable = const void* (*)(uint32_t);

extern "C" {

GX_EXPORT int (*gx_nvtx_initialize)(GetExportTable) = nullptr;
GX_EXPORT int InitializeInjectionNvtx2(GetExportTable get_export_table) {
  return gx_nvtx_initialize == nullptr ? 0 : gx_nvtx_initialize(get_export_table);
}

}  // extern "C"
