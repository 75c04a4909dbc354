# gx_inject_base: the half of inject/ that needs no CUDA toolkit (settings, log, counters, the trace's bytes and file).
# Built and tested everywhere; the injection library is this and the half that knows CUPTI.
add_library(gx_inject_base STATIC
  "${CMAKE_CURRENT_LIST_DIR}/capture_gate.cc"
  "${CMAKE_CURRENT_LIST_DIR}/checksum.cc"
  "${CMAKE_CURRENT_LIST_DIR}/columns.cc"
  "${CMAKE_CURRENT_LIST_DIR}/config.cc"
  "${CMAKE_CURRENT_LIST_DIR}/context_behaviour.cc"
  "${CMAKE_CURRENT_LIST_DIR}/counter_planner.cc"
  "${CMAKE_CURRENT_LIST_DIR}/counter_records.cc"
  "${CMAKE_CURRENT_LIST_DIR}/counter_schedule.cc"
  "${CMAKE_CURRENT_LIST_DIR}/counter_sets.cc"
  "${CMAKE_CURRENT_LIST_DIR}/descriptor.cc"
  "${CMAKE_CURRENT_LIST_DIR}/exit_order.cc"
  "${CMAKE_CURRENT_LIST_DIR}/futex.cc"
  "${CMAKE_CURRENT_LIST_DIR}/graph_nodes.cc"
  "${CMAKE_CURRENT_LIST_DIR}/graph_sampling.cc"
  "${CMAKE_CURRENT_LIST_DIR}/log.cc"
  "${CMAKE_CURRENT_LIST_DIR}/metric_name.cc"
  "${CMAKE_CURRENT_LIST_DIR}/nearest_name.cc"
  "${CMAKE_CURRENT_LIST_DIR}/path_name.cc"
  "${CMAKE_CURRENT_LIST_DIR}/range_verdict.cc"
  "${CMAKE_CURRENT_LIST_DIR}/record_watch.cc"
  "${CMAKE_CURRENT_LIST_DIR}/replay_decision.cc"
  "${CMAKE_CURRENT_LIST_DIR}/replay_memory.cc"
  "${CMAKE_CURRENT_LIST_DIR}/sample_join.cc"
  "${CMAKE_CURRENT_LIST_DIR}/sampling_deny_list.cc"
  "${CMAKE_CURRENT_LIST_DIR}/sampling_needs.cc"
  "${CMAKE_CURRENT_LIST_DIR}/sampling_settings.cc"
  "${CMAKE_CURRENT_LIST_DIR}/sampling_wait.cc"
  "${CMAKE_CURRENT_LIST_DIR}/sampling_watchdog.cc"
  "${CMAKE_CURRENT_LIST_DIR}/self_stats.cc"
  "${CMAKE_CURRENT_LIST_DIR}/stream_table.cc"
  "${CMAKE_CURRENT_LIST_DIR}/timed_launches.cc"
  "${CMAKE_CURRENT_LIST_DIR}/trace_encoder.cc"
  "${CMAKE_CURRENT_LIST_DIR}/trace_file.cc"
  "${CMAKE_CURRENT_LIST_DIR}/window_clocks.cc")
target_link_libraries(gx_inject_base
  PUBLIC gx_trace_fields Threads::Threads
  PRIVATE gx_warnings protozero::protozero xxhash::xxhash)
# It becomes part of a shared library.
set_target_properties(gx_inject_base PROPERTIES POSITION_INDEPENDENT_CODE ON)
