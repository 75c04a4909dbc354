# The one place where warnings are chosen: every own target links gx_warnings privately.
add_library(gx_warnings INTERFACE)
set(_gx_warning_flags -Wall -Wextra -Wconversion -Wshadow)
# GCC 12 sees an overlap in "literal" + std::string that is not there (GCC bug 105651, fixed in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND _gx_warning_flags -Wno-restrict)
endif()
if(GPUEXEC_WERROR)
  list(APPEND _gx_warning_flags -Werror)
endif()
# C++ only: nvcc passes host flags on to code that it generates, which is not clean under them.
target_compile_options(gx_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${_gx_warning_flags}>")
if(GPUEXEC_WERROR)
  target_compile_options(gx_warnings INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()
target_include_directories(gx_warnings INTERFACE "${PROJECT_SOURCE_DIR}")
