/*
 * state_plain.cu - a unit of state_part's library that has nothing to do with nvs: the last one
 * that is initialised.
 */
__global__ void plain_nothing(int *out)
{
    *out = 1;
}

void plain_launch(int *out);
void plain_launch(int *out)
{
    plain_nothing<<<1, 1>>>(out);
}
