/*
 * replay.c - runs a fuzz target on the inputs in files: the kept corpus, or an input that crashed.
 *
 *     parse FILE_OR_FOLDER...
 */
#include <dirent.h>
#include <errno.h>

#include "fuzz.h"

static unsigned long count;

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t size = 0, capacity = (size_t)1 << 20;
    uint8_t *room = malloc(capacity);
    if (!file || !room) {
        fprintf(stderr, "replay: cannot read %s: %s\n", path, strerror(errno));
        exit(1);
    }
    size = fread(room, 1, capacity, file);
    fclose(file);
    /* An exact copy, so that a sanitizer sees a read behind its end. */
    uint8_t *data = malloc(size ? size : 1);
    if (!data)
        abort();
    memcpy(data, room, size);
    free(room);
    if (getenv("NVS_TEST_VERBOSE"))
        fprintf(stderr, "%s\n", path);
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    count++;
}

static void run_folder(const char *path, DIR *folder)
{
    char name[1024];
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        run_file(name);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (folder)
            run_folder(argv[i], folder);
        else
            run_file(argv[i]);
    }
    printf("%lu inputs\n", count);
    return count == 0;
}
