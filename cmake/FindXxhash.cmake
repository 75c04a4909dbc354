# xxhash is used header-only (XXH_INLINE_ALL): no library to carry or link. Defines xxhash::xxhash.
find_path(XXHASH_INCLUDE_DIR xxhash.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Xxhash REQUIRED_VARS XXHASH_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libxxhash-dev")
mark_as_advanced(XXHASH_INCLUDE_DIR)
if(Xxhash_FOUND AND NOT TARGET xxhash::xxhash)
  add_library(xxhash::xxhash INTERFACE IMPORTED)
  target_include_directories(xxhash::xxhash SYSTEM INTERFACE "${XXHASH_INCLUDE_DIR}")
  target_compile_definitions(xxhash::xxhash INTERFACE XXH_INLINE_ALL)
endif()
