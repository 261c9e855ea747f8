/*
 * fold.c - chooses the kernels for this CPU once, and the copy that goes around the caches.
 */
#include "fold.h"

#include "fold_kernels.h"

#include <stdint.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <emmintrin.h>
#endif

static int isa_always(void)
{
    return 1;
}

#ifdef __x86_64__
static int isa_has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
}

/* __builtin_cpu_supports() also asks whether the OS saves the wide registers. */
static int isa_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && isa_has_f16c();
}

static int isa_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           isa_has_f16c();
}
#endif

/* Best first; the last one always works. */
static const struct isa {
    const char *name;
    int (*available)(void);
    const nvsi_fold_table *table;
} isas[] = {
#ifdef __x86_64__
    {"avx512", isa_has_avx512, &nvsi_fold_avx512},
    {"avx2", isa_has_avx2, &nvsi_fold_avx2},
#endif
#ifdef __ARM_NEON
    {"neon", isa_always, &nvsi_fold_generic},
#endif
    {"generic", isa_always, &nvsi_fold_generic},
};
#define NUM_ISAS (sizeof(isas) / sizeof(isas[0]))

static const struct isa *chosen_isa;                             /* NULL until chosen */
static const nvsi_fold_table *chosen_table = &nvsi_fold_generic; /* right before set-up, too */

static void isa_choose(const struct isa *isa)
{
    chosen_isa = isa;
    chosen_table = isa->table;
}

void nvsi_fold_setup(void)
{
    if (chosen_isa)
        return;
    const struct isa *isa = isas;
    while (!isa->available())
        isa++;
    isa_choose(isa);
}

int nvsi_fold_select(const char *name)
{
    for (size_t k = 0; k < NUM_ISAS; k++) {
        if (strcmp(isas[k].name, name) == 0 && isas[k].available()) {
            isa_choose(&isas[k]);
            return 0;
        }
    }
    return -1;
}

const char *nvsi_fold_isa(void)
{
    return chosen_isa ? chosen_isa->name : "generic";
}

const char *nvsi_fold_isa_at(size_t k, int *available)
{
    if (k >= NUM_ISAS)
        return NULL;
    *available = isas[k].available();
    return isas[k].name;
}

/* Stores around the caches are not ordered with later ones, such as the flag that says they are
 * there. */
static void fence_streamed(void)
{
#ifdef __x86_64__
    _mm_sfence();
#endif
}

void nvsi_fold(const struct nvsi_fold *fold)
{
    (*chosen_table)[fold->dtype][fold->op](fold);
    if (fold->stream)
        fence_streamed();
}
