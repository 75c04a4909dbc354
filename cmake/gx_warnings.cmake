# The one place where warnings are chosen: every own target links gx_warnings privately.
add_library(gx_warnings INTERFACE)
set(_gx_warning_flags -Wall -Wextra -Wconversion -Wshadow)
if(GPUEXEC_WERROR)
  list(APPEND _gx_warning_flags -Werror)
endif()
# C++ only: nvcc passes host flags on to code that it generates, which is not clean under them.
target_compile_options(gx_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${_gx_warning_flags}>")
if(GPUEXEC_WERROR)
  target_compile_options(gx_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()
target_include_directories(gx_warnings INTERFACE "${PROJECT_SOURCE_DIR}")
