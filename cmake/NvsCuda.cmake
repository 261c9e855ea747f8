# NvsCuda.cmake - nvcc, where there is one: the library's kernels, and programs with device code.
#
# libnvs itself is C and opens libcuda at run time. Only its kernels (src/gpu/kernels) need nvcc; each file
# becomes an image for several GPUs (a fatbin) that is embedded in the library. Without nvcc the library
# is built without kernels, and says so. CMake's own CUDA language is not used: it wants a runtime to
# link, for which we have no use, and checks compilers that a build without nvcc has not got.
#
#   nvs_add_kernels()
#     Makes the images that gpu/images.c, a source of the calling folder, includes.
#
#   nvs_add_cuda_program(NAME SOURCES file.cu... [OUTPUT path] [OPTIONS arg...] [LIBRARIES arg...] [ALONE])
#     A program compiled as users do it, nvcc app.cu -lnvs, as part of `all`. Without nvcc: nothing, else
#     there is a target NAME, whose property NVS_PROGRAM is the program's path. ALONE: without libnvs.
#
#   nvs_add_device_test(NAME SOURCES file.cu... [NVS] [NPES n...] [ARGS arg...] [ENV NAME=value...]
#                       [TIMEOUT seconds] [LABELS label...] [EMULATED_ONLY] [NO_TEST]
#                       [OPTIONS nvcc-arg...])
#     A test of device code. gpu/NAME/emulated runs it on the stand-in of tests/fakecuda, always;
#     gpu/NAME/cuda on a real GPU, where there is nvcc; exit 77 without a GPU, label gpu. NVS: it links
#     libnvs. NPES: it is started by nvsrun, and becomes gpu/NAME/emulated/n2. NO_TEST: only the programs,
#     device_NAME and cuda_NAME, for a script that runs them.

set(NVS_CUDA AUTO CACHE STRING "Build the GPU kernels: AUTO (if there is nvcc), ON (or fail), OFF")
set_property(CACHE NVS_CUDA PROPERTY STRINGS AUTO ON OFF)
# sm_80 and sm_90 as machine code, and PTX for whatever comes after.
set(NVS_CUDA_ARCHS "80;90" CACHE STRING "Compute capabilities of the library's kernels, ascending")
set(NVS_CUDA_PROGRAM_ARCH "90" CACHE STRING "Compute capability of tests and examples")

set(nvs_have_nvcc FALSE)
if(NVS_CUDA)
  find_program(NVS_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
               PATH_SUFFIXES bin DOC "nvcc, the compiler of GPU kernels")
  if(NVS_NVCC)
    set(nvs_have_nvcc TRUE)
  elseif(NOT NVS_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "NVS_CUDA is ${NVS_CUDA}, but there is no nvcc: set NVS_NVCC to its path")
  endif()
endif()

if(nvs_have_nvcc)
  execute_process(COMMAND ${NVS_NVCC} --version OUTPUT_VARIABLE nvs_nvcc_version RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${NVS_NVCC} --version fails: set NVS_NVCC to an nvcc, or NVS_CUDA=OFF")
  endif()
  string(REGEX MATCH "release [0-9.]+" nvs_nvcc_version "${nvs_nvcc_version}")
  list(JOIN NVS_CUDA_ARCHS " sm_" nvs_cuda_archs_text)
  message(STATUS "GPU kernels: nvcc ${nvs_nvcc_version}, sm_${nvs_cuda_archs_text}")
else()
  message(STATUS "GPU kernels: none (NVS_CUDA=${NVS_CUDA}, no nvcc): device memory works by copies only")
endif()

# nvcc hands the host pass to the project's compiler, with the project's warnings.
set(nvs_nvcc_flags -std=c++17 -O3 -ccbin ${CMAKE_CXX_COMPILER} -Xcompiler -Wall,-Wextra)
if(NVS_WERROR)
  list(APPEND nvs_nvcc_flags -Werror all-warnings)
endif()
list(APPEND nvs_nvcc_flags -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include)
# ccache knows nvcc.
set(nvs_nvcc ${CMAKE_CXX_COMPILER_LAUNCHER} ${NVS_NVCC})

include(${PROJECT_SOURCE_DIR}/src/gpu/kernels/sources.cmake)

function(nvs_add_kernels)
  set(folder ${PROJECT_BINARY_DIR}/kernels)
  file(MAKE_DIRECTORY ${folder})
  set(gencode "")
  foreach(arch ${NVS_CUDA_ARCHS})
    list(APPEND gencode -gencode arch=compute_${arch},code=sm_${arch})
  endforeach()
  list(GET NVS_CUDA_ARCHS -1 last)
  list(APPEND gencode -gencode arch=compute_${last},code=compute_${last})

  set(images "")
  set(entries "")
  if(nvs_have_nvcc)
    foreach(source ${nvs_kernel_sources})
      cmake_path(GET source STEM name)
      set(image ${folder}/${name}.fatbin)
      add_custom_command(OUTPUT ${image} VERBATIM
                         COMMAND ${nvs_nvcc} ${nvs_nvcc_flags} ${gencode} -fatbin -MD -MF ${image}.d
                                 -o ${image} ${PROJECT_SOURCE_DIR}/src/gpu/kernels/${source}
                         DEPENDS ${PROJECT_SOURCE_DIR}/src/gpu/kernels/${source}
                         DEPFILE ${image}.d COMMENT "Building kernels ${name}.fatbin")
      list(APPEND images ${image})
      string(APPEND entries "IMAGE(${name}, \"${image}\")\n")
    endforeach()
  endif()
  # The name that the file includes; it is compiled anew when an image changes.
  set(table ${folder}/images.inc)
  file(CONFIGURE OUTPUT ${table} CONTENT "${entries}")
  set_property(SOURCE gpu/images.c APPEND PROPERTY OBJECT_DEPENDS "${images};${table}")
  set_property(SOURCE gpu/images.c APPEND PROPERTY INCLUDE_DIRECTORIES ${folder})
endfunction()

function(nvs_add_cuda_program name)
  cmake_parse_arguments(arg "ALONE" "OUTPUT" "SOURCES;OPTIONS;LIBRARIES" ${ARGN})
  if(NOT nvs_have_nvcc)
    return()
  endif()
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name})
  endif()
  cmake_path(GET arg_OUTPUT PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  # One object for each source, so that they are compiled side by side and only when they changed.
  set(objects "")
  set(arch ${NVS_CUDA_PROGRAM_ARCH})
  foreach(source ${arg_SOURCES})
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source FILENAME file)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.${file}.o)
    add_custom_command(OUTPUT ${object} VERBATIM
                       COMMAND ${nvs_nvcc} ${nvs_nvcc_flags} -gencode
                               arch=compute_${arch},code=[sm_${arch},compute_${arch}] ${arg_OPTIONS}
                               -MD -MF ${object}.d -c -o ${object} ${source}
                       DEPENDS ${source} DEPFILE ${object}.d COMMENT "Building CUDA object ${name}.${file}.o")
    list(APPEND objects ${object})
  endforeach()
  set(sanitize "")
  if(NVS_SANITIZE)
    set(sanitize -Xcompiler -fsanitize=${NVS_SANITIZE})
  endif()
  file(RELATIVE_PATH up ${folder} ${PROJECT_BINARY_DIR}/lib)
  set(link -L$<TARGET_FILE_DIR:nvs> -lnvs -Xlinker -rpath,$ORIGIN/${up})
  set(library nvs)
  if(arg_ALONE)
    set(link "")
    set(library "")
  endif()
  add_custom_command(OUTPUT ${arg_OUTPUT} VERBATIM
                     COMMAND ${NVS_NVCC} -ccbin ${CMAKE_CXX_COMPILER} ${sanitize}
                             -gencode arch=compute_${arch},code=sm_${arch} ${arg_OPTIONS}
                             -o ${arg_OUTPUT} ${objects} ${link} ${arg_LIBRARIES}
                     DEPENDS ${objects} ${library} COMMENT "Linking CUDA program ${name}")
  add_custom_target(${name} ALL DEPENDS ${arg_OUTPUT})
  set_property(TARGET ${name} PROPERTY NVS_PROGRAM ${arg_OUTPUT})
endfunction()

# ---- tests ---------------------------------------------------------------------------------------

# One program as tests: alone, or by nvsrun with each number of PEs.
function(nvs_register_device_test test program)
  cmake_parse_arguments(arg "" "TIMEOUT" "NPES;ARGS;ENV;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  nvs_test_timeout(arg_TIMEOUT ${arg_TIMEOUT})
  if(NOT arg_NPES)
    add_test(NAME ${test} COMMAND ${NVS_TEST_WRAPPER} ${program} ${arg_ARGS})
    set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT}
                         ENVIRONMENT "${arg_ENV}" LABELS "${arg_LABELS}")
  endif()
  math(EXPR ctest_timeout "${arg_TIMEOUT} + 10")
  foreach(npes ${arg_NPES})
    add_test(NAME ${test}/n${npes} COMMAND nvsrun --bind none -n ${npes} --timeout ${arg_TIMEOUT}
             ${NVS_TEST_WRAPPER} ${program} ${arg_ARGS})
    set_tests_properties(${test}/n${npes} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ctest_timeout}
                         PROCESSORS ${npes} ENVIRONMENT "${arg_ENV}" LABELS "${arg_LABELS}")
  endforeach()
endfunction()

function(nvs_add_device_test name)
  cmake_parse_arguments(arg "NVS;EMULATED_ONLY;NO_TEST" "TIMEOUT"
                        "SOURCES;NPES;ARGS;ENV;LABELS;OPTIONS" ${ARGN})
  foreach(word TIMEOUT NPES ARGS)
    if(arg_${word})
      list(APPEND how ${word} ${arg_${word}})
    endif()
  endforeach()
  set(program device_${name})
  add_executable(${program} ${arg_SOURCES})
  set_source_files_properties(${arg_SOURCES} PROPERTIES LANGUAGE CXX)
  target_link_libraries(${program} PRIVATE nvs_emulated $<$<BOOL:${arg_NVS}>:nvs>)
  set_target_properties(${program} PROPERTIES OUTPUT_NAME ${name}
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/gpu)
  if(NOT arg_NO_TEST)
    nvs_register_device_test(gpu/${name}/emulated $<TARGET_FILE:${program}> ${how}
                             ENV NVS_CUDA_LIBRARY=$<TARGET_FILE:fakecuda> ${arg_ENV}
                             LABELS emulated ${arg_LABELS})
  endif()
  if(nvs_have_nvcc AND NOT arg_EMULATED_ONLY)
    set(output ${PROJECT_BINARY_DIR}/tests/gpu/cuda/${name})
    set(alone ALONE)
    if(arg_NVS)
      set(alone "")
    endif()
    nvs_add_cuda_program(cuda_${name} ${alone} SOURCES ${arg_SOURCES} OUTPUT ${output}
                         OPTIONS -I${PROJECT_SOURCE_DIR}/tests/gpu ${arg_OPTIONS})
    if(NOT arg_NO_TEST)
      nvs_register_device_test(gpu/${name}/cuda ${output} ${how} ENV ${arg_ENV}
                               LABELS gpu ${arg_LABELS})
    endif()
  endif()
endfunction()
