/* SPDX-License-Identifier: Apache-2.0 */
/* What long commands share: interrupts, progress on the terminal, and output files, none of which is written
 * twice or also read. */
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/outputs.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/machine/quantity.h"
#include "tracer/base/clock.h"
#include "tracer/base/file.h"

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

const volatile sig_atomic_t *ll_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &interrupted;
}

enum { EVERY_NS = 200000000 };

struct ll_ticker ll_ticker_new(bool tells)
{
    return (struct ll_ticker){.terminal = tells && isatty(STDERR_FILENO) == 1};
}

void ll_ticker_clear(const struct ll_ticker *ticker)
{
    if (ticker->terminal)
        fputs("\r\033[K", stderr);
}

bool ll_ticker_due(struct ll_ticker *ticker, bool at_end)
{
    uint64_t now_ns = ticker->terminal ? ll_now_ns() : 0;
    if (!ticker->terminal || (!at_end && now_ns - ticker->told_ns < EVERY_NS))
        return false;
    ticker->told_ns = now_ns;
    ll_ticker_clear(ticker);
    return true;
}

static bool is_one_of(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The folder that a file would be in. */
static bool folder_of(const char *path, struct stat *folder)
{
    char text[4096];
    int length = snprintf(text, sizeof text, "%.*s.", (int)(ll_base_name(path) - path), path);
    return length > 0 && (size_t)length < sizeof text && stat(text, folder) == 0;
}

bool ll_is_same_file(const char *a, const char *b)
{
    struct stat there_a, there_b;
    bool has_a = stat(a, &there_a) == 0, has_b = stat(b, &there_b) == 0;
    if (has_a && has_b)
        return S_ISREG(there_a.st_mode) && is_same(&there_a, &there_b);
    if (has_a || has_b)
        return false;
    struct ll_arena arena = {0};
    a = ll_path_target(&arena, a);
    b = ll_path_target(&arena, b);
    bool same = a && b && strcmp(ll_base_name(a), ll_base_name(b)) == 0 && folder_of(a, &there_a) &&
                folder_of(b, &there_b) && is_same(&there_a, &there_b);
    ll_arena_release(&arena);
    return same;
}

/* What launchers tell the processes that they start. Where the number of them is not told there may be many;
 * but Slurm tells it only those that srun has started, not the script of a job, and what torchrun says is not
 * its own name alone. */
static const struct launcher {
    const char *rank, *size;
    bool tells_size;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false}, /* Open MPI */
    {"PMI_RANK", "PMI_SIZE", false},                         /* MPICH, Intel MPI, Cray MPICH */
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", false},   /* MVAPICH2 */
    {"PALS_RANKID", "PALS_SIZE", false},                     /* HPE Cray */
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", false},              /* Flux */
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", true},          /* Slurm */
    {"RANK", "WORLD_SIZE", true},                            /* torchrun */
    {"PMIX_RANK", "PMIX_SIZE", false}, /* any other that speaks PMIx, which tells no size */
};

static bool has_count(const char *variable, uint64_t *count)
{
    const char *value = getenv(variable);
    return value && ll_count_parse(value, count);
}

/* Whether this process is one of several, and which. The first launcher that is known decides: what it rests
 * on, as PMIx, may know less. */
static bool is_rank(uint64_t *rank)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        uint64_t size;
        bool told = has_count(launchers[i].size, &size);
        if (has_count(launchers[i].rank, rank) && (told || !launchers[i].tells_size))
            return !told || size > 1;
    }
    return false;
}

const char *ll_output_of_rank(const char *path, struct ll_arena *arena)
{
    struct stat there;
    uint64_t rank;
    if (!path || !is_rank(&rank) || (stat(path, &there) == 0 && !S_ISREG(there.st_mode)))
        return path;
    size_t length = strlen(path);
    bool ends = length > 4 && strcmp(path + length - 4, ".llt") == 0;
    return ll_format(arena, "%.*s.%" PRIu64 ".llt", (int)(ends ? length - 4 : length), path, rank);
}

/* A file that is read must be there. */
static bool is_read_from(const char *path, const char *named)
{
    struct stat there;
    return stat(named, &there) == 0 && ll_is_same_file(path, named);
}

bool ll_spares_inputs(const struct ll_args *args, const char *what, const char *path)
{
    const char *read = NULL;
    for (size_t i = 0; i < args->word_count && !read; i++)
        read = is_read_from(path, args->words[i]) ? args->words[i] : NULL;
    for (size_t i = 0; i < args->given_count && !read; i++)
        if (is_one_of(args->command->reads, args->given[i].option->name) &&
            is_read_from(path, args->given[i].value))
            read = args->given[i].value;
    if (read)
        ll_cli_reject("%s %s: this is also named as a file to read, %s; nothing is written over it", what,
                      path, read);
    return !read;
}

/* One option, compared with those before it. */
static bool is_sound(const struct ll_args *args, size_t number)
{
    char what[64];
    const struct ll_given *given = &args->given[number];
    snprintf(what, sizeof what, "--%s", given->option->name);
    if (!given->value[0]) {
        ll_cli_reject("%s: the name is empty; expected that of what to write", what);
        return false;
    }
    for (size_t i = 0; i < number; i++)
        if (is_one_of(args->command->writes, args->given[i].option->name) &&
            ll_is_same_file(given->value, args->given[i].value)) {
            ll_cli_reject("--%s and %s name the same file, %s; one of them would be lost",
                          args->given[i].option->name, what, given->value);
            return false;
        }
    return ll_spares_inputs(args, what, given->value);
}

bool ll_outputs_are_sound(const struct ll_args *args)
{
    for (size_t i = 0; i < args->given_count; i++)
        if (is_one_of(args->command->writes, args->given[i].option->name) && !is_sound(args, i))
            return false;
    return true;
}
