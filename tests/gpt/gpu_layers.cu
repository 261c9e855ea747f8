/*
 * gpu_layers.cu - every layer on the GPU, forward and backward, against the same layer on the CPU.
 *
 * Inputs are random; for bfloat16 they are rounded first, so that both sides get the same. Results
 * are compared by the largest difference, relative to the largest number that is expected: one
 * wrong row or column shows. float may differ by the order of sums, bfloat16 by the rounding of
 * results (2^-9) and of what lies between two kernels of a layer. Gradients of parameters start as
 * random numbers, since they are added to. Exits 0 if all is well, 1 if not, 77 without a GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <vector>

extern "C" {
#include "adamw.h"
#include "model.h"
#include "rng.h"
namespace cpu
{
#include "layers.h"
}
}
#include "gpu/model.h"

static int bad;
static uint64_t seed = 1, streams;

template <typename T> static const char *name_of();
template <> const char *name_of<float>()
{
    return "float32";
}
template <> const char *name_of<bfloat16>()
{
    return "bfloat16";
}

static void check(cudaError_t result)
{
    if (result == cudaSuccess)
        return;
    printf("CUDA: %s\n", cudaGetErrorString(result));
    exit(1);
}

/* ---- arrays on both sides ----------------------------------------------------------------------
 */

static float narrow(float x, float)
{
    return x;
}
static float narrow(float x, bfloat16)
{
    return __bfloat162float(__float2bfloat16_rn(x));
}
static void assign(float *at, float x)
{
    *at = x;
}
static void assign(bfloat16 *at, float x)
{
    *at = __float2bfloat16_rn(x);
}
static float value_of(float x)
{
    return x;
}
static float value_of(bfloat16 x)
{
    return __bfloat162float(x);
}

/* Numbers of which the host has what is expected, and the device what was computed, in T. */
template <typename T> struct array {
    std::vector<float> host;
    T *device;

    explicit array(size_t n, double deviation = 0, double mean = 0) : host(n), device(NULL)
    {
        uint64_t stream = ++streams;
        for (size_t i = 0; i < n; i++)
            host[i] = narrow((float)(mean + deviation * rng_normal(seed, stream, i)), T());
        check(cudaMalloc((void **)&device, n * sizeof(T)));
        upload();
    }
    array(const array &) = delete;
    ~array() { cudaFree(device); }
    void upload()
    {
        std::vector<T> raw(host.size());
        for (size_t i = 0; i < raw.size(); i++)
            assign(&raw[i], host[i]);
        check(cudaMemcpy(device, raw.data(), raw.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    float *at() { return host.data(); }

    /* Whether the device has what the host has. */
    void compare(const char *what, double tolerance)
    {
        std::vector<T> raw(host.size());
        double worst = 0, largest = 0;
        size_t where = 0;
        check(cudaDeviceSynchronize());
        check(cudaMemcpy(raw.data(), device, raw.size() * sizeof(T), cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < raw.size(); i++) {
            double difference = fabs((double)value_of(raw[i]) - (double)host[i]);
            largest = fmax(largest, fabs((double)host[i]));
            if (!(difference <= worst)) { /* NaN, too */
                worst = difference;
                where = i;
            }
        }
        if (worst <= tolerance * largest)
            return;
        printf("%s, %s: element %zu of %zu is %g, %g is expected (largest %g)\n", what,
               name_of<T>(), where, raw.size(), (double)value_of(raw[where]), (double)host[where],
               largest);
        bad++;
    }
};

/* Relative to the largest number. */
template <typename T> static double tolerance()
{
    return sizeof(T) == sizeof(float) ? 1e-5 : 1.0 / 128;
}

/* Of sums that stay float. Tensor cores cut off where a processor rounds. */
template <typename T> static double sum_tolerance()
{
    return sizeof(T) == sizeof(float) ? 1e-5 : 1e-4;
}

struct workspace {
    float *partials;
    struct scratch scratch;
    workspace()
    {
        check(cudaMalloc((void **)&partials, PARTIAL_NELEMS * sizeof(float)));
        scratch.partials = partials;
    }
    ~workspace() { cudaFree(partials); }
};

/* ---- layers ------------------------------------------------------------------------------------
 */

template <typename T> static void linear_check(int rows, int in, int out)
{
    workspace w;
    array<T> x((size_t)rows * in, 1), weights((size_t)in * out, 1 / sqrt(in)),
        y((size_t)rows * out), d_y((size_t)rows * out, 1), d_x((size_t)rows * in);
    array<float> bias(out, 1), residual((size_t)rows * out, 1), sum((size_t)rows * out),
        d_weights((size_t)in * out, 1), d_bias(out, 1);
    cpu::linear_forward(y.at(), x.at(), weights.at(), bias.at(), NULL, rows, in, out);
    linear_forward(y.device, x.device, weights.device, bias.device, NULL, rows, in, out, NULL);
    y.compare("linear_forward", tolerance<T>());
    cpu::linear_forward(sum.at(), x.at(), weights.at(), bias.at(), residual.at(), rows, in, out);
    linear_forward(sum.device, x.device, weights.device, bias.device, residual.device, rows, in,
                   out, NULL);
    sum.compare("linear_forward with residual", sum_tolerance<T>());
    cpu::linear_backward(d_x.at(), d_weights.at(), d_bias.at(), d_y.at(), x.at(), weights.at(),
                         rows, in, out);
    linear_backward(d_x.device, d_weights.device, d_bias.device, d_y.device, x.device,
                    weights.device, rows, in, out, w.scratch, NULL);
    d_x.compare("linear_backward, d_x", tolerance<T>());
    d_weights.compare("linear_backward, d_w", sum_tolerance<T>());
    d_bias.compare("linear_backward, d_b", sum_tolerance<T>());
}

template <typename T> static void norm_check(int rows, int width)
{
    workspace w;
    size_t n = (size_t)rows * width;
    array<float> x(n, 2, 0.5), gain(width, 0.3, 1), bias(width, 0.3), stats(2 * (size_t)rows),
        d_x(n, 1), d_gain(width, 1), d_bias(width, 1);
    array<T> y(n), d_y(n, 1), copy(n);
    cpu::norm_forward(y.at(), stats.at(), x.at(), gain.at(), bias.at(), rows, width);
    norm_forward(y.device, stats.device, x.device, gain.device, bias.device, rows, width, NULL);
    y.compare("norm_forward", tolerance<T>());
    stats.compare("norm_forward, stats", 1e-5);
    cpu::norm_backward(d_x.at(), d_gain.at(), d_bias.at(), d_y.at(), x.at(), stats.at(), gain.at(),
                       rows, width);
    norm_backward(d_x.device, copy.device, d_gain.device, d_bias.device, d_y.device, x.device,
                  stats.device, gain.device, rows, width, w.scratch, NULL);
    copy.host = d_x.host;
    d_x.compare("norm_backward, d_x", 1e-5);
    copy.compare("norm_backward, copy of d_x", tolerance<T>());
    d_gain.compare("norm_backward, d_gain", sum_tolerance<T>());
    d_bias.compare("norm_backward, d_bias", sum_tolerance<T>());
}

template <typename T> static void gelu_check(int n)
{
    array<T> x(n, 3), y(n), d(n, 1);
    cpu::gelu_forward(y.at(), x.at(), n);
    gelu_forward(y.device, x.device, n, NULL);
    y.compare("gelu_forward", tolerance<T>());
    cpu::gelu_backward(d.at(), x.at(), n);
    gelu_backward(d.device, x.device, n, NULL);
    d.compare("gelu_backward", tolerance<T>());
}

/* Random bytes on the device; few different ones, as in text. */
struct text_array {
    std::vector<unsigned char> host;
    unsigned char *device;
    explicit text_array(int n) : host(n), device(NULL)
    {
        uint64_t stream = ++streams;
        for (int i = 0; i < n; i++)
            host[i] =
                (unsigned char)(rng_bits(seed, stream, i) % 5 ? 'e'
                                                              : rng_bits(seed, stream, i) >> 8);
        check(cudaMalloc((void **)&device, n));
        check(cudaMemcpy(device, host.data(), n, cudaMemcpyHostToDevice));
    }
    text_array(const text_array &) = delete;
    ~text_array() { cudaFree(device); }
};

static void embed_check(int sequences, int context, int width)
{
    size_t n = (size_t)sequences * context * width;
    text_array text(sequences * context);
    array<float> token(256 * (size_t)width, 1), position((size_t)context * width, 1), y(n),
        d_y(n, 1), d_token(256 * (size_t)width, 1), d_position((size_t)context * width, 1);
    cpu::embed_forward(y.at(), text.host.data(), token.at(), position.at(), sequences, context,
                       width);
    embed_forward(y.device, text.device, token.device, position.device, sequences, context, width,
                  NULL);
    y.compare("embed_forward", 0);
    cpu::embed_backward(d_token.at(), d_position.at(), d_y.at(), text.host.data(), sequences,
                        context, width);
    embed_backward(d_token.device, d_position.device, d_y.device, text.device, sequences, context,
                   width, NULL);
    d_token.compare("embed_backward, d_token", 1e-5);
    d_position.compare("embed_backward, d_position", 1e-5);
}

template <typename T> static void cross_entropy_check(int rows, int classes)
{
    text_array targets(rows);
    array<float> logits((size_t)rows * classes, 3), row_losses(rows), loss(1, 0, 0.25);
    array<T> d_logits((size_t)rows * classes);
    double sum;
    cross_entropy(d_logits.device, row_losses.device, loss.device, logits.device, targets.device,
                  rows, classes, 0.125f, 0.125f, NULL);
    d_logits.host = logits.host;
    cpu::cross_entropy(d_logits.at(), targets.host.data(), rows, classes, 0.125f, &sum);
    loss.host[0] += (float)(0.125 * sum);
    d_logits.compare("cross_entropy, d_logits", tolerance<T>());
    loss.compare("cross_entropy, loss", 1e-5);
}

template <typename T> static void attention_check(int sequences, int context, int width, int heads)
{
    size_t rows = (size_t)sequences * context, squares = rows * context * heads;
    struct cpu::attention_shape shape = {sequences, context, width, heads};
    struct attention_sizes sizes = {sequences, context, width, heads};
    array<T> qkv(3 * rows * width, 1), y(rows * width), weights(squares), d_y(rows * width, 1),
        d_qkv(3 * rows * width), d_weights(squares);
    array<float> scores(squares);
    std::vector<float> scratch((size_t)context * context);
    cpu::attention_forward(y.at(), weights.at(), qkv.at(), shape);
    attention_forward(y.device, weights.device, scores.device, qkv.device, sizes, NULL);
    weights.compare("attention_forward, weights", tolerance<T>());
    y.compare("attention_forward", 2 * tolerance<T>());
    weights.upload(); /* what comes next is about backward alone */
    for (float &x : weights.host)
        x = narrow(x, T());
    cpu::attention_backward(d_qkv.at(), scratch.data(), d_y.at(), weights.at(), qkv.at(), shape);
    attention_backward(d_qkv.device, scores.device, d_weights.device, d_y.device, weights.device,
                       qkv.device, sizes, NULL);
    d_qkv.compare("attention_backward", 2 * tolerance<T>());
}

/* Three updates: with gradients that are shortened, and with some that are not. */
template <typename T> static void adamw_check(int n, double deviation)
{
    array<float> params(n, 1), grads(n, deviation), mean(n), square(n);
    array<T> weights(n);
    struct adamw adamw;
    struct adamw_constants *constants;
    double *squares;
    if (adamw_create(&adamw, n))
        exit(1);
    check(cudaMalloc((void **)&constants, sizeof(*constants)));
    check(cudaMalloc((void **)&squares, ADAMW_BLOCKS * sizeof(double)));
    for (int step = 1; step <= 3; step++) {
        struct adamw_update u = adamw_update_at(step, 0.01);
        struct adamw_constants c = {u.rate, u.square_scale, u.decay};
        check(cudaMemcpy(constants, &c, sizeof(c), cudaMemcpyHostToDevice));
        adamw_update(params.device, weights.device, mean.device, square.device, grads.device, n,
                     constants, squares, NULL);
        check(cudaDeviceSynchronize());
        adamw_step(&adamw, params.at(), grads.at(), 0.01);
    }
    weights.host = params.host;
    mean.host.assign(adamw.mean, adamw.mean + n);
    square.host.assign(adamw.square, adamw.square + n);
    params.compare("adamw_update", 1e-6);
    weights.compare("adamw_update, weights", tolerance<T>());
    mean.compare("adamw_update, mean", 1e-5);
    square.compare("adamw_update, square", 1e-5);
    adamw_destroy(&adamw);
    cudaFree(constants);
    cudaFree(squares);
}

static void convert_check(int n)
{
    array<float> wide(n, 1);
    array<bfloat16> small(n);
    convert(small.device, wide.device, n, NULL);
    small.host = wide.host;
    small.compare("convert", 1.0 / 256);
    for (float &x : wide.host)
        x = narrow(x, bfloat16());
    convert(wide.device, small.device, n, NULL);
    wide.compare("convert back", 0);
}

/* ---- the model ---------------------------------------------------------------------------------
 */

static int completed[16], ncompleted;
static void layer_done(void *, int layer)
{
    completed[ncompleted++ % 16] = layer;
}

/* All gradients of a model, from two chunks of the batch, which add up. Whole models in bfloat16
 * round hundreds of times on the way; a gradient that is forgotten or doubled still shows. */
template <typename T> static void model_check(const struct gpt_config *config, int sequences)
{
    size_t n = gpt_nparams(config);
    array<float> params(n), grads(n), loss(1);
    text_array bytes(2 * sequences * config->context), targets(2 * sequences * config->context);
    struct gpt *g = gpt_create(config, sequences, params.at(), grads.at());
    struct gpu_model<T> m;
    double sum = 0;
    if (!g)
        exit(1);
    gpt_init_params(g, 3);
    for (size_t i = 0; i < n; i++)
        params.host[i] = narrow(params.host[i] + (float)(0.05 * rng_normal(seed, 99, i)), T());
    params.upload();
    check(model_create(&m, g, sequences, params.device, grads.device));
    if (sizeof(T) < sizeof(float))
        convert((bfloat16 *)(void *)m.weights, params.device, (long)n, NULL);
    for (int chunk = 0; chunk < 2; chunk++) {
        int at = chunk * sequences * config->context;
        sum += gpt_forward_backward(g, &bytes.host[at], &targets.host[at], sequences, 0.01f);
        model_forward(&m, bytes.device + at, targets.device + at, sequences, 0.01f, loss.device,
                      NULL);
        ncompleted = 0;
        model_backward(&m, bytes.device + at, sequences, NULL, layer_done, NULL);
    }
    loss.host[0] = (float)(0.01 * sum);
    loss.compare("model_forward, loss", sizeof(T) == sizeof(float) ? 1e-5 : 2e-3);
    grads.compare("model_backward, all gradients", sizeof(T) == sizeof(float) ? 3e-5 : 0.02);
    for (int i = 0; i < ncompleted; i++)
        bad += completed[i] != config->layers - 1 - i;
    bad += ncompleted != config->layers + 1;
    model_destroy(&m);
    gpt_destroy(g);
}

template <typename T> static void all_check()
{
    static const struct gpt_config odd = {2, 3, 15, 7}, round = {2, 2, 64, 32};
    linear_check<T>(70, 36, 52); /* edges, lines of whole vectors */
    linear_check<T>(33, 15, 9);  /* smaller than a tile, lines that are not aligned */
    linear_check<T>(128, 64, 192);
    linear_check<T>(700, 40, 64); /* a long inner dimension of d_w */
    norm_check<T>(70, 36);
    norm_check<T>(333, 15);
    gelu_check<T>(1000);
    cross_entropy_check<T>(70, 256);
    attention_check<T>(2, 37, 24, 3);
    attention_check<T>(1, 80, 64, 2);
    attention_check<T>(3, 5, 15, 3);
    adamw_check<T>(1000, 1);
    adamw_check<T>(1000, 0.05); /* a little too long */
    adamw_check<T>(1000, 0.001);
    model_check<T>(&odd, 2);
    model_check<T>(&round, 2);
}

int main(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        printf("no GPU: nothing is tested\n");
        return 77;
    }
    if (getenv("GPT_TEST_SEED"))
        seed = strtoull(getenv("GPT_TEST_SEED"), NULL, 10);
    printf("GPT_TEST_SEED=%llu\n", (unsigned long long)seed);
    all_check<float>();
    all_check<bfloat16>();
    embed_check(3, 50, 36);
    embed_check(2, 300, 150);
    convert_check(1000);
    printf("layers on the GPU: %s\n", bad ? "FAILED" : "passed");
    return bad != 0;
}
