/*
 * options.h - what a user may choose on the command line.
 */
#ifndef GPT_OPTIONS_H
#define GPT_OPTIONS_H

#include <stdio.h>

#include "model.h"

enum { OPTIONS_MAX_TEXTS = 64 };

/* In the order of the choices in options.c. */
enum device { DEVICE_AUTO, DEVICE_CPU, DEVICE_GPU };
enum precision { PRECISION_AUTO, PRECISION_FLOAT32, PRECISION_BFLOAT16 };

struct options {
    struct gpt_config model;
    int device, precision; /* enum device, enum precision */
    int bfloat16_grads;    /* GPU: what PEs send each other; 0: float32 */
    int no_graph;          /* GPU: put every step into the streams anew */
    long steps;            /* 0: no limit */
    double seconds;        /* 0: no limit */
    long batch;            /* sequences of the global batch */
    double lr;
    long seed;
    long sample; /* bytes to generate at the end */
    const char *svg;
    const char *texts[OPTIONS_MAX_TEXTS];
    int ntexts;
};

enum options_result { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_ERROR };

/* Reads the command line over the defaults. On OPTIONS_ERROR, `error` says which option has which
 * value, and what is allowed. The strings in `o` are those of argv. */
enum options_result options_parse(int argc, char **argv, struct options *o, char *error,
                                  size_t error_size);

void options_print_help(FILE *out);

#endif
