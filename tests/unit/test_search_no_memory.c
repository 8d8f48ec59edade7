/* SPDX-License-Identifier: Apache-2.0 */
/* A search that lacks memory says nothing of plans, rather than leaving out those that it could not see. */
#include "check.h"

#include "dry_model.h"
#include "scene.h"
#include "sim/parallel/parallel.h"
#include "starve.h"

static const char two[] =
    "name: two\nclock: 1GHz\nunits: [{name: simd, model: vector, lanes: 4, flops: {f32: 2, i32: 2}}]\n"
    "memory: [{name: dram, size: 1GiB, bandwidth: 1GB/s}]\n"
    "network: [{name: link, topology: switch, devices: 2, bandwidth: 1GB/s, latency: 1us}]\n";

/* With so many allocations granted; whether they were enough. The plans that were found, or 0. */
static bool search(struct scene *scene, int granted, uint64_t *found_count)
{
    const struct ll_plan_search wanted = {.devices = 2, .batch = 2, .simulated = 1};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    allowed = granted;
    const struct ll_search_result *result =
        ll_search_plans(scene->trace, scene->machine, &wanted, &arena, &diags);
    bool enough = allowed >= 0;
    allowed = 1 << 30;
    *found_count = result ? result->found_count : 0;
    assert_int_equal(diags.count, 0);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    return enough;
}

static void a_search_without_memory_finds_all_or_nothing(void **state)
{
    const struct ll_setting sizes[] = {
        {"layers", "5"}, {"hidden", "8"}, {"heads", "2"}, {"vocabulary", "100"}, {"seq", "4"}};
    (void)state;
    struct scene scene = open_scene(dry_model("gpt", true, 2, sizes, 5), two);
    uint64_t all, found;
    bool enough = search(&scene, 1 << 29, &all);
    assert_true(enough && all > 0);
    enough = false;
    for (int granted = 0; !enough; granted += 1 + granted / 16) {
        enough = search(&scene, granted, &found);
        if (enough ? found != all : found != 0 && found != all)
            fail_msg("%d allocations: %d plans of %d", granted, (int)found, (int)all);
    }
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_without_memory_finds_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
