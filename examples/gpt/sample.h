/*
 * sample.h - lets a model write.
 */
#ifndef GPT_SAMPLE_H
#define GPT_SAMPLE_H

#include <stdio.h>

#include "model.h"

/* Writes `nbytes` bytes that the model makes up. Lines stay lines; other bytes that do not print
 * are shown as dots. */
void sample_print(struct gpt *gpt, uint64_t seed, long nbytes, FILE *out);

#endif
