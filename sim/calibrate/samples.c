/* SPDX-License-Identifier: Apache-2.0 */
/* An op of the list is measured once a step; the mean of the steps, without the extremes, stands for all. */
#include "sim/calibrate/samples.h"

#include "tracer/base/map.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether it reads some rows of a table, which indices name. */
static bool picks_rows(const struct ll_form *form)
{
    uint64_t bytes = 0;
    bool names = false;
    for (uint32_t i = 0; i < form->view.input_count; i++) {
        const struct ll_shape *in = &form->view.in[i];
        bytes = ll_add(bytes, ll_size_bytes(in));
        names |= ll_is_index(in);
    }
    return names && form->bytes_read < bytes;
}

static bool is_pass(const char *scope, const char *pass)
{
    return strncmp(scope, pass, strlen(pass)) == 0;
}

static bool is_small(const struct ll_form *form)
{
    enum { SMALL_BYTES = 1 << 14 };
    return ll_add(form->bytes_read, form->bytes_written) <= SMALL_BYTES;
}

/* Whether the op is there to be measured: its scope ends with its own kind. Others only prepare. Rows that
 * are picked a second time are still near, which nobody can tell by the table; networks pick other ones. What
 * another small op takes when it comes for the first time is mostly the way of its code through the caches;
 * in a network of small ops it is there. */
static bool is_measured(const struct ll_trace *trace, uint32_t op)
{
    const struct ll_form *form = &trace->forms[trace->ops[op].form];
    const char *scope = trace->strings[form->scope], *slash = strrchr(scope, '/');
    if (!slash || form->view.kind >= LL_OP_COUNT || strcmp(slash + 1, ll_op_name(form->view.kind)) != 0)
        return false;
    return picks_rows(form) ? !is_pass(scope, "warm/") : !is_pass(scope, "cold/") || !is_small(form);
}

/* Those that count, and the share of their ops that somebody else was beside. */
struct steps {
    uint32_t *at;
    uint64_t count;
    double crowded;
};

/* Times of the op that stands at this place of each step: the mean without a tenth at either end. Where
 * somebody else is at work now and then, an op takes one time or another; the median is either, and a step of
 * many ops is as long as their means together. What takes many times the median did not work all the time:
 * its thread had to wait for a processor, which says nothing of the op. Nor do the slowest say it of which
 * there are as many as looks at which somebody was on the other hyperthread: those ran beside them. */
static void time_of(const struct ll_trace *trace, const struct steps *steps, uint32_t place, double *times_ns,
                    struct ll_sample *sample)
{
    static const double many = 4;
    uint64_t count = steps->count;
    for (uint64_t i = 0; i < count; i++)
        times_ns[i] = (double)trace->ops[trace->steps[steps->at[i]].first_op + place].duration_ns;
    ll_sort_numbers(times_ns, count);
    double middle_ns = fmax(1, times_ns[count / 2]), sum_ns = 0;
    sample->spread = (times_ns[count * 3 / 4] - times_ns[count / 4]) / middle_ns;
    count -= (uint64_t)(steps->crowded * (double)count);
    while (times_ns[count - 1] > many * middle_ns)
        count--;
    uint64_t aside = count / 10;
    for (uint64_t i = aside; i < count - aside; i++)
        sum_ns += times_ns[i];
    sample->time_s = fmax(1, sum_ns) * 1e-9 / (double)(count - 2 * aside);
}

static int by_kind(const void *a, const void *b)
{
    const struct ll_sample *x = a, *y = b;
    if (x->kind != y->kind)
        return (x->kind > y->kind) - (x->kind < y->kind);
    if (x->most_terms != y->most_terms)
        return x->most_terms ? -1 : 1;
    if (x->most_rows != y->most_rows)
        return x->most_rows == 0 ? 1 : y->most_rows == 0 ? -1 : x->most_rows < y->most_rows ? -1 : 1;
    if (x->transposed != y->transposed)
        return x->transposed ? -1 : 1;
    if (x->folds != y->folds)
        return x->folds ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* None where threads shared their cores more often than not: such a machine is like that. */
static double crowded_share(const struct ll_trace *trace)
{
    static const double most = 0.5;
    double share = ll_trace_number(trace, "host.crowded", 0);
    return share <= most ? fmax(0, share) : 0;
}

/* The complete steps that have as many ops as the last of them, from there on. */
static struct steps like_steps(const struct ll_trace *trace, struct ll_arena *arena)
{
    struct steps steps = {.at = ll_alloc(arena, trace->step_count, sizeof *steps.at),
                          .crowded = crowded_share(trace)};
    uint32_t ops = 0;
    for (uint64_t i = trace->step_count; steps.at && i-- > 0;) {
        if (!trace->steps[i].complete || (steps.count > 0 && trace->steps[i].op_count != ops))
            continue;
        ops = trace->steps[i].op_count;
        steps.at[steps.count++] = (uint32_t)i;
    }
    return steps;
}

static const struct ll_step *last_step(const struct ll_trace *trace, const struct steps *steps)
{
    return &trace->steps[steps->at[0]];
}

/* From the end of an op to the start of the next, behind short ops, for others displace what the runner works
 * on: the mean without the extremes. The clock may tick in steps of a third of it, so that a median tells
 * less. */
static double gap_of(const struct ll_trace *trace, const struct ll_step *step, double *gaps_ns)
{
    enum { SHORT_NS = 2000 };
    uint64_t count = 0;
    double sum_ns = 0;
    for (uint32_t i = step->first_op; i + 1 < step->first_op + step->op_count; i++) {
        uint64_t end_ns = ll_add(trace->ops[i].start_ns, trace->ops[i].duration_ns);
        if (trace->ops[i].duration_ns < SHORT_NS)
            gaps_ns[count++] = (double)ll_sub(ll_max(trace->ops[i + 1].start_ns, end_ns), end_ns);
    }
    ll_sort_numbers(gaps_ns, count);
    uint64_t aside = count / 20;
    for (uint64_t i = aside; i < count - aside; i++)
        sum_ns += gaps_ns[i];
    return count > 0 ? sum_ns * 1e-9 / (double)(count - 2 * aside) : 0;
}

/* Products by the rows of their result: those that the header says have a kernel of their own, those that
 * work on each weight so seldom that copying weights counts, and the others (0). */
static uint64_t class_of(uint64_t rows, uint64_t few_rows)
{
    enum { SOME_ROWS = 64 };
    return rows <= few_rows ? few_rows : rows <= SOME_ROWS ? SOME_ROWS : 0;
}

/* A count of the header, 0 when it has none. */
static uint64_t count_of(const struct ll_trace *trace, const char *key)
{
    return (uint64_t)fmin(ll_trace_number(trace, key, 0), 0x1p50);
}

/* A library may be asked for kernels that use less than the whole width of the vector registers. */
static double library_share(const struct ll_trace *trace)
{
    double reached = ll_trace_number(trace, "probe.product.f32", 0),
           peak = ll_trace_number(trace, "probe.vector.f32", 0);
    return reached > 0 && peak > reached ? reached / peak : 1;
}

/* How the kernel of a kind cuts its work. */
static struct ll_cut cut_of(const struct ll_trace *trace, enum ll_op_kind kind)
{
    static const struct {
        const char *name;
        size_t offset;
    } figures[] = {{"slice", offsetof(struct ll_cut, slice)},
                   {"slice_elements", offsetof(struct ll_cut, slice_elements)},
                   {"slice_step", offsetof(struct ll_cut, slice_step)},
                   {"slice_most", offsetof(struct ll_cut, slice_most)},
                   {"small", offsetof(struct ll_cut, small)},
                   {"grain", offsetof(struct ll_cut, grain)}};
    struct ll_cut cut = {0};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s.%s", ll_op_name(kind), figures[i].name);
        *(uint64_t *)((char *)&cut + figures[i].offset) = count_of(trace, key);
    }
    return cut;
}

/* Which of a product's kernels runs it, and how. */
static void class_product(const struct ll_trace *trace, struct ll_sample *sample)
{
    uint64_t few_rows = count_of(trace, "matmul.few_rows"), few_terms = count_of(trace, "matmul.few_terms");
    if (!sample->work.along_k && sample->work.gemm.k <= few_terms) {
        sample->most_terms = few_terms;
        sample->cut.grain = count_of(trace, "matmul.few_terms.grain");
        return;
    }
    sample->most_rows = class_of(sample->work.gemm.m, few_rows);
    sample->transposed = sample->most_rows > 0 && (sample->work.along_k & LL_LINES_OF_B);
    if (sample->most_rows == few_rows)
        sample->cut.grain = count_of(trace, "matmul.few_rows.grain");
    else
        sample->cut = cut_of(trace, LL_OP_MATMUL);
}

/* A kind of which all reductions go along lines has one kernel for all. */
static void class_reductions(struct ll_samples *samples)
{
    bool across[LL_OP_COUNT] = {false};
    for (uint64_t i = 0; i < samples->count; i++)
        across[samples->at[i].kind] |= !samples->at[i].folds;
    for (uint64_t i = 0; i < samples->count; i++)
        samples->at[i].folds = samples->at[i].folds && across[samples->at[i].kind];
}

/* What the host hands over: a copy, measured like any op. */
static void add_arrival(const struct ll_trace *trace, const struct ll_sample *sample,
                        struct ll_samples *samples)
{
    uint64_t bytes = trace->forms[trace->ops[sample->op].form].bytes_written;
    samples->arrivals[samples->arrival_count++] = (struct ll_arrival){(double)bytes, sample->time_s};
}

/* The op at this place, if it is there to be measured. */
static void add_sample(const struct ll_trace *trace, const struct steps *steps, uint32_t place,
                       double *times_ns, struct ll_samples *samples)
{
    uint32_t op = last_step(trace, steps)->first_op + place;
    const struct ll_op_view *view = &trace->forms[trace->ops[op].form].view;
    struct ll_sample sample = {.op = op, .kind = view->kind};
    bool arrives = view->kind == LL_OP_HOST_INPUT;
    if (!arrives && (!is_measured(trace, op) || !ll_op_lower(view, &sample.work)))
        return;
    time_of(trace, steps, place, times_ns, &sample);
    if (arrives) {
        add_arrival(trace, &sample, samples);
        return;
    }
    if (sample.work.kind == LL_WORK_NOTHING) {
        samples->view_s += (sample.time_s - samples->view_s) / (double)++samples->view_count;
        return;
    }
    if (view->kind == LL_OP_MATMUL)
        class_product(trace, &sample);
    else
        sample.cut = cut_of(trace, view->kind);
    sample.folds = sample.work.kind == LL_WORK_REDUCE && sample.work.reduce.folds;
    samples->at[samples->count++] = sample;
}

static bool gather(const struct ll_trace *trace, const struct steps *steps, struct ll_arena *arena,
                   struct ll_samples *samples)
{
    const struct ll_step *last = last_step(trace, steps);
    double *times = ll_alloc(arena, steps->count, sizeof *times);
    double *gaps = ll_alloc(arena, last->op_count, sizeof *gaps);
    samples->at = ll_alloc(arena, last->op_count, sizeof *samples->at);
    samples->arrivals = ll_alloc(arena, last->op_count, sizeof *samples->arrivals);
    if (!times || !gaps || !samples->at || !samples->arrivals)
        return false;
    samples->library_share = library_share(trace);
    samples->gap_s = gap_of(trace, last, gaps);
    for (uint32_t place = 0; place < last->op_count; place++)
        add_sample(trace, steps, place, times, samples);
    class_reductions(samples);
    qsort(samples->at, samples->count, sizeof *samples->at, by_kind);
    return true;
}

static bool find_on_chip(const struct ll_trace *trace, const struct ll_machine *machine,
                         struct ll_arena *arena, struct ll_samples *samples)
{
    const struct ll_residency *residency = ll_residency_new(trace, arena);
    double *begun_s = ll_alloc(arena, trace->op_count, sizeof *begun_s);
    struct ll_history *history =
        residency ? ll_history_new(residency, machine, 0, (uint32_t)trace->op_count, arena) : NULL;
    if (!history || !begun_s)
        return false;
    const struct ll_so_far so_far = {begun_s, 0, history};
    for (uint32_t op = 0; op < trace->op_count; op++) {
        begun_s[op] = (double)trace->ops[op].start_ns * 1e-9;
        ll_history_add(history, op, so_far);
    }
    for (uint64_t i = 0; i < samples->count; i++)
        ll_residency_saved(residency, machine, samples->at[i].op, 0, so_far, &samples->at[i].found);
    return true;
}

const struct ll_samples *ll_samples_of(const struct ll_trace *micro, const struct ll_machine *machine,
                                       struct ll_arena *arena, struct ll_diags *diags)
{
    struct ll_samples *samples = ll_alloc(arena, 1, sizeof *samples);
    struct steps steps = like_steps(micro, arena);
    if (samples && steps.count > 0 && last_step(micro, &steps)->op_count > 0 &&
        gather(micro, &steps, arena, samples) && samples->count > 0 &&
        find_on_chip(micro, machine, arena, samples))
        return samples;
    ll_complain(diags, (struct ll_place){0}, "the trace has no ops that were measured for a calibration");
    return NULL;
}
