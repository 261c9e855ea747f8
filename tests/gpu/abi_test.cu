/*
 * abi_test.cu - src/gpu/cuda_abi.h and driver.def against the cuda.h that is installed: values,
 * layouts, and what each function takes. Compiled by the host compiler, where there are CUDA's
 * headers.
 *
 * abi_names.inc has a line NAME(constant) for each constant of cuda_abi.h; tests/gpu/CMakeLists.txt
 * makes it from that file, so that none is forgotten.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <type_traits>

namespace ours
{
#include "gpu/cuda_abi.h"
/* Before cuda.h makes macros of some names. */
struct value {
    const char *name;
    long value;
};
static const value values[] = {
#define NAME(name) {#name, (long)name},
#include "abi_names.inc"
#undef NAME
    {"CU_STREAM_LEGACY", (long)CU_STREAM_LEGACY},
    {"CU_STREAM_PER_THREAD", (long)CU_STREAM_PER_THREAD}};

/* What a function's type says of the call: the parameters' sizes, and whether they are addresses.
 */
template <class... P> struct call {
    static constexpr size_t size[] = {sizeof(P)..., 0};
    static constexpr bool pointer[] = {std::is_pointer<P>::value..., false};
    static constexpr size_t count = sizeof...(P);
};
template <class... P> call<P...> call_of(int (*)(P...));

struct function {
    const char *name, *symbol;
    size_t count;
    const size_t *size;
    const bool *pointer;
};
#define ROW(name, symbol, parameters)                                                              \
    {#name, symbol, decltype(call_of((int(*) parameters) nullptr))::count,                         \
     decltype(call_of((int(*) parameters) nullptr))::size,                                         \
     decltype(call_of((int(*) parameters) nullptr))::pointer},
static const function functions[] = {
#define CUDA_FN(name, symbol, parameters) ROW(name, symbol, parameters)
#include "gpu/driver.def"
};
#undef CU_STREAM_LEGACY
#undef CU_STREAM_PER_THREAD
} /* namespace ours */

#include <cuda.h>

namespace theirs
{
static const ours::value values[] = {
#define NAME(name) {#name, (long)name},
#include "abi_names.inc"
#undef NAME
    {"CU_STREAM_LEGACY", (long)(intptr_t)CU_STREAM_LEGACY},
    {"CU_STREAM_PER_THREAD", (long)(intptr_t)CU_STREAM_PER_THREAD}};

template <class... P> ours::call<P...> call_of(CUresult (*)(P...));
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
static const ours::function functions[] = {
#define CUDA_FN(name, symbol, parameters)                                                          \
    {#name, TEXT(name), decltype(call_of(name))::count, decltype(call_of(name))::size,             \
     decltype(call_of(name))::pointer},
#include "gpu/driver.def"
};
} /* namespace theirs */

static int failures;

static void expect(bool same, const char *what, const char *name, long mine, long other)
{
    if (same)
        return;
    failures++;
    fprintf(stderr, "%s: %s is %ld, in cuda.h %ld\n", name, what, mine, other);
}

static void compare_functions(void)
{
    for (size_t i = 0; i < sizeof ours::functions / sizeof *ours::functions; i++) {
        const ours::function &mine = ours::functions[i], &other = theirs::functions[i];
        /* The driver keeps an interface that it once had; cuda.h describes the latest one. */
        if (strcmp(mine.symbol, other.symbol) != 0) {
            printf("%s: ours is %s, cuda.h has %s\n", mine.name, mine.symbol, other.symbol);
            continue;
        }
        expect(mine.count == other.count, "the number of parameters", mine.name, (long)mine.count,
               (long)other.count);
        for (size_t k = 0; k < mine.count && k < other.count; k++)
            expect(mine.size[k] == other.size[k] && mine.pointer[k] == other.pointer[k],
                   "the size of a parameter", mine.name, (long)mine.size[k], (long)other.size[k]);
    }
}

#define COMPARE_SIZE(type)                                                                         \
    expect(sizeof(ours::type) == sizeof(::type), "the size", #type, (long)sizeof(ours::type),      \
           (long)sizeof(::type))
#define COMPARE_FIELD(type, field)                                                                 \
    expect(offsetof(ours::type, field) == offsetof(::type, field) &&                               \
               sizeof(((ours::type *)0)->field) == sizeof(((::type *)0)->field),                   \
           "the offset of " #field, #type, (long)offsetof(ours::type, field),                      \
           (long)offsetof(::type, field))

int main(void)
{
    size_t nvalues = sizeof ours::values / sizeof *ours::values;
    for (size_t i = 0; i < nvalues; i++)
        expect(ours::values[i].value == theirs::values[i].value, "the value", ours::values[i].name,
               ours::values[i].value, theirs::values[i].value);
    compare_functions();
    COMPARE_SIZE(CUresult);
    COMPARE_SIZE(CUdevice);
    COMPARE_SIZE(CUdeviceptr);
    COMPARE_SIZE(CUmemGenericAllocationHandle);
    COMPARE_SIZE(CUuuid);
    COMPARE_SIZE(CUmemLocation);
    COMPARE_SIZE(CUmemAllocationProp);
    COMPARE_SIZE(CUmemAccessDesc);
    COMPARE_FIELD(CUmemLocation, type);
    COMPARE_FIELD(CUmemLocation, id);
    COMPARE_FIELD(CUmemAllocationProp, type);
    COMPARE_FIELD(CUmemAllocationProp, requestedHandleTypes);
    COMPARE_FIELD(CUmemAllocationProp, location);
    COMPARE_FIELD(CUmemAllocationProp, win32HandleMetaData);
    COMPARE_FIELD(CUmemAllocationProp, allocFlags);
    COMPARE_FIELD(CUmemAllocationProp, allocFlags.compressionType);
    COMPARE_FIELD(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
    COMPARE_FIELD(CUmemAllocationProp, allocFlags.usage);
    COMPARE_FIELD(CUmemAccessDesc, location);
    COMPARE_FIELD(CUmemAccessDesc, flags);
    printf("%zu values, %zu functions, CUDA %d: %d differ\n", nvalues,
           sizeof ours::functions / sizeof *ours::functions, CUDA_VERSION, failures);
    return failures != 0;
}
