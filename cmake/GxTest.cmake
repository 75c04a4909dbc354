# gx_add_test(NAME n SOURCES a_test.cc ... LABELS unit [DEPS targets...] [ENV VAR=value ...] [TIMEOUT seconds])
#
# One GTest executable; every TEST in it is one ctest entry carrying the labels. GX_SOURCE_DIR is defined for reading
# files of the repository (golden inputs).
include(GoogleTest)

function(gx_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "SOURCES;LABELS;DEPS;ENV")
  if(NOT arg_NAME OR NOT arg_SOURCES OR NOT arg_LABELS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gx_add_test: NAME, SOURCES and LABELS are required; not understood: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE gx_warnings ${arg_DEPS} GTest::gmock GTest::gtest GTest::gmock_main Threads::Threads)
  target_compile_definitions(${arg_NAME} PRIVATE "GX_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  # gx_tests_LABEL builds the tests of one label and nothing else.
  foreach(_label IN LISTS arg_LABELS)
    if(NOT TARGET gx_tests_${_label})
      add_custom_target(gx_tests_${_label})
    endif()
    add_dependencies(gx_tests_${_label} ${arg_NAME})
  endforeach()
  # A list inside PROPERTIES has to survive two more evaluations by the discovery scripts.
  string(REPLACE ";" "\\;" _labels "${arg_LABELS}")
  set(_properties LABELS "${_labels}" TIMEOUT ${arg_TIMEOUT})
  if(arg_ENV)
    string(REPLACE ";" "\\;" _environment "${arg_ENV}")
    list(APPEND _properties ENVIRONMENT "${_environment}")
  endif()
  gtest_discover_tests(${arg_NAME} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES ${_properties})
endfunction()
