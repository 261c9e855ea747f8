# core.cmake - the tests of everything but the collectives of data: how many PEs, which transports,
# and the variants of a program with other arguments.

find_package(Threads REQUIRED)
set(both TRANSPORTS shm chaos)
nvs_spmd_test(rma SOURCES rma.c ${both})
nvs_spmd_test(rma_sizes SOURCES rma_sizes.c ${both})
nvs_spmd_test(amo SOURCES amo.c ${both})
nvs_spmd_test(signal SOURCES signal.c ${both})
nvs_spmd_test(order SOURCES order.c ${both})
# Chooses the chaos transport itself, with fixed seeds.
nvs_spmd_test(unordered SOURCES unordered.c NPES 2 3 8)
nvs_spmd_test(wait SOURCES wait.c ${both})
nvs_spmd_test(heap SOURCES heap.c ${both})
nvs_spmd_test(heap_growth PROGRAM heap NPES 1 4 ARGS many 100000)
nvs_spmd_test(heap_growth_long PROGRAM heap NPES 1 4 ARGS many 1000000 LABELS stress
              TIMEOUT 600)
nvs_spmd_test(heap_errors SOURCES heap_errors.c ${both} ENV NVS_HEAP_SIZE=8m NVS_ON_ERROR=return)
nvs_spmd_test(static_data SOURCES static_data.c ${both})
nvs_spmd_test(fork SOURCES fork.c ${both})
nvs_spmd_test(teams SOURCES teams.c ${both})
nvs_spmd_test(contexts SOURCES contexts.c ${both} ENV NVS_ON_ERROR=return)
nvs_spmd_test(locks SOURCES locks.c ${both})

nvs_spmd_test(threads SOURCES threads.c ${both} LIBRARIES Threads::Threads)
nvs_spmd_test(threads_stress SOURCES threads_stress.c ${both} LIBRARIES Threads::Threads)
nvs_spmd_test(life SOURCES life.c ${both} ENV NVS_ON_ERROR=return)
nvs_spmd_test(old_start SOURCES old_start.c ${both})
nvs_spmd_test(extensions SOURCES extensions.c ${both} ENV NVS_ON_ERROR=return NVS_CHECK=1)
nvs_spmd_test(extensions_cxx SOURCES extensions_cxx.cpp NPES 1 3)
nvs_spmd_test(info SOURCES info.c NPES 1 3)
nvs_spmd_test(mixed SOURCES mixed.c ${both})

# Without a launcher a program is a job of one PE.
foreach(name rma amo signal order wait heap static_data fork teams locks threads old_start mixed)
  add_test(NAME spmd/${name}/alone COMMAND spmd_${name})
  set_tests_properties(spmd/${name}/alone PROPERTIES TIMEOUT 60 LABELS "spmd")
endforeach()

add_test(NAME spmd/environment COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/environment.sh
         $<TARGET_FILE:nvsrun> $<TARGET_FILE:spmd_signal>)
set_tests_properties(spmd/environment PROPERTIES TIMEOUT 60 PROCESSORS 2 LABELS "spmd")

# Rare things that a program may do.
add_executable(spmd_corners corners.c)
target_link_libraries(spmd_corners PRIVATE nvs nvs_settings Threads::Threads)
set_target_properties(spmd_corners PROPERTIES OUTPUT_NAME corners
                      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/spmd)
add_test(NAME spmd/corners COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/corners.sh $<TARGET_FILE:nvsrun>
         $<TARGET_FILE:spmd_corners>)
set_tests_properties(spmd/corners PROPERTIES TIMEOUT 120 PROCESSORS 3 LABELS "spmd")

# PEs that die. The random deaths run alone: their limit is in seconds.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_executable(spmd_victim kill/victim.c)
  target_link_libraries(spmd_victim PRIVATE nvs nvs_settings)
  set_target_properties(spmd_victim PROPERTIES OUTPUT_NAME victim
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/spmd)
  set(kill_test ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/kill/kill_test.py
      $<TARGET_FILE:nvsrun> $<TARGET_FILE:spmd_victim>)
  add_test(NAME spmd/kill/places COMMAND ${kill_test})
  add_test(NAME spmd/kill/random COMMAND ${kill_test} --random 30)
  add_test(NAME spmd/kill/random_long COMMAND ${kill_test} --seconds 0)
  set_tests_properties(spmd/kill/places spmd/kill/random PROPERTIES TIMEOUT 120 RUN_SERIAL TRUE
                       LABELS "spmd;kill")
  set_tests_properties(spmd/kill/random_long PROPERTIES TIMEOUT 3600 RUN_SERIAL TRUE
                       LABELS "spmd;kill;stress")
endif()

# NVS_STRESS_SECONDS in the environment says how long these run.
foreach(name threads threads_stress mixed)
  nvs_spmd_test(${name}_long PROGRAM ${name} NPES 2 8 ${both} LABELS stress TIMEOUT 3600)
endforeach()
