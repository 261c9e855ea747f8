/*
 * images.c - puts the images that nvcc has made into the library.
 *
 * images.inc has a line for each of them, IMAGE(name, "path"), and is made by cmake/NvsCuda.cmake.
 * The assembler reads the files, so that megabytes of kernels are not spelled out in C.
 */
#include "gpu/images.h"

#define IMAGE(name, path)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 64\n"                                                                         \
            ".hidden nvsi_image_" #name "\n"                                                       \
            ".globl nvsi_image_" #name "\n"                                                        \
            "nvsi_image_" #name ":\n"                                                              \
            ".incbin \"" path "\"\n"                                                               \
            ".popsection\n");                                                                      \
    extern const char nvsi_image_##name[] __attribute__((visibility("hidden")));
#include "images.inc"
#undef IMAGE

const struct nvsi_gpu_image nvsi_gpu_images[] = {
#define IMAGE(name, path) {#name, nvsi_image_##name},
#include "images.inc"
#undef IMAGE
    {"none", "nvs was built without nvcc and has no kernels"},
};

const size_t nvsi_gpu_num_images = sizeof nvsi_gpu_images / sizeof nvsi_gpu_images[0] - 1;
