# NvsTest.cmake - how tests are registered.
#
#   nvs_unit_test(NAME SOURCES file...)
#     One process, linked with the library's objects, so that it reaches internal functions.
#     Becomes the test unit/NAME.
#
#   nvs_spmd_test(NAME SOURCES file... | PROGRAM name [NPES n...] [TRANSPORTS shm chaos]
#                 [ARGS arg...] [ENV NAME=value...] [TIMEOUT seconds] [LABELS label...]
#                 [LIBRARIES target...])
#     A user's program, linked with libnvs.so, run by nvsrun with each number of PEs over each
#     transport. Becomes spmd/NAME/n4, and spmd/NAME/n4/chaos with NVS_TRANSPORT=chaos.
#     PROGRAM: that of another test, to run it again with other arguments.
#
# NVS_TEST_WRAPPER is a command that runs each of these programs: ./task valgrind. It makes them slow,
# so the limits are ten times as long.
#
# Exit 0 is success, 77 says "cannot be tested here", everything else is a failure.
# With ctest -j, a test takes as many places as it has PEs, so timing is as when it runs alone.

set(NVS_TEST_WRAPPER "" CACHE STRING "Command that runs each test program, a list: valgrind;-q")
# The program with its wrapper; by its path, which the wrapper needs.
function(nvs_test_command out target)
  set(${out} ${NVS_TEST_WRAPPER} $<TARGET_FILE:${target}> PARENT_SCOPE)
endfunction()
# A limit in seconds.
function(nvs_test_timeout out seconds)
  if(NVS_TEST_WRAPPER)
    math(EXPR seconds "${seconds} * 10")
  endif()
  set(${out} ${seconds} PARENT_SCOPE)
endfunction()

function(nvs_unit_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(unit_${name} ${arg_SOURCES})
  target_link_libraries(unit_${name} PRIVATE nvs_core)
  set_target_properties(unit_${name} PROPERTIES OUTPUT_NAME ${name}
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/unit)
  nvs_test_command(command unit_${name})
  nvs_test_timeout(arg_TIMEOUT ${arg_TIMEOUT})
  add_test(NAME unit/${name} COMMAND ${command})
  set_tests_properties(unit/${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT}
                       LABELS "unit;${arg_LABELS}")
endfunction()

function(nvs_spmd_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;PROGRAM" "SOURCES;NPES;TRANSPORTS;ARGS;ENV;LABELS;LIBRARIES" ${ARGN})
  if(NOT arg_NPES)
    set(arg_NPES 1 2 3 4 8)
  endif()
  if(NOT arg_TRANSPORTS)
    set(arg_TRANSPORTS shm)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_PROGRAM)
    set(arg_PROGRAM ${name})
    add_executable(spmd_${name} ${arg_SOURCES})
    target_link_libraries(spmd_${name} PRIVATE nvs nvs_internal_settings ${arg_LIBRARIES})
    set_target_properties(spmd_${name} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/spmd)
  endif()
  nvs_test_command(command spmd_${arg_PROGRAM})
  nvs_test_timeout(arg_TIMEOUT ${arg_TIMEOUT})
  # nvsrun's own limit comes first, since it says which PE hangs where; ctest's is the safety net.
  math(EXPR ctest_timeout "${arg_TIMEOUT} + 10")
  foreach(npes ${arg_NPES})
    foreach(transport ${arg_TRANSPORTS})
      set(test spmd/${name}/n${npes})
      set(env ${arg_ENV})
      if(NOT transport STREQUAL "shm")
        string(APPEND test /${transport})
        list(APPEND env NVS_TRANSPORT=${transport})
      endif()
      add_test(NAME ${test} COMMAND nvsrun --bind none -n ${npes} --timeout ${arg_TIMEOUT}
               ${command} ${arg_ARGS})
      set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ctest_timeout}
                           PROCESSORS ${npes} ENVIRONMENT "${env}"
                           LABELS "spmd;${transport};${arg_LABELS}")
    endforeach()
  endforeach()
endfunction()
