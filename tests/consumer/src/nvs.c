/* A program over nvs.h: the sum of 1 .. n over all PEs. */
#include <nvs.h>
#include <stdio.h>

int main(void)
{
    if (nvs_init() != NVS_SUCCESS) {
        fprintf(stderr, "%s\n", nvs_last_error());
        return 1;
    }
    int32_t *sum = nvs_malloc(sizeof(*sum));
    *sum = nvs_my_pe() + 1;
    int status = nvs_all_reduce(NVS_TEAM_WORLD, sum, sum, 1, NVS_INT32, NVS_SUM, NULL);
    if (status == NVS_SUCCESS && nvs_my_pe() == 0)
        printf("%d PEs, sum %d\n", nvs_n_pes(), *sum);
    nvs_free(sum);
    nvs_finalize();
    return status != NVS_SUCCESS;
}
