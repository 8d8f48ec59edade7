/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "dry_model.h"
#include "samples.h"
#include "toy_trace.h"
#include "two_levels.h"

#include "sim/memory/footprint.h"
#include "sim/memory/residency.h"

/* The dumb twin: when each word of the arena was touched last, 0 for never. */
struct words {
    const struct ll_trace *trace;
    const uint64_t *address;
    uint64_t *last, count, time;
};

enum { WORD = 4 }; /* toy traces are of 4-byte elements */

static struct words words_of(const struct ll_trace *trace, struct ll_arena *arena)
{
    struct words w = {.trace = trace};
    struct ll_chains births, deaths;
    struct ll_liveness *lives = ll_trace_liveness(trace, arena);
    assert_true(ll_chain(trace, lives, false, &births, arena) &&
                ll_chain(trace, lives, true, &deaths, arena));
    w.address = ll_arena_addresses(trace, lives, &births, &deaths, arena);
    for (uint64_t s = 0; s < trace->storage_count; s++)
        w.count = ll_max(w.count, (w.address[s] + lives[s].bytes) / WORD);
    w.last = calloc(w.count, sizeof *w.last);
    return w;
}

static uint64_t tensor_bytes(const struct ll_trace *trace, uint32_t tensor)
{
    return ll_size_bytes(&trace->descs[trace->tensors[tensor].desc].shape);
}

static uint64_t *first_word(const struct words *w, uint32_t tensor)
{
    return w->last + w->address[w->trace->tensors[tensor].storage] / WORD;
}

static uint64_t distance_since(const struct words *w, uint64_t time)
{
    uint64_t younger = 0;
    for (uint64_t i = 0; i < w->count; i++)
        younger += w->last[i] > time;
    return time ? younger * WORD : LL_NO_FIT;
}

/* Of the longest run of words that were touched together, the first of equals, those never touched last. */
static uint64_t distance_of(const struct words *w, uint32_t tensor)
{
    const uint64_t *at = first_word(w, tensor), *end = at + tensor_bytes(w->trace, tensor) / WORD;
    uint64_t most = 0, never = 0, time = 0;
    while (at < end) {
        const uint64_t *run = at;
        while (at < end && *at == *run)
            at++;
        uint64_t length = (uint64_t)(at - run);
        if (*run == 0)
            never += length;
        else if (length > most)
            time = *run;
        most = *run && length > most ? length : most;
    }
    return never > most ? LL_NO_FIT : distance_since(w, time);
}

static void stamp(struct words *w, uint32_t tensor, uint64_t time)
{
    for (uint64_t i = 0; i < tensor_bytes(w->trace, tensor) / WORD; i++)
        first_word(w, tensor)[i] = time;
}

/* By which reuse the host wrote a storage that nobody has touched since, 1 + index, and when. */
struct arrival {
    uint64_t reuse, time;
};

static void agrees_with_arrival(const struct words *w, const struct ll_reuse *reuse, struct arrival *arrival)
{
    assert_int_equal(reuse->arrived, arrival->reuse);
    assert_true(reuse->since_arrival == distance_since(w, arrival->time));
    *arrival = (struct arrival){0};
}

/* The use of that index reads the tensor. */
static void agrees_with_words(struct words *w, uint32_t tensor, uint64_t index,
                              const struct ll_residency *residency, uint64_t *touched,
                              struct arrival *arrivals)
{
    const struct ll_reuse *reuse = &residency->reuses[index];
    uint32_t storage = w->trace->tensors[tensor].storage;
    assert_int_equal(reuse->bytes, tensor_bytes(w->trace, tensor));
    assert_true(reuse->distance == distance_of(w, tensor));
    assert_true(reuse->since == reuse->distance);
    assert_int_equal(reuse->before, touched[storage]);
    agrees_with_arrival(w, reuse, &arrivals[storage]);
    touched[storage] = index + 1;
    stamp(w, tensor, ++w->time);
}

/* The read of what the output overwrites, the last of them; NULL: there is none. */
static const struct ll_reuse *read_in_place(const struct ll_trace *trace,
                                            const struct ll_residency *residency, uint32_t op,
                                            uint32_t output)
{
    const struct ll_reuse *read = NULL;
    uint32_t storage = trace->tensors[ll_op_output(trace, op, output)].storage;
    for (uint32_t i = 0; i < trace->signatures[trace->ops[op].signature].view.input_count; i++)
        if (trace->tensors[ll_op_input(trace, op, i)].storage == storage)
            read = &residency->reuses[residency->first[op] + i];
    return read;
}

/* In toy traces every tensor on a storage has its size, and every op but the host's input moves its tensors.
 */
static void distances_agree_with_the_times_of_single_words(void **state)
{
    (void)state;
    uint64_t in_place = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        struct ll_arena arena = {0};
        const struct ll_residency *residency = ll_residency_new(trace, &arena);
        struct words w = words_of(trace, &arena);
        uint64_t *touched = calloc(trace->storage_count, sizeof *touched); /* 1 + reuse, by storage */
        struct arrival *arrivals = calloc(trace->storage_count, sizeof *arrivals);
        assert_true(residency && touched && arrivals);
        for (uint32_t op = 0; op < trace->op_count; op++) {
            const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
            const struct ll_reuse *reuse = &residency->reuses[residency->first[op]];
            for (int everywhere = 0; everywhere < 2; everywhere++)
                for (uint32_t i = 0; i < view->input_count; i++)
                    if (reuse[i].everywhere == everywhere)
                        agrees_with_words(&w, ll_op_input(trace, op, i),
                                          (uint64_t)(reuse - residency->reuses) + i, residency, touched,
                                          arrivals);
            reuse += view->input_count;
            bool host = view->kind == LL_OP_HOST_INPUT;
            for (uint32_t i = 0; i < view->output_count; i++) {
                const struct ll_reuse *read = read_in_place(trace, residency, op, i);
                assert_true(reuse[i].since ==
                            (read ? read->since : distance_of(&w, ll_op_output(trace, op, i))));
                in_place += read != NULL;
            }
            for (uint32_t i = 0; i < view->output_count; i++) {
                uint32_t tensor = ll_op_output(trace, op, i);
                touched[trace->tensors[tensor].storage] =
                    host ? 0 : (uint64_t)(reuse - residency->reuses) + i + 1;
                if (!read_in_place(trace, residency, op, i))
                    stamp(&w, tensor, host ? 0 : ++w.time);
                if (host)
                    arrivals[trace->tensors[tensor].storage] =
                        (struct arrival){(uint64_t)(reuse - residency->reuses) + i + 1, ++w.time};
            }
        }
        free(touched);
        free(arrivals);
        free(w.last);
        ll_arena_release(&arena);
        ll_trace_free(trace);
    }
    assert_true(in_place > 0);
}

/* The twin of what is written: the largest distance at which it is read, up to its end. */
static uint64_t fate(const struct ll_trace *trace, const struct ll_residency *residency, uint32_t writer)
{
    uint32_t written = ll_op_output(trace, writer, 0), storage = trace->tensors[written].storage;
    uint64_t farthest = 0;
    bool read = false, overwritten = false;
    for (uint32_t op = writer + 1; op < trace->op_count && !overwritten; op++) {
        const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
        for (uint32_t i = 0; i < view->input_count; i++)
            if (trace->tensors[ll_op_input(trace, op, i)].storage == storage) {
                farthest = ll_max(farthest, residency->reuses[residency->first[op] + i].distance);
                read = true;
            }
        for (uint32_t i = 0; i < view->output_count; i++)
            overwritten = overwritten || trace->tensors[ll_op_output(trace, op, i)].storage == storage;
    }
    enum ll_memory_class memory = (enum ll_memory_class)trace->descs[trace->tensors[written].desc].memory;
    bool dies = read && memory != LL_WEIGHT && memory != LL_OPTIMIZER && memory != LL_INPUT;
    return overwritten || dies ? farthest : LL_NO_FIT;
}

static void writes_agree_with_following_each_to_its_end(void **state)
{
    (void)state;
    for (uint64_t seed = 50; seed <= 80; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        struct ll_arena arena = {0};
        const struct ll_residency *residency = ll_residency_new(trace, &arena);
        for (uint32_t op = 0; op < trace->op_count; op++) {
            const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
            const struct ll_reuse *written = &residency->reuses[residency->first[op] + view->input_count];
            if (view->kind == LL_OP_HOST_INPUT)
                assert_true(written->distance == LL_NO_FIT);
            else
                assert_true(written->distance == fate(trace, residency, op));
        }
        ll_arena_release(&arena);
        ll_trace_free(trace);
    }
}

static double saved_in_all(const struct ll_trace *trace, const struct ll_residency *residency,
                           const struct ll_machine *machine)
{
    double sum = 0;
    struct ll_arena arena = {0};
    struct ll_so_far so_far = met_by(residency, machine, (uint32_t)trace->op_count, &arena);
    for (uint32_t op = 0; op < trace->op_count; op++) {
        struct ll_warm_bytes found;
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        ll_residency_saved(residency, machine, op, 0, so_far, &found);
        assert_near(found.saved_bytes[0], 0, 0);
        assert_true(found.saved_bytes[1] <= (double)signature->bytes_read + (double)signature->bytes_written);
        sum += found.saved_bytes[1];
    }
    ll_arena_release(&arena);
    return sum;
}

static void a_larger_memory_never_saves_less_and_never_more_than_there_is(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        struct ll_arena arena = {0};
        const struct ll_residency *residency = ll_residency_new(trace, &arena);
        double before = 0;
        for (uint64_t size_bytes = 1; size_bytes < UINT64_C(1) << 36; size_bytes += 1 + size_bytes / 3) {
            struct ll_machine machine = two_levels(size_bytes, LL_SCOPE_DEVICE, 4);
            machine.levels[0].cache_given = seed % 3 > 0;
            machine.levels[0].cache.policy = seed % 3 > 1 ? LL_CACHE_RANDOM : LL_CACHE_LRU;
            machine.levels[0].cache.admission = seed % 2 > 0 ? 0.3 : 1;
            double saved = saved_in_all(trace, residency, &machine);
            assert_true(saved >= before * (1 - 1e-12));
            before = saved;
        }
        assert_true(before > 0);
        ll_arena_release(&arena);
        ll_trace_free(trace);
    }
}

static void a_cache_saves_writes_by_when_their_addresses_were_touched(void **state)
{
    (void)state;
    uint64_t differ = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        struct ll_arena arena = {0};
        const struct ll_residency *residency = ll_residency_new(trace, &arena);
        struct ll_machine machine = two_levels(20000, LL_SCOPE_DEVICE, 4);
        machine.levels[0].cache_given = true;
        for (uint32_t op = 0; op < trace->op_count; op++) {
            struct ll_warm_bytes found;
            uint64_t kept = 0;
            for (uint64_t i = residency->first[op]; i < residency->first[op + 1]; i++) {
                const struct ll_reuse *reuse = &residency->reuses[i];
                kept += ll_add(reuse->since, reuse->bytes) <= 20000 ? reuse->bytes : 0;
                differ += reuse->since != reuse->distance;
            }
            ll_residency_saved(residency, &machine, op, 0, timeless, &found);
            assert_near(found.saved_bytes[1], (double)kept, 0);
        }
        ll_arena_release(&arena);
        ll_trace_free(trace);
    }
    assert_true(differ > 0);
}

/* Products of which either side of the result is longer, and a convolution with its gradients. */
static void what_is_not_cut_is_read_by_every_unit(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        enum ll_op_kind kind;
    } kinds[] = {{"seq2seq", LL_OP_MATMUL},
                 {"alexnet", LL_OP_CONV2D},
                 {"alexnet", LL_OP_CONV2D_DATA},
                 {"alexnet", LL_OP_CONV2D_FILTER},
                 {"alexnet", LL_OP_RELU}};
    uint64_t left = 0, right = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct ll_trace *trace = dry_model(kinds[k].model, true, 8, NULL, 0);
        struct ll_arena arena = {0};
        const struct ll_residency *residency = ll_residency_new(trace, &arena);
        assert_non_null(residency);
        for (uint32_t op = 0; op < trace->op_count; op++) {
            const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
            const struct ll_reuse *reuse = &residency->reuses[residency->first[op]];
            if (view->kind != kinds[k].kind)
                continue;
            bool wide = view->out[0].dim[0] < view->out[0].dim[1];
            bool first = kinds[k].kind == LL_OP_MATMUL ? wide : kinds[k].kind == LL_OP_CONV2D_FILTER;
            bool second = kinds[k].kind == LL_OP_MATMUL ? !wide : kinds[k].kind != LL_OP_RELU;
            assert_int_equal(reuse[0].everywhere, first);
            if (view->input_count > 1)
                assert_int_equal(reuse[1].everywhere, second);
            left += first;
            right += second;
        }
        ll_arena_release(&arena);
        ll_trace_free(trace);
    }
    assert_true(left > 0 && right > 0);
}

static void memories_of_several_units_keep_nothing_for_the_next_op(void **state)
{
    (void)state;
    struct ll_trace *trace = toy_trace(3);
    struct ll_arena arena = {0};
    const struct ll_residency *residency = ll_residency_new(trace, &arena);
    struct ll_machine several = two_levels(1 << 30, LL_SCOPE_UNIT, 2),
                      one = two_levels(1 << 30, LL_SCOPE_UNIT, 1);
    struct ll_machine shared = two_levels(1 << 30, LL_SCOPE_DEVICE, 2);
    assert_near(saved_in_all(trace, residency, &several), 0, 0);
    assert_near(saved_in_all(trace, residency, &one), saved_in_all(trace, residency, &shared), 0);
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

static enum ll_operand role_of(const struct ll_trace *trace, uint32_t op, uint32_t input)
{
    enum ll_op_kind kind = trace->signatures[trace->ops[op].signature].view.kind;
    bool product = ll_kind_is_gemm(kind);
    return product && input > 0 ? LL_OPERAND_B : LL_OPERAND_A;
}

static uint32_t storage_of(const struct ll_trace *trace, uint32_t tensor)
{
    return trace->tensors[tensor].storage;
}

/* Whether what op writes there is read as B before it is written anew. */
static bool is_weight_later(const struct ll_trace *trace, uint32_t op, uint32_t storage)
{
    bool weight = false, ends = false;
    while (!ends && ++op < trace->op_count) {
        const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
        for (uint32_t i = 0; i < view->input_count; i++)
            weight |= storage_of(trace, ll_op_input(trace, op, i)) == storage &&
                      role_of(trace, op, i) == LL_OPERAND_B;
        for (uint32_t i = 0; i < view->output_count; i++)
            ends |= storage_of(trace, ll_op_output(trace, op, i)) == storage;
    }
    return weight;
}

/* A buffer of inputs and results, however large, has what was an input or a result, and is one again. */
static void a_memory_of_some_operands_keeps_what_stays_one_of_them(void **state)
{
    (void)state;
    double in_all = 0, passed_by = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct ll_trace *trace = toy_trace(seed);
        struct ll_arena arena = {0};
        const struct ll_residency *residency = ll_residency_new(trace, &arena);
        struct ll_machine machine = two_levels(UINT64_C(1) << 40, LL_SCOPE_DEVICE, 4);
        struct ll_level *near = &machine.levels[0];
        near->holds_given = near->holds[LL_OPERAND_A] = near->holds[LL_OPERAND_C] = true;
        enum ll_operand *latest = calloc(trace->storage_count, sizeof *latest);
        for (uint32_t op = 0; op < trace->op_count; op++) {
            const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
            const struct ll_reuse *use = &residency->reuses[residency->first[op]];
            struct ll_warm_bytes found;
            double expected = 0;
            for (uint32_t i = 0; i < view->input_count; i++, use++) {
                uint32_t storage = storage_of(trace, ll_op_input(trace, op, i));
                bool kept = role_of(trace, op, i) == LL_OPERAND_A && latest[storage] != LL_OPERAND_B;
                expected += kept && ll_fits(use->distance) ? (double)use->bytes : 0;
                passed_by += !kept && ll_fits(use->distance);
                latest[storage] = role_of(trace, op, i);
            }
            for (uint32_t i = 0; i < view->output_count; i++, use++) {
                uint32_t storage = storage_of(trace, ll_op_output(trace, op, i));
                bool kept = !use->by_host && !is_weight_later(trace, op, storage);
                expected += kept && ll_fits(use->distance) ? (double)use->bytes : 0;
                latest[storage] = LL_OPERAND_C;
            }
            ll_residency_saved(residency, &machine, op, 0, timeless, &found);
            assert_near(found.saved_bytes[1], expected, 0);
            in_all += expected;
        }
        free(latest);
        ll_arena_release(&arena);
        ll_trace_free(trace);
    }
    assert_true(in_all > 0 && passed_by > 0);
}

static void operands_that_pass_through_registers_save_all_their_traffic(void **state)
{
    (void)state;
    struct ll_trace *trace = toy_trace(3);
    struct ll_arena arena = {0};
    const struct ll_residency *residency = ll_residency_new(trace, &arena);
    struct ll_machine machine = two_levels(1, LL_SCOPE_DEVICE, 1);
    uint32_t op = (uint32_t)trace->op_count - 1;
    const struct ll_reuse *second = &residency->reuses[residency->first[op] + 1];
    struct ll_warm_bytes found;
    ll_residency_saved(residency, &machine, op, 2, timeless, &found);
    assert_near(found.saved_bytes[0], (double)second->bytes, 0);
    assert_near(found.saved_bytes[1], (double)second->bytes, 0);
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_agree_with_the_times_of_single_words),
        cmocka_unit_test(writes_agree_with_following_each_to_its_end),
        cmocka_unit_test(a_larger_memory_never_saves_less_and_never_more_than_there_is),
        cmocka_unit_test(a_cache_saves_writes_by_when_their_addresses_were_touched),
        cmocka_unit_test(what_is_not_cut_is_read_by_every_unit),
        cmocka_unit_test(memories_of_several_units_keep_nothing_for_the_next_op),
        cmocka_unit_test(operands_that_pass_through_registers_save_all_their_traffic),
        cmocka_unit_test(a_memory_of_some_operands_keeps_what_stays_one_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
