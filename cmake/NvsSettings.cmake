# NvsSettings.cmake - how everything is compiled and where it lands in the build folder.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON) # for clang-tidy and editors

# `lib` also where the system says lib64 or lib/<triplet>: wrappers like shmemcc find the library
# at ../lib from their own place, in the build folder and in a tree that was moved.
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "Folder of libraries below the prefix")
include(GNUInstallDirs)

# The build folder as an installed tree. Headers are linked, not copied: never out of date.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include SYMBOLIC)

# Programs find the library relative to themselves, in build/ and installed: either tree may move.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
file(RELATIVE_PATH nvs_bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set(CMAKE_INSTALL_RPATH "$ORIGIN/${nvs_bin_to_lib}")

# What every target of this project is compiled with. Not a global add_compile_options: a project
# that includes this one as a subfolder keeps its own.
add_library(nvs_settings INTERFACE)
target_compile_options(nvs_settings INTERFACE -Wall -Wextra $<$<BOOL:${NVS_WERROR}>:-Werror>)
if(NVS_SANITIZE)
  target_compile_options(nvs_settings INTERFACE
                         -fsanitize=${NVS_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all -g)
  target_link_options(nvs_settings INTERFACE -fsanitize=${NVS_SANITIZE})
  # gcc warns that the thread sanitizer does not see fences. Ours order memory between processes,
  # which it does not see either.
  if(NVS_SANITIZE MATCHES "thread")
    target_compile_options(nvs_settings INTERFACE $<$<C_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
endif()
# Internal code uses Linux freely. Empty, not 1: a file may still say `#define _GNU_SOURCE`.
add_library(nvs_internal_settings INTERFACE)
target_link_libraries(nvs_internal_settings INTERFACE nvs_settings)
target_compile_definitions(nvs_internal_settings INTERFACE $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE=>)
