# Applies GPUEXEC_SANITIZE to every C++ target of the build, so that a .so and the host that loads it always agree:
# an instrumented .so kills a plain host (address) or silently does not load into one (thread).
if(GPUEXEC_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${GPUEXEC_SANITIZE};-fno-omit-frame-pointer;-g>")
  if(GPUEXEC_SANITIZE MATCHES "undefined")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's instrumentation makes this warning see paths that are not there (std::regex, g++ 12).
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>")
  endif()
  add_link_options("-fsanitize=${GPUEXEC_SANITIZE}")
endif()
