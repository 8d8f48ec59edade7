/* SPDX-License-Identifier: Apache-2.0 */
/* Linked so that calloc and realloc of the rooms come here first: the n-th one fails, for every n, until a
 * whole run needs no more than n. What is left must still be sound, and nothing may leak. */
#include "check.h"

#include "dry_model.h"
#include "loop.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"
#include "sim/machine/machine.h"
#include "sim/parallel/shard.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/exchange.h"
#include "starve.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/map.h"
#include "tracer/base/pool.h"
#include "tracer/base/str.h"
#include "tracer/format/reader.h"

#include <unistd.h>

/* Calls run(n) with n allocations granted, until one says that it got all it wanted. */
static void starve(bool (*run)(void))
{
    int granted = 0;
    for (bool enough = false; !enough; granted++) {
        assert_true(granted < 2000);
        allowed = granted;
        enough = run();
    }
    assert_true(granted > 1);
}

static bool fill_arena(void)
{
    struct ll_arena arena = {0};
    bool enough = true;
    for (int i = 0; i < 40; i++) {
        char *text = ll_format(&arena, "%010000d", i);
        assert_true(!text || strlen(text) == 10000);
        enough = enough && text;
    }
    ll_arena_release(&arena);
    return enough;
}

static void an_arena_without_memory_says_so_each_time(void **state)
{
    (void)state;
    starve(fill_arena);
}

static bool fill_str(void)
{
    struct ll_str str = {0};
    for (int i = 0; i < 1000; i++)
        ll_str_addf(&str, "%04d", i);
    bool enough = !str.failed;
    assert_true(!str.text || str.length == strlen(str.text));
    assert_true(str.length % 4 == 0 && (str.length == 4000 || !enough));
    ll_str_release(&str);
    return enough;
}

static void a_text_without_memory_stays_what_it_was(void **state)
{
    (void)state;
    starve(fill_str);
}

static bool fill_map(void)
{
    struct ll_map map = {0};
    bool enough = true;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t id = ll_map_intern(&map, &i, sizeof i, NULL);
        assert_true(id == kept || id == LL_NO_ID);
        assert_int_equal(ll_map_find(&map, &i, sizeof i), id);
        kept += id != LL_NO_ID;
        enough = enough && id != LL_NO_ID;
    }
    assert_int_equal(map.count, kept);
    ll_map_release(&map);
    return enough;
}

static void a_map_without_memory_keeps_what_it_has(void **state)
{
    (void)state;
    starve(fill_map);
}

static bool complain(void)
{
    struct ll_diags diags = {0};
    ll_complain(&diags, (struct ll_place){.file = "mine.yaml"}, "wrong");
    assert_int_equal(diags.kept_count, 1);
    assert_non_null(diags.kept[0].message);
    bool enough = strcmp(diags.kept[0].message, "wrong") == 0;
    ll_diags_release(&diags);
    return enough;
}

static void a_complaint_without_memory_is_still_counted(void **state)
{
    (void)state;
    starve(complain);
}

static bool make_pool(void)
{
    struct ll_pool *pool = ll_pool_new(3);
    ll_pool_free(pool);
    return pool != NULL;
}

/* The thread library allocates for itself and is not starved. */
static void a_pool_is_made_whole_or_not_at_all(void **state)
{
    (void)state;
    starve(make_pool);
}

static const char *recording(void)
{
    static char path[64];
    snprintf(path, sizeof path, "no_memory-%ld.llt", (long)getpid());
    return path;
}

/* A recording of a small loop: closed in peace, or stopped with the reason; then read, wholly or not at all.
 */
static bool record(void)
{
    static struct loop loop;
    enum ll_status status;
    struct ll_recorder *recorder = ll_recorder_open(recording(), NULL, 0, &status);
    if (recorder) {
        loop_begin(&loop, recorder, 2, true);
        loop_step(&loop);
        loop_step(&loop);
        status = ll_recorder_close(recorder);
    }
    assert_true(status == LL_OK || status == LL_NO_MEMORY);
    return status == LL_OK;
}

static void a_recorder_without_memory_stops_and_says_so(void **state)
{
    (void)state;
    starve(record);
    char part[72]; /* what a recording that failed leaves beside the one of before */
    snprintf(part, sizeof part, "%s.part", recording());
    unlink(part);
}

static bool read_recording(void)
{
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    enum ll_status status;
    struct ll_trace *trace = ll_trace_read(recording(), &diags, &status);
    assert_true((trace != NULL) == (status == LL_OK));
    assert_true(trace || status == LL_NO_MEMORY || status == LL_DAMAGED);
    bool enough = trace && trace->step_count == 2 && trace->closed && diags.count == 0;
    enough = enough && ll_trace_deps(trace, &arena);
    ll_trace_free(trace);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    return enough;
}

static void a_reader_without_memory_gives_up_cleanly(void **state)
{
    (void)state;
    allowed = 1000000;
    assert_true(record());
    starve(read_recording);
    unlink(recording());
}

/* A network without memory has trouble, whatever else is built on it; a runner says what it lacked. */
static bool train(void)
{
    enum ll_status status = LL_NO_MEMORY;
    struct ll_nn *nn = ll_nn_new(LL_F32);
    if (!nn)
        return false;
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){4, 300}, NULL);
    struct ll_value *x = ll_nn_variable(nn, "x", &shape, LL_INPUT, (struct ll_init){0});
    for (int i = 0; i < 30; i++)
        x = ll_dense_layer(nn, "a layer with a name of some length", x,
                           &(struct ll_dense_options){.units = 300});
    ll_minimise(nn, ll_nn_do1(nn, LL_OP_MEAN, x), &(struct ll_optimizer){.kind = LL_ADAM});
    struct ll_runner *runner = NULL;
    if (ll_nn_trouble(nn))
        assert_string_equal(ll_nn_trouble(nn), "memory ran out");
    else
        runner = ll_runner_new(nn, &(struct ll_runner_options){.dry_run = true}, &status);
    assert_int_equal(status, runner ? LL_OK : LL_NO_MEMORY);
    if (runner)
        ll_runner_step(runner, 0);
    ll_runner_free(runner);
    ll_nn_free(nn);
    return status == LL_OK;
}

static void a_network_without_memory_has_trouble(void **state)
{
    (void)state;
    starve(train);
}

/* Read, laid over another, overridden, written and turned: whole, or refused with a complaint. */
static bool read_machine(void)
{
    static const char text[] =
        "inherits: v100_sxm_16gb+archive/deepbench\nname: Faster\nmemory: [{name: hbm2, bandwidth: 2TB/s}]\n";
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_override override = {"energy.hbm2_pj_per_byte", "31"};
    struct ll_diags diags = {0};
    struct ll_machine *machine =
        ll_machine_parse(text, sizeof text - 1, "faster.yaml", folders, &override, 1, &diags);
    assert_true((machine == NULL) == (diags.count > 0));
    struct ll_machine *turned = machine ? ll_machine_turn(machine, 0) : NULL;
    assert_true(!machine || machine->source_count > 20);
    ll_machine_free(turned);
    ll_machine_free(machine);
    ll_diags_release(&diags);
    return turned != NULL;
}

static void a_machine_without_memory_is_refused_or_whole(void **state)
{
    (void)state;
    starve(read_machine);
}

static struct ll_trace *whole; /* a step of a mixture of experts */
static const struct ll_parallel plan = {.data = 2,
                                        .tensor = 2,
                                        .context = 2,
                                        .pipeline = 2,
                                        .expert = 2,
                                        .chunks = 1,
                                        .zero = 3,
                                        .recompute = LL_RECOMPUTE_FULL,
                                        .overlap = true,
                                        .offload = {true, true, true}};

/* What makes a program of it; trouble is told in either way. */
typedef struct ll_trace *change(struct ll_diags *diags, const char **trouble);

static struct ll_trace *shard(struct ll_diags *diags, const char **trouble)
{
    (void)trouble;
    return ll_shard(whole, &plan, diags);
}

static struct ll_trace *share_context(struct ll_diags *diags, const char **trouble)
{
    (void)trouble;
    return ll_share_context(whole, &plan, diags);
}

static struct ll_trace *spread_experts(struct ll_diags *diags, const char **trouble)
{
    (void)trouble;
    return ll_spread_experts(whole, &plan, diags);
}

static struct ll_trace *recompute(struct ll_diags *diags, const char **trouble)
{
    (void)diags;
    return ll_recompute(whole, plan.recompute, trouble);
}

static struct ll_trace *partition(struct ll_diags *diags, const char **trouble)
{
    (void)diags;
    return ll_pipeline_partition(
        whole, &(struct ll_pipeline_partition){.stages = 2, .chunks = 1, .vstage = 1, .distance = 1},
        trouble);
}

static struct ll_trace *exchange(struct ll_diags *diags, const char **trouble)
{
    (void)diags;
    return ll_exchange_gradients(whole, &plan, trouble);
}

static struct ll_trace *offload(struct ll_diags *diags, const char **trouble)
{
    (void)diags;
    return ll_offload(whole, &plan, trouble);
}

static change *at_work;

static bool make_program(void)
{
    struct ll_diags diags = {0};
    const char *trouble = NULL;
    struct ll_trace *program = at_work(&diags, &trouble);
    if (!program)
        assert_non_null(strstr(trouble ? trouble : diags.kept[0].message, "memory ran out"));
    bool enough = program && diags.count == 0;
    ll_trace_free(program);
    ll_diags_release(&diags);
    return enough;
}

static bool find_fullest(void)
{
    struct ll_footprint footprint;
    return ll_fullest_rank(whole, 2, &footprint);
}

static void a_program_without_memory_is_refused(void **state)
{
    (void)state;
    static const struct ll_setting mixture[] = {{"layers", "2"},      {"hidden", "16"},     {"heads", "4"},
                                                {"kv_heads", "4"},    {"ffn_hidden", "16"}, {"seq", "8"},
                                                {"vocabulary", "48"}, {"experts", "2"},     {"top_k", "2"}};
    static change *const changes[] = {shard,     share_context, spread_experts, recompute,
                                      partition, exchange,      offload};
    allowed = 1000000;
    whole = dry_model("moe", true, 4, mixture, sizeof mixture / sizeof *mixture);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        at_work = changes[i];
        starve(make_program);
    }
    starve(find_fullest);
    ll_trace_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First, for it records a workload, which stops once memory has run out anywhere. */
        cmocka_unit_test(a_program_without_memory_is_refused),
        cmocka_unit_test(an_arena_without_memory_says_so_each_time),
        cmocka_unit_test(a_text_without_memory_stays_what_it_was),
        cmocka_unit_test(a_map_without_memory_keeps_what_it_has),
        cmocka_unit_test(a_complaint_without_memory_is_still_counted),
        cmocka_unit_test(a_pool_is_made_whole_or_not_at_all),
        cmocka_unit_test(a_network_without_memory_has_trouble),
        cmocka_unit_test(a_recorder_without_memory_stops_and_says_so),
        cmocka_unit_test(a_machine_without_memory_is_refused_or_whole),
        cmocka_unit_test(a_reader_without_memory_gives_up_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
