# NvsInstall.cmake - what `cmake --install build --prefix P` puts under P, and the ways to find it.
#
#   include/                      headers
#   lib/libnvs.so, libnvshmem_*   the library and its names for NVSHMEM programs
#   lib/libnvs_cudart.so          the stand-in for the CUDA runtime, with include/nvs_cudart
#   lib/cmake/nvs, lib/cmake/NVSHMEM, lib/pkgconfig/nvs.pc
#   bin/nvsrun nvs-info nvs-perf shmemcc shmemrun
#   libexec/nvs/oshmem/bin/oshcc oshrun   for build systems that insist on these names; a folder of
#                                 their own, since Open MPI has programs of the same names
#   share/man                     manual pages (man/CMakeLists.txt)
#   share/bash-completion, share/zsh   completion (completion/CMakeLists.txt)
#   share/doc/nvs                 licence
#
# Every file finds the others relative to itself, so the tree may be moved after the installation.

include(CMakePackageConfigHelpers)

set(nvs_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake)

install(TARGETS nvs EXPORT nvs-targets)
install(TARGETS nvs_cudart EXPORT nvs-targets)
install(TARGETS nvshmem_device EXPORT nvs-targets)
install(FILES $<TARGET_LINKER_FILE_DIR:nvs>/libnvshmem_host.so DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET nvsrun)
  install(TARGETS nvsrun)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# find_package(nvs): target nvs::nvs.
install(EXPORT nvs-targets NAMESPACE nvs:: DESTINATION ${nvs_cmake_dir}/nvs)
configure_package_config_file(cmake/nvs-config.cmake.in ${PROJECT_BINARY_DIR}/cmake/nvs-config.cmake
                              INSTALL_DESTINATION ${nvs_cmake_dir}/nvs
                              PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/nvs-config-version.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/nvs-config.cmake
              ${PROJECT_BINARY_DIR}/cmake/nvs-config-version.cmake
        DESTINATION ${nvs_cmake_dir}/nvs)

# find_package(NVSHMEM): NVSHMEM's targets, all of them nvs. Its version is that of the API that we
# follow, because that is what callers ask for.
set(nvs_nvshmem_version 3.5)
configure_package_config_file(cmake/NVSHMEMConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/cmake/NVSHMEMConfig.cmake
                              INSTALL_DESTINATION ${nvs_cmake_dir}/NVSHMEM
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/NVSHMEMConfigVersion.cmake
                                 VERSION ${nvs_nvshmem_version} COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/NVSHMEMConfig.cmake
              ${PROJECT_BINARY_DIR}/cmake/NVSHMEMConfigVersion.cmake
        DESTINATION ${nvs_cmake_dir}/NVSHMEM)

# pkg-config nvs
file(RELATIVE_PATH nvs_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" nvs_pc_to_prefix ${nvs_pc_to_prefix})
configure_file(cmake/nvs.pc.in ${PROJECT_BINARY_DIR}/cmake/nvs.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/nvs.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
