# Operations on streams: here the queues of libnvs, through the stand-in for the CUDA runtime.

function(nvs_stream_test name)
  nvs_spmd_test(${name} ${ARGN} LIBRARIES nvs_cudart)
endfunction()

nvs_stream_test(stream_order SOURCES stream_order.c TRANSPORTS shm chaos)
nvs_stream_test(stream_types SOURCES stream_types.c NPES 1 2 3 8 TRANSPORTS shm chaos)
nvs_stream_test(stream_teams SOURCES stream_teams.c TRANSPORTS shm chaos)
nvs_stream_test(stream_graph SOURCES stream_graph.c TRANSPORTS shm chaos)
nvs_stream_test(stream_random SOURCES stream_random.c TRANSPORTS shm chaos)
nvs_stream_test(stream_errors SOURCES stream_errors.c NPES 1 2 4)
nvs_stream_test(half_block SOURCES half_block.c TRANSPORTS shm chaos)
nvs_stream_test(stream_life SOURCES stream_life.c NPES 1 2 4)

add_executable(spmd_stream_kill stream_kill.c)
target_link_libraries(spmd_stream_kill PRIVATE nvs_cudart nvs_internal_settings)
set_target_properties(spmd_stream_kill PROPERTIES OUTPUT_NAME stream_kill
                      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/spmd)
add_test(NAME spmd/stream_kill COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/stream_kill.sh
         $<TARGET_FILE:nvsrun> $<TARGET_FILE:spmd_stream_kill>)
set_tests_properties(spmd/stream_kill PROPERTIES TIMEOUT 300 PROCESSORS 4 LABELS "spmd;kill")

# Streams of the CUDA driver, on its stand-in: executed by the (emulated) GPU, and by host functions.
if(TARGET fakecuda_kernels)
  set(fake NVS_CUDA_LIBRARY=$<TARGET_FILE:fakecuda>)
  nvs_spmd_test(stream_driver SOURCES stream_driver.c NPES 1 2 3 LIBRARIES ${CMAKE_DL_LIBS}
                LABELS gpu TIMEOUT 120 ENV ${fake} FAKECUDA_DEVICES=3)
  nvs_spmd_test(stream_sysmem PROGRAM stream_driver NPES 1 2 4 TRANSPORTS shm chaos LABELS gpu
                ENV ${fake} NVSHMEM_HEAP_KIND=SYSMEM)
endif()
