// Parameter blocks of CUPTI's newer APIs.
#ifndef GPUEXEC_INJECT_CUPTI_PARAMS_H_
#define GPUEXEC_INJECT_CUPTI_PARAMS_H_

// Zeroed, with the size that tells CUPTI which fields there are.
#define GX_CUPTI_PARAMS(type, variable) \
  type variable{};                      \
  variable.structSize = type##_STRUCT_SIZE

#endif  // GPUEXEC_INJECT_CUPTI_PARAMS_H_
