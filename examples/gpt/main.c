/*
 * main.c - trains a byte-level GPT on all PEs of a job, then lets it write.
 *
 * Reading order: train.c and backend_cpu.c are the part about nvs; passes.c is the model; layers.c,
 * attention.c, linear.c and matmul.c are its arithmetic; the rest is what any program needs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nvs.h"
#include "options.h"
#include "sample.h"
#include "svg.h"
#include "train.h"

/* Finds out before a minute of training whether the picture can be written after it. */
static int svg_check(const char *path, char *error, size_t error_size)
{
    FILE *file = fopen(path, "a");
    if (!file) {
        snprintf(error, error_size, "--svg '%s': %s", path, strerror(errno));
        return -1;
    }
    fclose(file);
    return 0;
}

/*
 * Whether all PEs have their input, and the same text. A PE that leaves alone would look like one
 * that died, so all learn of the first PE that failed and leave together; that one tells why.
 */
static int inputs_agree(const struct text *text, int failed, const char *error)
{
    uint64_t root = text_checksum(text), mine = root;
    int32_t pe = nvs_my_pe(), first;
    if (nvs_broadcast(NVS_TEAM_WORLD, &root, &root, 1, NVS_UINT64, 0, NULL))
        die("nvs_broadcast", nvs_last_error());
    if (!failed && root != mine)
        error = "the text differs from that of PE 0";
    first = failed || root != mine ? pe : nvs_n_pes();
    if (nvs_all_reduce(NVS_TEAM_WORLD, &first, &first, 1, NVS_INT32, NVS_MIN, NULL))
        die("nvs_all_reduce", nvs_last_error());
    if (first == pe)
        fprintf(stderr, "gpt: PE %d: %s\n", pe, error);
    return first == nvs_n_pes() ? 0 : -1;
}

static void header_print(const struct trainer *t)
{
    const struct options *o = t->options;
    char device[400];
    const struct gpt_config *m = &o->model;
    printf("model    %d layers, %d wide, %d heads, context %d: %zu parameters\n", m->layers,
           m->width, m->heads, m->context, gpt_nparams(m));
    t->backend->describe(t, device, sizeof(device));
    printf("text     %zu bytes\n", t->text->size);
    printf("device   %s\n", device);
    printf("batch    %ld sequences of %d bytes, shared by %d PE%s\n\n", o->batch, m->context,
           t->npes, t->npes == 1 ? "" : "s");
    fflush(stdout);
}

static int results_show(const struct trainer *t)
{
    const struct options *o = t->options;
    char title[128];
    int failed;
    if (o->sample > 0) {
        printf("\nWhat the model writes:\n\n");
        sample_print(t->gpt, (uint64_t)o->seed, o->sample, stdout);
    }
    snprintf(title, sizeof(title), "A byte-level GPT of %zu parameters on %d PE%s, %.0f s",
             t->gpt->nparams, t->npes, t->npes == 1 ? "" : "s", t->progress.seconds);
    failed = svg_write(o->svg, title, t->losses, t->progress.step);
    if (failed)
        fprintf(stderr, "gpt: --svg '%s': %s\n", o->svg, strerror(errno));
    else
        printf("\nloss curve: %s\n", o->svg);
    printf("final loss %.3f\n", trainer_final_loss(t));
    return failed ? -1 : 0;
}

static int job_run(const struct options *o)
{
    struct text text = {0};
    struct trainer trainer;
    char error[512] = "";
    int failed =
        text_load(o->texts, o->ntexts, (size_t)o->model.context + 1, &text, error, sizeof(error));
    if (!failed && nvs_my_pe() == 0)
        failed = svg_check(o->svg, error, sizeof(error));
    const struct backend *backend = NULL;
    if (inputs_agree(&text, failed, error) || !(backend = backend_choose(o))) {
        text_free(&text);
        return -1;
    }
    trainer_create(&trainer, o, &text, backend);
    if (trainer.pe == 0)
        header_print(&trainer);
    failed = trainer_run(&trainer);
    if (!failed && trainer.pe == 0)
        failed = results_show(&trainer);
    trainer_destroy(&trainer);
    text_free(&text);
    return failed ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct options options;
    char error[512];
    if (nvs_init()) {
        fprintf(stderr, "gpt: nvs_init: %s\n", nvs_last_error());
        return 1;
    }
    int failed = 0;
    enum options_result result = options_parse(argc, argv, &options, error, sizeof(error));
    if (result == OPTIONS_RUN)
        failed = job_run(&options);
    else if (nvs_my_pe() == 0 && result == OPTIONS_HELP)
        options_print_help(stdout);
    else if (nvs_my_pe() == 0)
        fprintf(stderr, "gpt: %s\n", error);
    if (nvs_finalize()) {
        fprintf(stderr, "gpt: nvs_finalize: %s\n", nvs_last_error());
        return 1;
    }
    return failed || result == OPTIONS_ERROR;
}
