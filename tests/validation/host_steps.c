/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of the reference workloads, recorded here and now, against their replay on the machine file that
 * `leadline calibrate` wrote of this machine.
 *
 *     host_steps HOST.yaml [THREADS [KEPT]]      KEPT: a folder for the traces
 *
 * The recorded times are the medians of a few steps, without what the recorder itself took. All workloads are
 * recorded three times, one after the other, and the middle recording of each counts: on a machine that
 * others use as well, one may have been disturbed as a whole. How far they are apart, and at what clock the
 * cores ran meanwhile beside that of the machine file, say how much of an error may be the machine's own
 * unrest. The error by kind is weighted with time: the sum of
 * |predicted - recorded| over the kinds, over the sum of recorded. */
#define _GNU_SOURCE
#include "models/model.h"
#include "sim/replay/replay.h"
#include "tracer/base/map.h"
#include "tracer/format/reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SETTINGS = 2, ROUNDS = 3 };

/* Small enough for a laptop, and large enough to be more than overhead; so many steps that a recording lasts
 * longer than a neighbour's moment. */
static const struct preset {
    const char *model;
    uint64_t batch, steps;
    struct ll_setting settings[MOST_SETTINGS];
    size_t setting_count;
} presets[] = {
    {"alexnet", 2, 9, {{NULL, NULL}}, 0},     {"vgg", 1, 5, {{NULL, NULL}}, 0},
    {"residual", 2, 9, {{NULL, NULL}}, 0},    {"deepq", 32, 60, {{"replay", "10000"}}, 1},
    {"autoenc", 128, 600, {{NULL, NULL}}, 0}, {"memnet", 32, 4000, {{NULL, NULL}}, 0},
    {"speech", 2, 5, {{"frames", "200"}}, 1}, {"seq2seq", 8, 9, {{"bucket", "1"}}, 1},
};

static const char *const modes[] = {"infer", "train"};
enum { RESULTS = 2 * sizeof presets / sizeof *presets }; /* each preset in both modes */

/* The trace stays in the folder; without one it is a file that is gone when it is read. */
static struct ll_trace *record(const struct preset *preset, bool train, int round, unsigned threads,
                               const char *folder)
{
    char path[4096] = "/tmp/host_steps.XXXXXX";
    int file = folder ? -1 : mkstemp(path);
    if (folder)
        snprintf(path, sizeof path, "%s/%s.%s.%d.llt", folder, preset->model, modes[train], round);
    struct ll_run_options options = {.train = train,
                                     .batch = preset->batch,
                                     .steps = preset->steps,
                                     .seed = 1,
                                     .threads = threads,
                                     .path = path,
                                     .settings = preset->settings,
                                     .setting_count = preset->setting_count};
    struct ll_run_report report;
    struct ll_diags diags = {0};
    enum ll_status status;
    const struct ll_model *model = ll_model_find(preset->model);
    struct ll_trace *trace =
        model && ll_model_run(model, &options, &report, &diags) ? ll_trace_read(path, &diags, &status) : NULL;
    ll_diags_release(&diags);
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    return trace;
}

/* The median step, and the median of what a kind takes in one. */
static double step_s(const struct ll_trace *trace, double *values)
{
    for (uint64_t i = 0; i < trace->step_count; i++)
        values[i] = (double)(trace->steps[i].wall_ns - trace->steps[i].recording_ns) * 1e-9;
    return ll_median(values, trace->step_count);
}

static double kind_s(const struct ll_trace *trace, enum ll_op_kind kind, double *values)
{
    for (uint64_t i = 0; i < trace->step_count; i++) {
        const struct ll_step *step = &trace->steps[i];
        values[i] = 0;
        for (uint32_t op = step->first_op; op < step->first_op + step->op_count; op++)
            if (trace->signatures[trace->ops[op].signature].view.kind == kind)
                values[i] += (double)trace->ops[op].duration_ns * 1e-9;
    }
    return ll_median(values, trace->step_count);
}

static double predicted_kind_s(const struct ll_result *result, enum ll_op_kind kind)
{
    for (uint64_t i = 0; i < result->kind_count; i++)
        if (strcmp(result->kinds[i].kind, ll_op_name(kind)) == 0)
            return result->kinds[i].time_s;
    return 0;
}

struct score {
    double recorded_s, clock_hz;
    double step, kinds; /* errors: of the step with its sign, by kind weighted with time */
    struct ll_str text;
};

static struct score compare(const char *name, const char *mode, const struct ll_trace *trace,
                            const struct ll_result *result, double *values)
{
    double recorded = step_s(trace, values), off = 0, all = 0;
    for (int kind = 0; kind < ll_op_count(); kind++) {
        double of_kind = kind_s(trace, (enum ll_op_kind)kind, values);
        all += of_kind;
        off += fabs(predicted_kind_s(result, (enum ll_op_kind)kind) - of_kind);
    }
    struct score score = {.recorded_s = recorded,
                          .clock_hz = ll_trace_number(trace, "host.clock_hz", 0),
                          .step = result->time_s / recorded - 1,
                          .kinds = off / all};
    ll_str_addf(&score.text,
                "%-10s %-5s %10.3f ms recorded %10.3f ms predicted %+6.1f %%   by kind %5.1f %%\n", name,
                mode, recorded * 1e3, result->time_s * 1e3, score.step * 100, score.kinds * 100);
    for (int kind = 0; kind < ll_op_count(); kind++) {
        double of_kind = kind_s(trace, (enum ll_op_kind)kind, values);
        double predicted = predicted_kind_s(result, (enum ll_op_kind)kind);
        if (fabs(predicted - of_kind) > 0.02 * all)
            ll_str_addf(&score.text, "    %-28s %10.3f ms recorded %10.3f ms predicted\n",
                        ll_op_name((enum ll_op_kind)kind), of_kind * 1e3, predicted * 1e3);
    }
    return score;
}

static bool validate(const struct preset *preset, bool train, int round, const struct ll_machine *machine,
                     unsigned threads, const char *folder, struct score *score)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_trace *trace = record(preset, train, round, threads, folder);
    const struct ll_prepared *prepared = trace ? ll_prepare(trace, &arena, &diags) : NULL;
    const struct ll_result *result = prepared ? ll_replay(prepared, machine, &arena, &diags) : NULL;
    double *values = result ? ll_alloc(&arena, trace->step_count, sizeof *values) : NULL;
    if (values)
        *score = compare(preset->model, modes[train], trace, result, values);
    else
        fprintf(stderr, "host_steps: %s cannot be recorded or replayed\n", preset->model);
    ll_trace_free(trace);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
    return values != NULL;
}

static int by_recorded(const void *a, const void *b)
{
    const struct score *x = a, *y = b;
    return (x->recorded_s > y->recorded_s) - (x->recorded_s < y->recorded_s);
}

int main(int count, char **words)
{
    struct ll_diags diags = {0};
    static struct score scores[RESULTS][ROUNDS];
    double steps[RESULTS], kinds[RESULTS], apart[RESULTS], clocks_hz[RESULTS];
    unsigned threads = count > 2 ? (unsigned)strtoul(words[2], NULL, 10) : 0;
    const char *folder = count > 3 ? words[3] : NULL;
    struct ll_machine *machine = count > 1 ? ll_machine_read(words[1], NULL, NULL, 0, &diags) : NULL;
    if (!machine) {
        fprintf(stderr,
                "host_steps HOST.yaml [THREADS [KEPT]]: the file is what leadline calibrate writes\n");
        return 2;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < RESULTS; i++)
            if (!validate(&presets[i / 2], i % 2, round, machine, threads, folder, &scores[i][round]))
                return 1;
    for (size_t i = 0; i < RESULTS; i++) {
        qsort(scores[i], ROUNDS, sizeof scores[i][0], by_recorded);
        const struct score *middle = &scores[i][ROUNDS / 2];
        printf("%s", middle->text.text);
        steps[i] = fabs(middle->step);
        kinds[i] = middle->kinds;
        clocks_hz[i] = middle->clock_hz;
        apart[i] = scores[i][ROUNDS - 1].recorded_s / scores[i][0].recorded_s - 1;
        for (int round = 0; round < ROUNDS; round++)
            ll_str_release(&scores[i][round].text);
    }
    double step = ll_median(steps, RESULTS), kind = ll_median(kinds, RESULTS);
    double noise = ll_median(apart, RESULTS); /* all are sorted now */
    printf("steps: error %.1f %% in the median, %.1f %% at most; by kind %.1f %% in the median, %.1f %% at "
           "most\n",
           step * 100, steps[RESULTS - 1] * 100, kind * 100, kinds[RESULTS - 1] * 100);
    printf(
        "of a step's %d recordings the slowest is %.1f %% above the fastest in the median, %.1f %% at most\n",
        ROUNDS, noise * 100, apart[RESULTS - 1] * 100);
    double clock_hz = ll_median(clocks_hz, RESULTS);
    printf("the clock: %.2f to %.2f GHz while steps were recorded, %.2f in the median; %.2f in %s\n",
           clocks_hz[0] * 1e-9, clocks_hz[RESULTS - 1] * 1e-9, clock_hz * 1e-9, machine->clock_hz * 1e-9,
           words[1]);
    ll_machine_free(machine);
    ll_diags_release(&diags);
    return 0;
}
