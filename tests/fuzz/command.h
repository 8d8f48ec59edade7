/* SPDX-License-Identifier: Apache-2.0 */
/* Whole commands in the process of a fuzz target: any bytes become a file or words of a command line, and
 * the program's own chapter goes on from there, in a folder of its own that has a trace, a machine and a
 * sweep's database. Its status is 0, 1 or 2. */
#ifndef LL_FUZZ_COMMAND_H
#define LL_FUZZ_COMMAND_H

#define _GNU_SOURCE
#include "sim/cli/program.c"

#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The command of these words, up to a NULL. */
static int run_words(const char **words)
{
    char *argv[72] = {(char *)"leadline"};
    int count = 1;
    for (; *words && count < 70; words++)
        argv[count++] = (char *)*words;
    optind = 0; /* getopt begins anew */
    int status = ll_end(answer(count, argv));
    if (status < 0 || status > 2)
        abort();
    return status;
}
#define RUN(...) run_words((const char *[]){__VA_ARGS__, NULL})

static void put_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
}

static void remove_folder(void)
{
    char command[300], here[200];
    if (getcwd(here, sizeof here) && strstr(here, "leadline-fuzz")) {
        snprintf(command, sizeof command, "rm -rf '%s'", here);
        if (system(command) != 0)
            abort();
    }
}

/* Once: the folder, and what is in it. */
static void prepare(void)
{
    static const char sweep[] =
        "base: custom_example\ntraces: [small.llt]\nvary: {units.array.rows: [8, 16]}\n"
        "objectives: [min time_s, min units.array.rows]\n";
    static bool ready;
    if (ready)
        return;
    ready = true;
    char folder[] = "/tmp/leadline-fuzz.XXXXXX", machines[4096];
    if (!getcwd(machines, sizeof machines - 16) || !mkdtemp(folder) || chdir(folder) != 0)
        abort();
    atexit(remove_folder);
    setenv("LEADLINE_PATH", strcat(machines, "/hwconfigs"), 1);
    signal(SIGXFSZ, SIG_IGN);
    if (!getenv("LL_FUZZ_LOUD") && (!freopen("/dev/null", "w", stdout) || !freopen("said", "w", stderr)))
        abort();
    put_file("sweep.yaml", sweep, sizeof sweep - 1);
    if (RUN("record", "autoenc", "--dry-run", "--infer", "--batch", "1", "-o", "small.llt") != 0 ||
        RUN("sweep", "sweep.yaml", "-j", "1", "-o", "small.db") != 0)
        abort();
}

#endif
