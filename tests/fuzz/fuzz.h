/*
 * fuzz.h - what the fuzz targets share. A target reads its input through the reader, so that a few
 * bytes say a number and the rest are texts, and aborts where a promise of the code is broken.
 *
 * Each target is built twice: with clang's libFuzzer, which makes up inputs, and as a plain program
 * that runs the inputs of files (replay.c), which any compiler can build.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer's names. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Says what is broken and aborts, which is how a target reports. */
#define PROMISE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken promise: %s: ", __FILE__, __LINE__, #condition);        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

struct reader {
    const uint8_t *data;
    size_t left;
};

/* The next byte; 0 at the end. */
static inline uint8_t read_byte(struct reader *reader)
{
    if (!reader->left)
        return 0;
    reader->left--;
    return *reader->data++;
}

/* The next n bytes; zeros behind the end. */
static inline void read_bytes(struct reader *reader, void *out, size_t n)
{
    size_t have = n < reader->left ? n : reader->left;
    memset(out, 0, n);
    memcpy(out, reader->data, have);
    reader->data += have;
    reader->left -= have;
}

/* The text up to the next line end or NUL, in memory of its own size so that a sanitizer sees a
 * read behind it. To be freed. */
static inline char *read_text(struct reader *reader)
{
    size_t n = 0;
    while (n < reader->left && reader->data[n] && reader->data[n] != '\n')
        n++;
    char *text = malloc(n + 1);
    if (!text)
        abort();
    memcpy(text, reader->data, n);
    text[n] = 0;
    reader->data += n;
    reader->left -= n;
    (void)read_byte(reader); /* the separator */
    return text;
}

#endif
