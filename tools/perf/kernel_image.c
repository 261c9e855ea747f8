/*
 * kernel_image.c - the images that nvcc makes of kernels_*.cu, if there was an nvcc.
 *
 * The assembler reads the files, so that megabytes of kernels are not spelled out in C.
 */
#include "perf.h"

#if defined(PERF_KERNEL_FOLDER)
#define IMAGE(name)                                                                                \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 64\n"                                                                         \
            ".hidden perf_image_" #name "\n"                                                       \
            ".globl perf_image_" #name "\n"                                                        \
            "perf_image_" #name ":\n"                                                              \
            ".incbin \"" PERF_KERNEL_FOLDER "/" #name ".fatbin\"\n"                                \
            ".popsection\n");                                                                      \
    extern const char perf_image_##name[] __attribute__((visibility("hidden")));
IMAGE(word)
IMAGE(thread)
IMAGE(warp)
IMAGE(block)
const void *const kernel_images[NUM_KERNELS] = {perf_image_word, perf_image_thread, perf_image_warp,
                                                perf_image_block};
const bool kernels_compiled = true;
#else
/* No driver takes this for an image, but the one of the tests (tests/fakecuda). */
#define NONE "nvs nvs-perf was built without nvcc and has no kernels"
const void *const kernel_images[NUM_KERNELS] = {NONE, NONE, NONE, NONE};
const bool kernels_compiled = false;
#endif
