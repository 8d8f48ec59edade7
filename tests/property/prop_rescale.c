/* SPDX-License-Identifier: Apache-2.0 */
/* A step recorded at one batch and scaled to another is the step recorded at the other: the same ops, shapes,
 * attributes, counts and edges. Held for every reference workload, so that a dimension whose role nobody set
 * is found. */
#include "check.h"
#include "dry_model.h"
#include "known_models.h"

#include "tracer/transform/rescale.h"

enum { KNOWN = sizeof known_models / sizeof *known_models };

static struct ll_trace *record(const struct known *known, bool train, uint64_t batch)
{
    return dry_model(known->name, train, batch, known->small, settings_in(known->small, MOST_SETTINGS));
}

struct place {
    const struct known *known;
    const struct ll_trace *scaled, *recorded;
    bool roles; /* are compared, too */
    uint32_t op;
    int wrong;
};

static void note(struct place *place, const char *what, uint64_t a, uint64_t b)
{
    const struct ll_op_signature *signature =
        &place->recorded->signatures[place->recorded->ops[place->op].signature];
    if (place->wrong++ < 5)
        print_error("%s op %u %s (%s): %s %llu, recorded %llu\n", place->known->name, place->op,
                    place->recorded->strings[signature->kind_name],
                    place->recorded->strings[signature->scope], what, (unsigned long long)a,
                    (unsigned long long)b);
}

static void compare(struct place *place, const char *what, uint64_t a, uint64_t b)
{
    if (a != b)
        note(place, what, a, b);
}

static void compare_shapes(struct place *place, const char *what, const struct ll_shape *a,
                           const struct ll_shape *b)
{
    for (unsigned i = 0; i < LL_MAX_RANK; i++) {
        compare(place, what, a->dim[i], b->dim[i]);
        if (place->roles)
            compare(place, "role", a->role[i], b->role[i]);
    }
}

static void compare_signatures(struct place *place, const struct ll_op_signature *a,
                               const struct ll_op_signature *b)
{
    compare(place, "kind", a->view.kind, b->view.kind);
    compare(place, "flops", a->flops, b->flops);
    compare(place, "bytes read", a->bytes_read, b->bytes_read);
    compare(place, "bytes written", a->bytes_written, b->bytes_written);
    compare(place, "attributes", a->view.attr_count, b->view.attr_count);
    for (uint32_t i = 0; i < b->view.attr_count && i < a->view.attr_count; i++)
        compare(place, ll_attr_name((enum ll_attr_key)b->view.attrs[i].key), (uint64_t)a->view.attrs[i].count,
                (uint64_t)b->view.attrs[i].count);
    for (uint32_t i = 0; i < b->view.input_count; i++)
        compare_shapes(place, "input", &a->view.in[i], &b->view.in[i]);
    for (uint32_t i = 0; i < b->view.output_count; i++)
        compare_shapes(place, "output", &a->view.out[i], &b->view.out[i]);
}

static int differences(const struct known *known, const struct ll_trace *scaled,
                       const struct ll_trace *recorded, bool roles)
{
    struct place place = {known, scaled, recorded, roles, 0, 0};
    compare(&place, "ops", scaled->op_count, recorded->op_count);
    compare(&place, "tensors", scaled->tensor_count, recorded->tensor_count);
    compare(&place, "storages", scaled->storage_count, recorded->storage_count);
    for (; place.op < recorded->op_count && place.op < scaled->op_count; place.op++) {
        const struct ll_op_signature *a = &scaled->signatures[scaled->ops[place.op].signature],
                                     *b = &recorded->signatures[recorded->ops[place.op].signature];
        compare_signatures(&place, a, b);
        for (uint32_t i = 0; i < b->view.input_count; i++)
            compare(&place, "edge", ll_op_input(scaled, place.op, i), ll_op_input(recorded, place.op, i));
    }
    return place.wrong;
}

static int differences_from(const struct known *known, bool train, uint64_t from, uint64_t to)
{
    const char *trouble;
    struct ll_trace *recorded = record(known, train, from), *there = record(known, train, to);
    struct ll_trace *scaled = ll_trace_rescale(recorded, to, &trouble);
    if (!scaled)
        print_error("%s from %d to %d: %s\n", known->name, (int)from, (int)to, trouble);
    int wrong = scaled ? differences(known, scaled, there, true) : 1;
    ll_trace_free(recorded);
    ll_trace_free(there);
    ll_trace_free(scaled);
    return wrong;
}

static void a_step_at_another_batch_is_the_step_recorded_there(void **state)
{
    static const uint64_t batches[][2] = {{12, 24}, {12, 6}, {12, 4}, {1, 7}, {12, 1}};
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < 2 * KNOWN; i++) {
        const struct known *known = &known_models[i / 2];
        if ((i % 2 && known->train_ops == 0) || ll_model_find(known->name)->default_batch == 0)
            continue;
        for (size_t k = 0; k < sizeof batches / sizeof *batches; k++)
            wrong += differences_from(known, i % 2, batches[k][0], batches[k][1]);
    }
    assert_int_equal(wrong, 0);
}

static struct ll_trace *decoded(uint64_t batch)
{
    const struct ll_setting settings[] = {
        {"layers", "1"},  {"hidden", "16"},     {"heads", "2"}, {"kv_heads", "2"}, {"ffn_hidden", "8"},
        {"experts", "8"}, {"vocabulary", "48"}, {"seq", "4"},   {"context", "3"},  {"pass", "decode"}};
    return dry_model("moe", false, batch, settings, sizeof settings / sizeof *settings);
}

/* A word by itself has a place with each of eight experts, 64 have 20 there: 64 * 2 * 1.25 / 8. */
static void places_of_experts_are_counted_anew(void **state)
{
    (void)state;
    static const uint64_t batches[][2] = {{1, 64}, {1, 3}, {64, 1}, {3, 50}};
    const struct known mixture = {.name = "moe"};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        const char *trouble;
        struct ll_trace *recorded = decoded(batches[i][0]), *there = decoded(batches[i][1]);
        struct ll_trace *scaled = ll_trace_rescale(recorded, batches[i][1], &trouble);
        if (!scaled)
            fail_msg("%s", trouble);
        assert_int_equal(differences(&mixture, scaled, there, true), 0);
        ll_trace_free(recorded);
        ll_trace_free(there);
        ll_trace_free(scaled);
    }
}

/* As if another program had made the trace. */
static void forget_roles(struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->desc_count; i++)
        memset(trace->descs[i].shape.role, LL_ROLE_PLAIN, sizeof trace->descs[i].shape.role);
}

/* Workloads whose inputs do not show it: weights repeated for each sample (speech, vit, clip), values of
 * categories that come in beside a list as long for any batch (dlrm), words picked out of a batch and put
 * back (transformer, mixture, bert), caches that steps write into (llm), lists of all words or boxes of a
 * batch that come in as one dimension beside constants or states as long (the others). */
static bool hides_its_batch(const char *name)
{
    static const char *const hidden[] = {"speech",  "transformer", "bert",      "moe",         "llm",
                                         "nmt",     "sockeye",     "retinanet", "faster_rcnn", "word_lm",
                                         "char_lm", "vit",         "clip",      "dlrm"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (strcmp(hidden[i], name) == 0)
            return true;
    return false;
}

static int differences_when_found(const struct known *known, bool train)
{
    const char *trouble;
    struct ll_trace *recorded = record(known, train, 13), *there = record(known, train, 39), *scaled = NULL;
    forget_roles(recorded);
    assert_false(ll_trace_knows_batch(recorded));
    if (ll_trace_find_batch(recorded, 13, &trouble))
        scaled = ll_trace_rescale(recorded, 39, &trouble);
    if (!scaled && !hides_its_batch(known->name))
        print_error("%s: %s\n", known->name, trouble);
    int wrong = scaled ? differences(known, scaled, there, false) : !hides_its_batch(known->name);
    ll_trace_free(recorded);
    ll_trace_free(there);
    ll_trace_free(scaled);
    return wrong;
}

static void a_batch_that_nobody_told_is_found_or_refused_but_never_wrong(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < 2 * KNOWN; i++) {
        const struct known *known = &known_models[i / 2];
        if ((i % 2 == 0 || known->train_ops) && ll_model_find(known->name)->default_batch > 0)
            wrong += differences_when_found(known, i % 2);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_at_another_batch_is_the_step_recorded_there),
        cmocka_unit_test(places_of_experts_are_counted_anew),
        cmocka_unit_test(a_batch_that_nobody_told_is_found_or_refused_but_never_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
