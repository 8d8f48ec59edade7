/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a page of simulated steps. Ops are columns: an op is its start and the number of a run, and ops
 * of one signature that take the same time under the same bound, with the same traffic, share the run.
 * So a step that repeats costs two numbers for each op. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/page/page.h"
#include "sim/replay/replay.h"
#include "tracer/base/map.h"

enum { MOST_DERIVED = 400 }; /* runs of a result whose derivation is in the page */

/* What ops share that ran alike. */
struct run {
    uint32_t signature, unit, bound, first; /* first: the first op of them */
    double time_s;                          /* of each */
    uint64_t count;
};

struct columns {
    const struct ll_report *report;
    struct ll_map known, texts;
    struct run *runs;
    size_t run_capacity, run_count;
    const char **text; /* by number, as texts has them */
    size_t text_capacity, text_count;
    uint32_t *run_of; /* by op */
    bool failed;
};

static void find_runs(struct columns *c)
{
    const struct ll_result *result = c->report->result;
    const struct ll_prepared *prepared = result->prepared;
    uint32_t count = prepared->end_op - prepared->first_op;
    c->run_of = calloc(count + 1u, sizeof *c->run_of);
    c->failed |= !c->run_of;
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        const struct ll_op_result *op = &result->ops[i];
        struct ll_op_detail detail = ll_replay_detail(result, prepared->first_op + i);
        struct {
            uint32_t signature, unit, bound, zero;
            double time_s, active_s, traffic_bytes[LL_MAX_LEVELS];
        } key = {prepared->trace->ops[prepared->first_op + i].signature,
                 op->unit,
                 op->bound,
                 0,
                 op->time_s,
                 op->active_s,
                 {0}};
        for (uint64_t level = 0; level < result->machine->level_count; level++)
            key.traffic_bytes[level] = detail.traffic_bytes[level];
        bool is_new = true;
        uint32_t id = ll_map_intern(&c->known, &key, sizeof key, &is_new);
        c->failed = id == LL_NO_ID || !ll_grow(&c->runs, &c->run_capacity, id + 1u, sizeof *c->runs);
        if (c->failed)
            break;
        if (is_new)
            c->runs[id] =
                (struct run){key.signature, op->unit, op->bound, prepared->first_op + i, op->time_s, 0};
        c->run_count += is_new;
        c->runs[id].count++;
        c->run_of[i] = id;
    }
}

static void number_of_text(struct columns *c, const char *text, struct ll_json *json)
{
    bool is_new = true;
    uint32_t id = ll_map_intern(&c->texts, text, strlen(text) + 1, &is_new);
    if (id == LL_NO_ID || !ll_grow(&c->text, &c->text_capacity, id + 1u, sizeof *c->text)) {
        c->failed = true;
        return;
    }
    if (is_new) {
        c->text[id] = text;
        c->text_count = id + 1u;
    }
    ll_json_count(json, id);
}

static const struct ll_op_signature *signature_of(const struct columns *c, size_t run)
{
    return &c->report->result->prepared->trace->signatures[c->runs[run].signature];
}

static const char *text_of(const struct columns *c, size_t run, const char *what)
{
    const struct ll_machine *machine = c->report->result->machine;
    const struct ll_op_signature *signature = signature_of(c, run);
    const char *const *strings = c->report->result->prepared->trace->strings;
    switch (what[0]) {
    case 'k':
        return strings[signature->kind_name];
    case 's':
        return strings[signature->scope];
    case 'p':
        return ll_phase_name(signature->phase);
    case 'c':
        return ll_class_name(ll_op_class(signature->view.kind));
    case 'b':
        return ll_bound_name(machine, c->runs[run].bound);
    default:
        return c->runs[run].unit == LL_NO_UNIT ? "" : machine->units[c->runs[run].unit].name;
    }
}

static void text_columns(struct columns *c, struct ll_json *json)
{
    static const char *const names[] = {"kind", "scope", "phase", "class", "bound", "unit"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ll_json_key(json, names[i]);
        ll_json_open_list(json);
        for (size_t run = 0; run < c->run_count && !c->failed; run++)
            number_of_text(c, text_of(c, run, names[i]), json);
        ll_json_close_list(json);
    }
    ll_json_key(json, "shapes");
    ll_json_open_list(json);
    for (size_t run = 0; run < c->run_count; run++) {
        struct ll_str text = {0};
        ll_report_shapes(signature_of(c, run), &text);
        c->failed |= text.failed;
        ll_json_text(json, text.failed ? "" : text.text);
        ll_str_release(&text);
    }
    ll_json_close_list(json);
}

static double number_of(const struct columns *c, size_t run, size_t column)
{
    const struct ll_result *result = c->report->result;
    const struct ll_work *work = &result->prepared->works[c->runs[run].signature];
    switch (column) {
    case 0:
        return c->runs[run].time_s;
    case 1:
        return (double)work->flops;
    case 2:
        return (double)work->a_bytes + (double)work->b_bytes + (double)work->c_bytes;
    case 3:
        return c->runs[run].first;
    case 4:
        return c->runs[run].signature;
    default:
        return result->ops[c->runs[run].first - result->prepared->first_op].active_s;
    }
}

static void number_columns(const struct columns *c, struct ll_json *json)
{
    static const char *const names[] = {"time_s", "flops", "bytes", "first", "signature", "active_s"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ll_json_key(json, names[i]);
        ll_json_open_list(json);
        for (size_t run = 0; run < c->run_count; run++)
            ll_json_number(json, number_of(c, run, i));
        ll_json_close_list(json);
    }
}

/* Utilization, and bytes of each level. */
static void detail_columns(const struct columns *c, struct ll_json *json)
{
    const struct ll_result *result = c->report->result;
    ll_json_key(json, "utilization");
    ll_json_open_list(json);
    for (size_t run = 0; run < c->run_count; run++)
        ll_json_number(json, ll_replay_detail(result, c->runs[run].first).utilization);
    ll_json_close_list(json);
    ll_json_key(json, "traffic");
    ll_json_open_list(json);
    for (size_t run = 0; run < c->run_count; run++) {
        struct ll_op_detail detail = ll_replay_detail(result, c->runs[run].first);
        ll_json_open_list(json);
        for (uint64_t level = 0; level < result->machine->level_count; level++)
            ll_json_number(json, detail.traffic_bytes[level]);
        ll_json_close_list(json);
    }
    ll_json_close_list(json);
}

/* Runs of the most time in all first, equals in the order of their first ops. */
static int longer_first(const void *a, const void *b)
{
    const struct run *x = *(const struct run *const *)a, *y = *(const struct run *const *)b;
    double x_s = x->time_s * (double)x->count, y_s = y->time_s * (double)y->count;
    return x_s != y_s ? (x_s < y_s ? 1 : -1) : (x->first > y->first) - (x->first < y->first);
}

static void derivations(struct columns *c, struct ll_json *json)
{
    const struct run **longest = calloc(c->run_count + 1, sizeof *longest);
    c->failed |= !longest;
    for (size_t i = 0; longest && i < c->run_count; i++)
        longest[i] = &c->runs[i];
    if (longest)
        qsort(longest, c->run_count, sizeof *longest, longer_first);
    ll_json_key(json, "derivations");
    ll_json_open_list(json);
    for (size_t i = 0; longest && i < c->run_count && i < MOST_DERIVED; i++) {
        ll_json_open_object(json);
        ll_json_put_count(json, "run", (uint64_t)(longest[i] - c->runs));
        ll_report_derivation_json(c->report, longest[i]->first, json);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
    free(longest);
}

static void op_columns(const struct columns *c, struct ll_json *json)
{
    const struct ll_prepared *prepared = c->report->result->prepared;
    uint32_t count = prepared->end_op - prepared->first_op;
    ll_json_key(json, "start_s");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < count; i++)
        ll_json_number(json, c->report->result->ops[i].start_s);
    ll_json_close_list(json);
    ll_json_key(json, "run");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < count; i++)
        ll_json_count(json, c->run_of[i]);
    ll_json_close_list(json);
}

static void texts(const struct columns *c, struct ll_json *json)
{
    ll_json_key(json, "texts");
    ll_json_open_list(json);
    for (size_t i = 0; i < c->text_count; i++)
        ll_json_text(json, c->text[i]);
    ll_json_close_list(json);
}

/* --- a step on cores: times in whole picoseconds, bytes and rates in whole ones --- */

static uint64_t picoseconds(double time_s)
{
    return (uint64_t)llround(time_s * 1e12);
}

/* A rate or an amount changes by so much. */
struct change {
    double at_s, by;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->at_s != y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    return (x->by > y->by) - (x->by < y->by);
}

/* What is there from when on, of changes in any order: times and amounts, those of one time together. */
static void put_steps(struct change *changes, uint64_t count, struct ll_json *json)
{
    double sum = 0;
    qsort(changes, count, sizeof *changes, by_time);
    for (unsigned column = 0; column < 2; column++) {
        ll_json_key(json, column == 0 ? "at_ps" : "amount");
        ll_json_open_list(json);
        sum = 0;
        for (uint64_t i = 0; i < count; i++) {
            sum += changes[i].by;
            uint64_t at_ps = picoseconds(changes[i].at_s);
            if (i + 1 < count && picoseconds(changes[i + 1].at_s) == at_ps)
                continue;
            ll_json_count(json, column == 0 ? at_ps : sum > 0 ? (uint64_t)llround(sum) : 0);
        }
        ll_json_close_list(json);
    }
}

/* Bytes in each memory of a core over time, and what goes over the outermost memory. */
static void put_flows(const struct ll_fused_step *fusion, struct ll_json *json)
{
    uint64_t room = 2 * (fusion->copy_count + fusion->rate_count);
    struct change *changes = malloc((room + 1) * sizeof *changes);
    json->out->failed |= !changes;
    ll_json_key(json, "memories");
    ll_json_open_list(json);
    for (uint64_t p = 0; changes && p < fusion->pool_count; p++) {
        uint64_t count = 0;
        for (uint64_t c = 0; c < fusion->copy_count; c++) {
            const struct ll_fusion_copy *copy = &fusion->copies[c];
            if (copy->pool != p)
                continue;
            changes[count++] = (struct change){copy->from_s, copy->bytes};
            changes[count++] = (struct change){copy->until_s, -copy->bytes};
        }
        ll_json_open_object(json);
        ll_json_put_text(json, "core", fusion->core_names[fusion->pools[p].core]);
        ll_json_put_text(json, "memory", fusion->pools[p].name);
        ll_json_put_number(json, "capacity_bytes", fusion->pools[p].capacity_bytes);
        put_steps(changes, count, json);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
    ll_json_key(json, "outermost");
    ll_json_open_object(json);
    ll_json_put_text(json, "memory", fusion->links[0].name);
    ll_json_put_number(json, "bandwidth_Bps", fusion->links[0].Bps);
    uint64_t count = 0;
    for (uint64_t r = 0; changes && r < fusion->rate_count; r++) {
        const struct ll_fusion_rate *rate = &fusion->rates[r];
        const struct ll_fusion_transfer *transfer = &fusion->transfers[rate->transfer];
        if (transfer->from != fusion->core_count && transfer->there_count > 0)
            continue;
        changes[count++] = (struct change){rate->from_s, rate->Bps};
        changes[count++] = (struct change){rate->until_s, -rate->Bps};
    }
    if (changes)
        put_steps(changes, count, json);
    ll_json_close_object(json);
    free(changes);
}

static void put_cores(const struct ll_fused_step *fusion, struct ll_json *json)
{
    static const char *const columns[] = {"core", "op", "start_ps", "time_ps"};
    ll_json_key(json, "cores");
    ll_json_open_object(json);
    ll_json_key(json, "names");
    ll_json_open_list(json);
    for (uint32_t c = 0; c < fusion->core_count; c++)
        ll_json_text(json, fusion->core_names[c]);
    ll_json_close_list(json);
    for (unsigned i = 0; i < sizeof columns / sizeof *columns; i++) {
        ll_json_key(json, columns[i]);
        ll_json_open_list(json);
        for (uint64_t t = 0; t < fusion->task_count; t++) {
            const struct ll_fusion_task *task = &fusion->tasks[t];
            uint64_t start_ps = picoseconds(task->start_s);
            uint64_t row[] = {task->core, task->op, start_ps, picoseconds(task->end_s) - start_ps};
            ll_json_count(json, row[i]);
        }
        ll_json_close_list(json);
    }
    put_flows(fusion, json);
    ll_json_close_object(json);
}

static void one(const struct ll_report *report, struct ll_json *json)
{
    struct columns c = {.report = report};
    const struct ll_machine *machine = report->result->machine;
    find_runs(&c);
    ll_json_open_object(json);
    ll_json_put_count(json, "first_op", report->result->prepared->first_op);
    ll_json_put_count(json, "steps", report->result->prepared->steps);
    ll_json_put_count(json, "ranks", report->together ? report->together->rank_count : 1);
    ll_json_key(json, "levels");
    ll_json_open_list(json);
    for (uint64_t level = 0; level < machine->level_count; level++)
        ll_json_text(json, machine->levels[level].name);
    ll_json_close_list(json);
    if (!c.failed) {
        ll_json_key(json, "runs");
        ll_json_open_object(json);
        text_columns(&c, json);
        number_columns(&c, json);
        detail_columns(&c, json);
        ll_json_close_object(json);
        op_columns(&c, json);
        texts(&c, json);
        derivations(&c, json);
        ll_report_roofline_json(report, json);
        if (report->fusion)
            put_cores(report->fusion, json);
    }
    ll_json_close_object(json);
    json->out->failed |= c.failed;
    ll_map_release(&c.known);
    ll_map_release(&c.texts);
    free(c.runs);
    free(c.text);
    free(c.run_of);
}

void ll_page_of_simulation(const struct ll_report *reports, size_t count, const struct ll_page_origin *origin,
                           struct ll_str *out)
{
    struct ll_str document = {0}, more = {0}, plain = {0};
    struct ll_json of_document = {.out = &document}, json = {.out = &more};
    assert(count > 0);
    ll_report_json(reports, count, false, &of_document);
    ll_json_open_object(&json);
    ll_json_key(&json, "columns");
    ll_json_open_list(&json);
    for (size_t i = 0; i < count; i++)
        one(&reports[i], &json);
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    for (size_t i = 0; i < count; i++)
        ll_report_page(&reports[i], 100, &plain);
    const struct ll_html_page page = {"sim",     *origin, plain.failed || !plain.text ? "" : plain.text,
                                      &document, &more,   NULL};
    out->failed |= plain.failed;
    ll_page_write(&page, out);
    ll_str_release(&document);
    ll_str_release(&more);
    ll_str_release(&plain);
}
