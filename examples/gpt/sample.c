/*
 * sample.c - generates text byte by byte.
 *
 * The whole context is computed anew for each byte: a few milliseconds for a small model, and no
 * second version of the forward pass to keep in step with the first.
 */
#include "sample.h"

#include "rng.h"

enum { STREAM_SAMPLE = 1 << 19, MAX_CONTEXT = 2048 };
static const double TEMPERATURE = 0.8;

/* Draws from softmax(logits / temperature) with a uniform number in [0, 1). */
static int byte_choose(const real *logits, double uniform)
{
    double weights[GPT_CLASSES], sum = 0;
    real top = real_max(logits, GPT_CLASSES);
    for (int i = 0; i < GPT_CLASSES; i++)
        sum += weights[i] = exp((double)(logits[i] - top) / TEMPERATURE);
    double left = uniform * sum;
    for (int i = 0; i < GPT_CLASSES - 1; i++) {
        left -= weights[i];
        if (left < 0)
            return i;
    }
    return GPT_CLASSES - 1;
}

void sample_print(struct gpt *g, uint64_t seed, long nbytes, FILE *out)
{
    unsigned char window[MAX_CONTEXT] = {'\n'};
    int context = g->config.context, length = 1;
    for (long i = 0; i < nbytes; i++) {
        gpt_forward(g, window, 1);
        int byte = byte_choose(g->logits + (long)(length - 1) * GPT_CLASSES,
                               rng_uniform(seed, STREAM_SAMPLE, (uint64_t)i));
        fputc(byte == '\n' || (byte >= ' ' && byte <= '~') ? byte : '.', out);
        fflush(out);
        if (length == context)
            memmove(window, window + 1, (size_t)--length);
        window[length++] = (unsigned char)byte;
    }
    fputc('\n', out);
}
