# coll.cmake - the tests of collectives: which programs, and their variants.

# The reference must round where the library rounds: nothing may fuse a multiplication and an
# addition.
set_property(SOURCE coll_random.c coll_types.c coll_active_set.c coll_order.c
             APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)

nvs_spmd_test(coll_types SOURCES coll_types.c)
nvs_spmd_test(coll_active_set SOURCES coll_active_set.c)
nvs_spmd_test(coll_random SOURCES coll_random.c TRANSPORTS shm chaos)
nvs_spmd_test(coll_order SOURCES coll_order.c TRANSPORTS shm chaos)
nvs_spmd_test(coll_mismatch SOURCES coll_mismatch.c NPES 2 3 4 8) # one PE agrees with itself
nvs_spmd_test(coll_args SOURCES coll_args.c)
nvs_spmd_test(nvs_first SOURCES nvs_first.cpp)
nvs_spmd_test(nvs_hpp SOURCES nvs_hpp.cpp)

# A mismatch in a void function ends the job.
add_test(NAME spmd/coll_mismatch/end
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/coll_end.sh $<TARGET_FILE:nvsrun>
                 $<TARGET_FILE:spmd_coll_mismatch>)
set_tests_properties(spmd/coll_mismatch/end PROPERTIES TIMEOUT 60 PROCESSORS 3 LABELS "spmd;shm")

# One instruction set and the long run: NVS_STRESS_SECONDS says how long.
nvs_spmd_test(coll_random_generic PROGRAM coll_random NPES 2 4 ENV NVS_ISA=generic)
nvs_spmd_test(coll_random_long PROGRAM coll_random NPES 2 3 8 ARGS long LABELS stress TIMEOUT 3600)

# Internal functions on several PEs: the library's objects instead of the library.
add_executable(spmd_coll_async ../unit/coll_async.c)
target_link_libraries(spmd_coll_async PRIVATE nvs_core)
set_target_properties(spmd_coll_async PROPERTIES OUTPUT_NAME coll_async
                      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/spmd)
foreach(npes 1 2 3 4 8)
  add_test(NAME spmd/coll_async/n${npes}
           COMMAND nvsrun --bind none -n ${npes} --timeout 60 $<TARGET_FILE:spmd_coll_async>)
  set_tests_properties(spmd/coll_async/n${npes} PROPERTIES TIMEOUT 70 PROCESSORS ${npes}
                       LABELS "spmd;shm")
endforeach()
