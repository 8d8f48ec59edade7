/* SPDX-License-Identifier: Apache-2.0 */
/* Records whose form is known against decoding each anew. */
#include "check.h"

#include "tracer/base/random.h"
#include "tracer/interpose/call.h"
#include "tracer/interpose/ring.h"
#include "tracer/interpose/ring_stream.h"

enum { RECORDS = 64, SHAPES = 3 };

static uint64_t decoded; /* how many records */

static bool decode(void *context, const struct ll_ring_record *record, struct ll_call *call)
{
    (void)context;
    decoded++;
    return ll_decode_call(call->symbol, record->words + LL_RING_CALL_WORDS,
                          record->count - LL_RING_CALL_WORDS, call);
}

/* One of a few calls of the symbol at some time, with data somewhere, now and then nowhere. */
static unsigned make_record(uint64_t *random, uint32_t symbol, unsigned arguments, uint64_t *words)
{
    uint64_t addresses = ll_address_words(symbol), shape = ll_random_below(random, SHAPES);
    unsigned count = LL_RING_CALL_WORDS + arguments;
    words[0] = ll_ring_header(LL_RING_CALL, count, 0, symbol);
    for (unsigned i = 1; i < LL_RING_CALL_WORDS; i++)
        words[i] = ll_random_below(random, 1000000);
    words[LL_RING_CALLER_WORD] = 0x1000 + shape;
    for (unsigned i = 0; i < arguments; i++)
        words[LL_RING_CALL_WORDS + i] =
            addresses >> i & 1 ? ll_random_below(random, 50) * 4096 : 1 + (shape + i) % 5;
    return count;
}

static void assert_decoded_so(const struct ll_call *call, const uint64_t *words, unsigned count)
{
    struct ll_call anew = {.symbol = call->symbol};
    assert_true(ll_decode_call(anew.symbol, words + LL_RING_CALL_WORDS, count - LL_RING_CALL_WORDS, &anew));
    assert_int_equal(call->caller, words[LL_RING_CALLER_WORD]);
    assert_int_equal(call->routine, anew.routine);
    assert_int_equal(call->dtype, anew.dtype);
    assert_int_equal(call->operand_count, anew.operand_count);
    assert_int_equal(call->number_count, anew.number_count);
    assert_memory_equal(call->number, anew.number, anew.number_count * sizeof *anew.number);
    for (uint32_t i = 0; i < anew.operand_count; i++) {
        const struct ll_call_operand *one = &call->operand[i], *other = &anew.operand[i];
        assert_int_equal(one->address, other->address);
        assert_int_equal(one->rows, other->rows);
        assert_int_equal(one->row_bytes, other->row_bytes);
        assert_int_equal(one->stride_bytes, other->stride_bytes);
        assert_int_equal(one->access, other->access);
        assert_int_equal(one->role, other->role);
        assert_memory_equal(&one->shape, &other->shape, sizeof one->shape);
    }
}

/* A signature's length: the one with which it decodes; 0 for what is no routine of arrays and numbers. */
static unsigned arguments_of(uint32_t symbol)
{
    uint64_t words[LL_RING_RECORD_WORDS] = {0};
    for (unsigned count = 1; count < LL_RING_RECORD_WORDS - LL_RING_CALL_WORDS; count++)
        if (ll_decode_call(symbol, words, count, &(struct ll_call){0}))
            return count;
    return 0;
}

static void a_record_of_a_known_form_says_what_decoding_it_says(void **state)
{
    (void)state;
    struct ll_ring_forms forms = {.decode = decode};
    uint64_t random = 11, words[LL_RING_RECORD_WORDS], records = 0;
    uint32_t before = 0;
    decoded = 0;
    for (uint32_t symbol = 0; symbol < LL_SYMBOL_COUNT; symbol++) {
        unsigned arguments = arguments_of(symbol);
        for (unsigned i = 0; i < RECORDS && arguments; i++, records++) {
            struct ll_call call = {0};
            unsigned count = make_record(&random, symbol, arguments, words);
            assert_true(
                ll_ring_form_call(&forms, &before, &(struct ll_ring_record){1, count, words, 0}, &call));
            assert_decoded_so(&call, words, count);
        }
    }
    assert_true(records > 10000);
    assert_true(decoded < records / 2); /* the others were known */
    ll_ring_forms_release(&forms);
}

static void calls_of_another_process_or_place_have_another_form(void **state)
{
    (void)state;
    struct ll_ring_forms forms = {.decode = decode};
    uint64_t random = 12, words[LL_RING_RECORD_WORDS];
    uint32_t before = 0;
    unsigned count = make_record(&random, LL_SYMBOL_sgemm_, arguments_of(LL_SYMBOL_sgemm_), words);
    struct ll_call call, again, elsewhere, other, replaced;
    assert_true(ll_ring_form_call(&forms, &before, &(struct ll_ring_record){1, count, words, 0}, &call));
    assert_true(ll_ring_form_call(&forms, &before, &(struct ll_ring_record){1, count, words, 0}, &again));
    assert_true(ll_ring_form_call(&forms, &before, &(struct ll_ring_record){2, count, words, 0}, &other));
    assert_true(ll_ring_form_call(&forms, &before, &(struct ll_ring_record){1, count, words, 1}, &replaced));
    words[LL_RING_CALLER_WORD]++;
    assert_true(ll_ring_form_call(&forms, &before, &(struct ll_ring_record){1, count, words, 0}, &elsewhere));
    assert_int_not_equal(call.form, 0);
    assert_int_not_equal(call.form, replaced.form);
    assert_int_equal(replaced.mapping, 1);
    assert_int_equal(call.form, again.form);
    assert_int_not_equal(call.form, other.form);
    assert_int_not_equal(call.form, elsewhere.form);
    ll_ring_forms_release(&forms);
}

static void new_shapes_without_end_stop_being_remembered(void **state)
{
    (void)state;
    struct ll_ring_forms forms = {.decode = decode};
    uint64_t random = 13, words[LL_RING_RECORD_WORDS];
    uint32_t before = 0;
    struct ll_call call;
    unsigned count = make_record(&random, LL_SYMBOL_sgemm_, arguments_of(LL_SYMBOL_sgemm_), words);
    for (uint64_t i = 0; i < 20000; i++) {
        words[LL_RING_CALLER_WORD] = i;
        assert_true(ll_ring_form_call(&forms, &before, &(struct ll_ring_record){1, count, words, 0}, &call));
    }
    assert_int_equal(call.form, 0);
    assert_decoded_so(&call, words, count);
    words[LL_RING_CALLER_WORD] = 5;
    assert_true(ll_ring_form_call(&forms, &before, &(struct ll_ring_record){1, count, words, 0}, &call));
    assert_int_not_equal(call.form, 0);
    ll_ring_forms_release(&forms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_of_a_known_form_says_what_decoding_it_says),
        cmocka_unit_test(calls_of_another_process_or_place_have_another_form),
        cmocka_unit_test(new_shapes_without_end_stop_being_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
