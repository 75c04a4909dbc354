# The CUDA toolkit is optional. Sets
#   GX_HAVE_CUPTI  the injection library can be built (CUDA and CUPTI headers, 13.0 or newer); target gx_cuda_headers
#   GX_HAVE_NVCC   the demo kernels can be built (CUDA language enabled)
# and says in one line what is left out. GPUEXEC_INJECT=ON or GPUEXEC_KERNELS=ON makes the absence an error.
# Headers only: the injection library fills its tables at run time and links neither libcuda nor libcupti.
set(GX_HAVE_CUPTI OFF)
set(GX_HAVE_NVCC OFF)
set(_gx_cupti_minimum 130000)  # CUPTI_API_VERSION of toolkit 13.0
set(_gx_nvcc_minimum 13.0)     # signatures of graph functions changed between 12 and 13

set(_gx_no_cupti "")
set(_gx_no_nvcc "")
if(NOT GPUEXEC_INJECT STREQUAL "OFF" OR NOT GPUEXEC_KERNELS STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
endif()

if(GPUEXEC_KERNELS STREQUAL "OFF")
  set(_gx_no_nvcc "GPUEXEC_KERNELS=OFF")
else()
  # A toolkit may have been installed since the last configure.
  if(DEFINED CMAKE_CUDA_COMPILER AND NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)
  endif()
  # A toolkit's nvcc need not be on PATH. By environment, because check_language tries only a compiler not yet chosen.
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND CUDAToolkit_NVCC_EXECUTABLE)
    set(ENV{CUDACXX} "${CUDAToolkit_NVCC_EXECUTABLE}")
  endif()
  # Before the language is enabled, or CMake chooses. PTX of the lowest keeps the binary useful on newer GPUs.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;80-virtual" CACHE STRING "CUDA architectures")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
  else()
    set(_gx_no_nvcc "no working CUDA compiler (nvcc) found")
  endif()
  if(CMAKE_CUDA_COMPILER AND NOT CUDAToolkit_FOUND)
    find_package(CUDAToolkit QUIET)  # a compiler found by CUDACXX leads to its toolkit
  endif()
  if(CMAKE_CUDA_COMPILER AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS _gx_nvcc_minimum)
    set(_gx_no_nvcc "nvcc is ${CMAKE_CUDA_COMPILER_VERSION}, need ${_gx_nvcc_minimum} or newer")
  elseif(CMAKE_CUDA_COMPILER AND NOT CUDAToolkit_FOUND)
    set(_gx_no_nvcc "${CMAKE_CUDA_COMPILER} was found, but not its toolkit")
  elseif(CMAKE_CUDA_COMPILER)
    set(GX_HAVE_NVCC ON)
    # CMake 3.25 has no flag for C++20 in CUDA ("does not know the flags"), although nvcc does. Removable once the minimum
    # CMake knows it.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  endif()
endif()

if(GPUEXEC_INJECT STREQUAL "OFF")
  set(_gx_no_cupti "GPUEXEC_INJECT=OFF")
elseif(NOT CUDAToolkit_FOUND)
  set(_gx_no_cupti "no CUDA toolkit found")
else()
  find_path(GX_CUPTI_INCLUDE_DIR cupti.h
    HINTS ${CUDAToolkit_INCLUDE_DIRS}
    PATHS "${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include" "${CUDAToolkit_BIN_DIR}/../extras/CUPTI/include")
  mark_as_advanced(GX_CUPTI_INCLUDE_DIR)
  if(NOT GX_CUPTI_INCLUDE_DIR)
    set(_gx_no_cupti "CUDA toolkit ${CUDAToolkit_VERSION} has no cupti.h")
  else()
    set(_gx_cupti_version 0)
    if(EXISTS "${GX_CUPTI_INCLUDE_DIR}/cupti_version.h")
      file(STRINGS "${GX_CUPTI_INCLUDE_DIR}/cupti_version.h" _gx_lines REGEX "#define[ ]+CUPTI_API_VERSION[ ]+[0-9]+")
      if(_gx_lines MATCHES "CUPTI_API_VERSION[ ]+([0-9]+)")
        set(_gx_cupti_version ${CMAKE_MATCH_1})
      endif()
    endif()
    if(_gx_cupti_version LESS _gx_cupti_minimum)
      set(_gx_no_cupti "CUPTI headers in ${GX_CUPTI_INCLUDE_DIR} have API version ${_gx_cupti_version}, \
need ${_gx_cupti_minimum} (toolkit 13.0) or newer")
    else()
      set(GX_HAVE_CUPTI ON)
      add_library(gx_cuda_headers INTERFACE)
      target_include_directories(gx_cuda_headers SYSTEM INTERFACE
        ${CUDAToolkit_INCLUDE_DIRS} "${GX_CUPTI_INCLUDE_DIR}")
    endif()
  endif()
endif()

foreach(_gx_part IN ITEMS INJECT KERNELS)
  if(_gx_part STREQUAL "INJECT")
    set(_gx_reason "${_gx_no_cupti}")
    set(_gx_what "injection library (capturing traces)")
  else()
    set(_gx_reason "${_gx_no_nvcc}")
    set(_gx_what "demo kernels (gx-kernels)")
  endif()
  if(_gx_reason)
    if(GPUEXEC_${_gx_part} STREQUAL "ON")
      message(FATAL_ERROR "GPUEXEC_${_gx_part}=ON, but ${_gx_reason}. "
        "Install a CUDA toolkit 13.0 or newer, point -DCUDAToolkit_ROOT=DIR at one, or use -DGPUEXEC_${_gx_part}=AUTO.")
    endif()
    message(STATUS "Left out: ${_gx_what}: ${_gx_reason}")
  endif()
endforeach()
