/*
 * nvshmem_device.c - the one object in libnvshmem_device.a, which has nothing to hold: device code
 * is header-only. src/CMakeLists.txt says why the archive exists and may not be empty.
 */
typedef int nvs_device_code_is_in_the_headers; /* ISO C wants a declaration */
