/*
 * state_part.cu - a part of state_test with device code of its own, which is opened while the job
 * runs.
 */
#include "gputest.h"
#include "nvshmem/device/unit.h"

struct part_args {
    struct nvsi_dev_state *out;
};

GT_KERNEL(part_look, struct part_args, args)
{
    *args.out = nvsi_device;
}

extern "C" __attribute__((visibility("default"))) void part_see(struct nvsi_dev_state *out)
{
    struct part_args args = {out};
    GT_LAUNCH(part_look, 1, 1, NULL, args);
}
