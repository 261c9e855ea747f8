# gpu.cmake - the back end for GPUs: what nvcc compiles. Also for tests/gpt.
#
#   gpt_cuda_objects(OUT SOURCE...)
#     Objects of CUDA sources that a C or C++ program can be linked with, beside gpt_cudart.
#
# Machine code for sm_90; others compile the PTX of sm_80, the oldest that multiplies bfloat16, at
# the first start.

set(gpt_gpu_sources adamw.cu attention.cu buckets.cu device.cu layers.cu linear.cu model.cu norm.cu
    passes.cu product.cu trainer.cu)

set(gpt_have_gpu FALSE)
if(nvs_have_nvcc)
  file(REAL_PATH ${NVS_NVCC} nvcc_path)
  cmake_path(GET nvcc_path PARENT_PATH nvcc_bin)
  find_library(NVS_CUDART_STATIC cudart_static DOC "CUDA's runtime, for examples"
               HINTS ${nvcc_bin}/../lib64 ${nvcc_bin}/../lib
                     ${nvcc_bin}/../targets/${CMAKE_SYSTEM_PROCESSOR}-linux/lib)
  if(NVS_CUDART_STATIC)
    set(gpt_have_gpu TRUE)
    if(NOT TARGET gpt_cudart)
      find_package(Threads REQUIRED)
      add_library(gpt_cudart INTERFACE)
      target_link_libraries(gpt_cudart INTERFACE ${NVS_CUDART_STATIC} Threads::Threads dl rt)
    endif()
  else()
    message(STATUS "examples/gpt: for CPUs only, since there is no libcudart_static.a beside nvcc")
  endif()
endif()

# clang finds functions in CUDA's own headers that nobody calls.
set(gpt_nvcc_flags ${nvs_nvcc_flags} -I${PROJECT_SOURCE_DIR}/examples/gpt)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND gpt_nvcc_flags -Xcompiler -Wno-unused-function)
endif()

function(gpt_cuda_objects out)
  set(objects "")
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/cuda)
  file(MAKE_DIRECTORY ${folder})
  foreach(source ${ARGN})
    cmake_path(GET source STEM name)
    set(object ${folder}/${name}.o)
    add_custom_command(OUTPUT ${object} VERBATIM
                       COMMAND ${nvs_nvcc} ${gpt_nvcc_flags}
                               -gencode arch=compute_80,code=compute_80
                               -gencode arch=compute_90,code=sm_90
                               -MD -MF ${object}.d -c -o ${object} ${source}
                       DEPENDS ${source} DEPFILE ${object}.d
                       COMMENT "Building CUDA object gpt ${name}.o")
    list(APPEND objects ${object})
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
