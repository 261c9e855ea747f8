/*
 * images.h - our kernels, as they are embedded in the library.
 */
#ifndef NVSI_GPU_IMAGES_H
#define NVSI_GPU_IMAGES_H

#include <stddef.h>

/* What one file of gpu/kernels has become: code for several GPUs (a fatbin). */
struct nvsi_gpu_image {
    const char *name;
    const void *data;
};
extern const struct nvsi_gpu_image nvsi_gpu_images[];
/* 0: the library was built without nvcc. Then there is one image all the same, a sentence that no
 * driver takes but the stand-in of the tests, which has kernels of its own. */
extern const size_t nvsi_gpu_num_images;

#endif
