/*
 * program.c - which file is the program, and why it cannot be executed.
 *
 * What every PE would fail at is found before the first is started, and said once. What only the
 * kernel can tell (may it run this architecture? perhaps by an emulator) a PE finds out; it uses
 * execve and not execvp, which would hand a foreign binary to the shell as a script.
 */
#include "run.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- finding it ----------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat file;
    return !stat(path, &file) && S_ISREG(file.st_mode) && !access(path, X_OK);
}

/* The path of `name` in one folder of PATH; an empty one is the current folder. */
static bool join(const char *folder, size_t length, const char *name, char path[PATH_MAX])
{
    int put = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, folder, length ? "/" : "./", name);
    return put > 0 && put < PATH_MAX;
}

/* Like execvp: the first that can be executed; if there is none, the first that exists. */
static bool search(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");
    char other[PATH_MAX] = "";
    if (!folders)
        folders = "/bin:/usr/bin";
    for (;;) {
        size_t length = strcspn(folders, ":");
        if (join(folders, length, name, path)) {
            if (is_program(path))
                return true;
            if (!*other && !access(path, F_OK))
                memcpy(other, path, PATH_MAX);
        }
        if (!folders[length])
            break;
        folders += length + 1;
    }
    memcpy(path, other, PATH_MAX);
    return *other;
}

_Noreturn static void not_in_path(const char *name)
{
    char here[PATH_MAX];
    if (!join("", 0, name, here) || !is_program(here))
        here[0] = 0;
    refuse(STATUS_NOT_FOUND,
           "cannot start %s: No such file or directory: it is in no folder of PATH%s%s", name,
           *here ? "; the one in this folder is called "
                 : " (a program of this folder is called ./name)",
           here);
}

/* The first part of a path that does not exist. */
_Noreturn static void no_such_file(const char *name, int error)
{
    char part[PATH_MAX];
    size_t length = 0, end = strlen(name);
    int status = error == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE;
    if (error != ENOENT)
        refuse(status, "cannot start %.256s: %s", name, strerror(error));
    while (length < end) {
        length += strspn(name + length, "/");
        length += strcspn(name + length, "/");
        snprintf(part, sizeof(part), "%.*s", (int)length, name);
        if (access(part, F_OK))
            break;
    }
    refuse(status, "cannot start %.256s: %s%s%.256s", name, strerror(error),
           length < end ? ": there is no " : "", length < end ? part : "");
}

static void check_permission(const char *name, const char *path)
{
    struct statvfs system;
    if (!access(path, X_OK))
        return;
    int error = errno;
    const char *remedy = "it has no execute permission: chmod +x";
    if (!statvfs(path, &system) && system.f_flag & ST_NOEXEC)
        remedy = "it lies in a file system that is mounted noexec";
    else if (error != EACCES)
        remedy = "it may not be executed";
    refuse(STATUS_CANNOT_EXECUTE, "cannot start %s: %s: %s", name, strerror(error), remedy);
}

void program_find(struct options *options)
{
    const char *name = options->argv[0];
    static char path[PATH_MAX];
    struct stat file;
    if (!*name)
        refuse(STATUS_NOT_FOUND, "cannot start the program: its name is empty");
    if (strlen(name) >= PATH_MAX)
        refuse(STATUS_NOT_FOUND, "cannot start %.60s...: %s", name, strerror(ENAMETOOLONG));
    if (strchr(name, '/'))
        snprintf(path, sizeof(path), "%s", name);
    else if (!search(name, path))
        not_in_path(name);
    if (stat(path, &file))
        no_such_file(name, errno);
    if (!S_ISREG(file.st_mode))
        refuse(STATUS_CANNOT_EXECUTE, "cannot start %s: it is %s, not a program", path,
               S_ISDIR(file.st_mode) ? "a directory" : "not a regular file");
    check_permission(name, path);
    options->path = path;
}

/* ---- executing it --------------------------------------------------------------------------- */

/* The first bytes of the program. */
static size_t head_read(const char *path, char *head, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, head, size);
    if (fd >= 0)
        close(fd);
    return got > 0 ? (size_t)got : 0;
}

static bool is_elf(const char *path)
{
    char head[SELFMAG];
    return head_read(path, head, sizeof(head)) == SELFMAG && !memcmp(head, ELFMAG, SELFMAG);
}

int program_execute(const struct options *options)
{
    size_t words = 0;
    execv(options->path, options->argv);
    if (errno != ENOEXEC || is_elf(options->path))
        return errno;
    /* A script without "#!" is the shell's, by tradition. */
    while (options->argv[words])
        words++;
    char **argv = calloc(words + 2, sizeof(*argv));
    if (!argv)
        return ENOMEM;
    argv[0] = "sh";
    argv[1] = (char *)options->path;
    memcpy(argv + 2, options->argv + 1, words * sizeof(*argv)); /* with the NULL */
    execv("/bin/sh", argv);
    int error = errno;
    free(argv);
    return error;
}

/* ---- why not -------------------------------------------------------------------------------- */

static const char *machine_name(unsigned machine)
{
    static const struct {
        unsigned machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86_64"}, {EM_386, "i386"},    {EM_AARCH64, "aarch64"},
                 {EM_ARM, "arm"},       {EM_PPC64, "ppc64"}, {EM_S390, "s390"},
                 {EM_RISCV, "riscv"},   {EM_MIPS, "mips"},   {EM_SPARCV9, "sparc64"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].machine == machine)
            return names[i].name;
    return "an unknown machine";
}

static void describe_elf(const char *head, size_t length, char *text, size_t size)
{
    struct utsname self;
    bool little = head[EI_DATA] == ELFDATA2LSB;
    size_t at = offsetof(Elf32_Ehdr, e_machine); /* the same in both classes */
    if (length < at + 2 || uname(&self)) {
        snprintf(text, size, "; the file is cut off");
        return;
    }
    unsigned low = (unsigned char)head[at + !little], high = (unsigned char)head[at + little];
    unsigned machine = high << 8 | low;
    const char *name = machine_name(machine);
    if (!strcmp(name, self.machine))
        snprintf(text, size, "; it is a binary for %s, but damaged, or no program", name);
    else
        snprintf(text, size, "; it is a binary for %s, this machine is %s: compile it here", name,
                 self.machine);
}

/* The kernel has found the file, but not what its first line names. */
static void describe_script(const char *head, size_t length, char *text, size_t size)
{
    const char *name = head + 2 + strspn(head + 2, " \t");
    size_t end = strcspn(name, " \t\n"), left = length - (size_t)(name - head);
    if (end > left)
        end = left;
    if (end && name[end - 1] == '\r')
        snprintf(text, size,
                 "; its first line ends in a carriage return (written on Windows?): it asks for "
                 "'%.*s\\r'",
                 (int)end - 1, name);
    else
        snprintf(text, size,
                 "; its first line names the interpreter %.*s, which cannot be executed", (int)end,
                 name);
}

void program_explain(const char *path, int error, char *text, size_t size)
{
    char head[256] = "";
    size_t length = head_read(path, head, sizeof(head) - 1);
    text[0] = 0;
    if (!strncmp(head, "#!", 2))
        describe_script(head, length, text, size);
    else if (error == ENOEXEC)
        describe_elf(head, length, text, size);
    else if (error == ENOENT)
        snprintf(text, size, "; the file is there, but the loader that it names is not");
    else if (error == E2BIG)
        snprintf(text, size, "; its arguments and the environment are too long");
    else if (error == ETXTBSY)
        snprintf(text, size, "; somebody is writing the file: is it being compiled?");
    else if (error == EACCES)
        snprintf(text, size, "; it, or what it needs, must not be executed by this user");
}
