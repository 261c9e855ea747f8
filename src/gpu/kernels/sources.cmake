# The library's kernels: each file is compiled by nvcc into an image of its own (cmake/NvsCuda.cmake), and
# by the host compiler for tests without a GPU (tests/fakecuda).
set(nvs_kernel_sources barrier.cu exchange.cu fold.cu memory.cu oneshot.cu twoshot.cu wait.cu)
