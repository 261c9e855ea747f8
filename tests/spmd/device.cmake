# device.cmake - memory of the GPU, on the stand-in for the driver (tests/fakecuda).

# Descriptors between PEs: internal functions on several PEs, without any GPU.
add_executable(spmd_fdpass ../unit/fdpass.c)
target_link_libraries(spmd_fdpass PRIVATE nvs_core)
set_target_properties(spmd_fdpass PROPERTIES OUTPUT_NAME fdpass
                      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/spmd)
foreach(npes 1 2 3 8 16)
  add_test(NAME spmd/fdpass/n${npes}
           COMMAND nvsrun --bind none -n ${npes} --timeout 60 $<TARGET_FILE:spmd_fdpass>)
  set_tests_properties(spmd/fdpass/n${npes} PROPERTIES TIMEOUT 70 PROCESSORS ${npes}
                       LABELS "spmd;shm;gpu")
endforeach()

if(NOT TARGET fakecuda_kernels)
  return()
endif()

set(fake NVS_CUDA_LIBRARY=$<TARGET_FILE:fakecuda> NVS_ON_ERROR=return)
set(device_options LIBRARIES ${CMAKE_DL_LIBS} LABELS gpu)

nvs_spmd_test(device_heap SOURCES device_heap.c ENV ${fake} ${device_options} TIMEOUT 120)
nvs_spmd_test(device_heap_p2p PROGRAM device_heap NPES 2 3 ENV ${fake} FAKECUDA_DEVICES=3 LABELS gpu
              TIMEOUT 120)
nvs_spmd_test(device_heap_staged PROGRAM device_heap NPES 2 3 LABELS gpu TIMEOUT 120
              ENV ${fake} FAKECUDA_DEVICES=3 FAKECUDA_P2P=no NVS_LOG=error)
nvs_spmd_test(device_rma SOURCES device_rma.c ENV ${fake} ${device_options} TIMEOUT 120)
nvs_spmd_test(device_rma_p2p PROGRAM device_rma NPES 2 3 ENV ${fake} FAKECUDA_DEVICES=3 LABELS gpu
              TIMEOUT 120)
nvs_spmd_test(device_rma_check PROGRAM device_rma NPES 2 ENV ${fake} NVS_CHECK=yes LABELS gpu
              TIMEOUT 120)
nvs_spmd_test(device_rma_chaos PROGRAM device_rma NPES 3 ENV ${fake} NVS_TRANSPORT=chaos LABELS gpu
              TIMEOUT 120)

# The program's own memory, made symmetric.
nvs_spmd_test(device_lent SOURCES device_lent.c NPES 1 2 3 4 ENV ${fake} ${device_options} TIMEOUT 120)
nvs_spmd_test(device_lent_p2p PROGRAM device_lent NPES 2 3 ENV ${fake} FAKECUDA_DEVICES=3 LABELS gpu
              TIMEOUT 120)
nvs_spmd_test(device_lent_staged PROGRAM device_lent NPES 2 3 LABELS gpu TIMEOUT 120
              ENV ${fake} FAKECUDA_DEVICES=3 FAKECUDA_P2P=no NVS_LOG=error)

# A GPU for each PE, and none reaches another.
nvs_spmd_test(device_far SOURCES device_far.c NPES 2 3 4 ${device_options}
              ENV ${fake} FAKECUDA_DEVICES=4 FAKECUDA_P2P=no NVS_LOG=error)
nvs_spmd_test(device_far_asked PROGRAM device_far NPES 2 3 LABELS gpu
              ENV ${fake} FAKECUDA_DEVICES=4 NVS_GPU_P2P=no NVS_LOG=error)
nvs_spmd_test(device_far_hidden PROGRAM device_far NPES 2 3 ARGS hidden LABELS gpu
              ENV ${fake} NVS_GPU_P2P=no NVS_LOG=error)

# Memory of another kind on each PE.
nvs_spmd_test(device_kinds SOURCES device_kinds.c NPES 2 3 4 ARGS blocking ENV ${fake} ${device_options})
foreach(mode blocking host stream src)
  nvs_spmd_test(device_kinds_${mode} PROGRAM device_kinds NPES 2 3 ARGS ${mode} LABELS gpu
                ENV ${fake} FAKECUDA_DEVICES=3 NVS_GPU_ONESHOT_BYTES=64k NVS_LOG=error)
endforeach()
nvs_spmd_test(device_kinds_shared PROGRAM device_kinds NPES 2 3 ARGS stream LABELS gpu
              ENV ${fake} NVS_LOG=error)
nvs_spmd_test(device_kinds_far PROGRAM device_kinds NPES 2 3 ARGS far LABELS gpu
              ENV ${fake} FAKECUDA_DEVICES=3 FAKECUDA_P2P=no NVS_LOG=error)

nvs_spmd_test(device_start SOURCES device_start.c ARGS two_stage ENV ${fake} ${device_options})
foreach(mode device sysmem none some kinds absent no_gpu full no_vmm)
  set(env ${fake} NVS_LOG=error)
  if(mode MATCHES "^(device|full|no_vmm)$")
    list(APPEND env NVS_HEAP_KIND=device)
  elseif(mode STREQUAL "sysmem")
    list(APPEND env NVSHMEM_HEAP_KIND=SYSMEM)
  endif()
  if(mode STREQUAL "no_vmm")
    list(APPEND env FAKECUDA_VMM=no)
  endif()
  set(npes 2 3)
  if(mode STREQUAL "device")
    set(npes 1 3)
    list(APPEND env FAKECUDA_DEVICES=2)
  endif()
  nvs_spmd_test(device_start_${mode} PROGRAM device_start NPES ${npes} ARGS ${mode} ENV ${env}
                LABELS gpu)
endforeach()
