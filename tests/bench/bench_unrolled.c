/* SPDX-License-Identifier: Apache-2.0 */
/* What an op costs in a step of tens of thousands of ops: unrolled recurrent layers, twice as long each time,
 * recorded dry, read back, prepared and replayed on a GPU. A column that grows from line to line tells of
 * work that grows with the square of the length. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include "models/model.h"
#include "sim/replay/replay.h"
#include "tracer/format/reader.h"

#include <stdlib.h>
#include <unistd.h>

enum { LENGTHS = 5, RUNS = 3 };

static const struct {
    const char *model, *kind; /* what is measured */
    struct ll_setting fixed;
    const char *keys[2]; /* set to the length */
    unsigned shortest;
} unrolled[] = {
    {"deepspeech2", "deepspeech2", {"stepwise", "0"}, {"frames", NULL}, 100},
    {"deepspeech2", "deepspeech2, stepwise", {"stepwise", "1"}, {"frames", NULL}, 100},
    {"nmt", "nmt", {"layers", "2"}, {"source", "target"}, 50},
    {"speech", "speech", {"tile", "0"}, {"frames", NULL}, 200},
};
enum { UNROLLED = sizeof unrolled / sizeof *unrolled };

struct times {
    uint64_t record_ns, read_ns, prepare_ns, replay_ns, ops;
};

static void keep_least(uint64_t *least, uint64_t ns)
{
    *least = *least == 0 || ns < *least ? ns : *least;
}

static bool record(int i, unsigned length, const char *path, struct ll_diags *diags)
{
    char text[16];
    snprintf(text, sizeof text, "%u", length);
    struct ll_setting settings[] = {
        unrolled[i].fixed, {unrolled[i].keys[0], text}, {unrolled[i].keys[1], text}};
    const struct ll_run_options options = {.train = true,
                                           .steps = 1,
                                           .dry_run = true,
                                           .path = path,
                                           .settings = settings,
                                           .setting_count = unrolled[i].keys[1] ? 3 : 2};
    struct ll_run_report report;
    return ll_model_run(ll_model_find(unrolled[i].model), &options, &report, diags);
}

static bool measure(int i, unsigned length, const struct ll_machine *machine, struct times *times,
                    struct ll_diags *diags)
{
    char path[] = "/tmp/ll_bench_XXXXXX";
    int file = mkstemp(path);
    enum ll_status status;
    struct ll_arena arena = {0};
    if (file < 0)
        return false;
    close(file);
    uint64_t at[5] = {ll_now_ns()};
    bool good = record(i, length, path, diags);
    at[1] = ll_now_ns();
    struct ll_trace *trace = good ? ll_trace_read(path, diags, &status) : NULL;
    at[2] = ll_now_ns();
    const struct ll_prepared *prepared = trace ? ll_prepare(trace, &arena, diags) : NULL;
    at[3] = ll_now_ns();
    good = prepared && ll_replay(prepared, machine, &arena, diags);
    at[4] = ll_now_ns();
    unlink(path);
    if (good)
        times->ops = trace->op_count;
    keep_least(&times->record_ns, at[1] - at[0]);
    keep_least(&times->read_ns, at[2] - at[1]);
    keep_least(&times->prepare_ns, at[3] - at[2]);
    keep_least(&times->replay_ns, at[4] - at[3]);
    if (trace)
        ll_trace_free(trace);
    ll_arena_release(&arena);
    return good;
}

static void print(const char *kind, const struct times *times)
{
    const struct {
        const char *name;
        uint64_t ns;
    } parts[] = {{"record", times->record_ns},
                 {"read", times->read_ns},
                 {"prepare", times->prepare_ns},
                 {"replay", times->replay_ns}};
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s: %s, %llu ops", kind, parts[i].name, (unsigned long long)times->ops);
        printf("%-40s %12.2f ns   least of %d\n", name, (double)parts[i].ns / (double)times->ops, RUNS);
    }
}

int main(void)
{
    const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    struct ll_machine *machine =
        ll_machine_read("p100_pcie_16gb+archive/deepbench", folders, NULL, 0, &diags);
    bool good = machine != NULL;
    if (!machine)
        fprintf(stderr, "bench_unrolled runs in the folder that holds hwconfigs/\n");
    for (int i = 0; good && i < UNROLLED; i++)
        for (unsigned n = 0; good && n < LENGTHS; n++) {
            struct times times = {0};
            for (int run = 0; good && run < RUNS; run++)
                good = measure(i, unrolled[i].shortest << n, machine, &times, &diags);
            if (good)
                print(unrolled[i].kind, &times);
        }
    if (!good && diags.count)
        fprintf(stderr, "%s\n", diags.kept[0].message);
    if (machine)
        ll_machine_free(machine);
    ll_diags_release(&diags);
    return good ? 0 : 1;
}
