# protozero is header-only and its package brings no CMake file. Defines protozero::protozero.
find_path(PROTOZERO_INCLUDE_DIR protozero/version.hpp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Protozero REQUIRED_VARS PROTOZERO_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libprotozero-dev")
mark_as_advanced(PROTOZERO_INCLUDE_DIR)
if(Protozero_FOUND AND NOT TARGET protozero::protozero)
  add_library(protozero::protozero INTERFACE IMPORTED)
  target_include_directories(protozero::protozero SYSTEM INTERFACE "${PROTOZERO_INCLUDE_DIR}")
endif()
