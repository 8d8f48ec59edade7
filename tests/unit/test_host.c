/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/record/host.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ll_arena arena;

static const char *find(const struct ll_facts *facts, const char *key)
{
    for (uint64_t i = 0; i < facts->count; i++)
        if (strcmp(facts->items[i].key, key) == 0)
            return facts->items[i].value;
    return NULL;
}

static uint64_t number(const struct ll_facts *facts, const char *key)
{
    const char *text = find(facts, key);
    return text ? strtoull(text, NULL, 10) : 0;
}

static void a_list_of_facts_grows_and_keeps_its_order(void **state)
{
    (void)state;
    struct ll_facts facts = {.arena = &arena};
    for (int i = 0; i < 100; i++)
        ll_facts_add(&facts, "key", "%d", i);
    assert_false(facts.failed);
    assert_int_equal(facts.count, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(strtol(facts.items[i].value, NULL, 10), i);
}

static void the_host_agrees_with_the_c_library(void **state)
{
    (void)state;
    struct ll_facts facts = {.arena = &arena};
    ll_host_facts("", &facts);
    assert_false(facts.failed);
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_near((double)number(&facts, "host.memory_bytes"), (double)memory, 0.01);
    assert_in_range(number(&facts, "host.cpus"), 1, (uint64_t)sysconf(_SC_NPROCESSORS_CONF));
    assert_string_equal(find(&facts, "leadline"), LL_VERSION);
    assert_in_range(number(&facts, "clock.resolution_ns"), 1, 10000000);
    if (number(&facts, "host.cache.l2")) /* some virtual machines say nothing of caches */
        assert_true(number(&facts, "host.cache.l1d") <= number(&facts, "host.cache.l2"));
}

static void put(const char *path, const char *words)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(words, file);
    fclose(file);
}

/* Two packages of two cores, each with two threads, and memory at both packages. */
static void cores_and_nodes_are_counted_as_the_kernel_shows_them(void **state)
{
    (void)state;
    char root[] = "/tmp/leadline-test-XXXXXX", path[100], command[200];
    assert_non_null(mkdtemp(root));
    assert_int_equal(chdir(root), 0);
    assert_int_equal(system("mkdir -p proc sys/devices/system/node/node0 sys/devices/system/node/power "
                            "sys/devices/system/cpu/cpufreq sys/devices/system/cpu/cpu0/cache/index0"),
                     0);
    put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\n");
    put("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n");
    put("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n");
    put("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n");
    for (int cpu = 0; cpu < 8; cpu++) {
        snprintf(command, sizeof command, "mkdir -p sys/devices/system/cpu/cpu%d/topology", cpu);
        assert_int_equal(system(command), 0);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
        snprintf(command, sizeof command, "%d,%d\n", cpu % 4, cpu % 4 + 4);
        put(path, command);
    }
    for (uint64_t nodes = 1; nodes <= 2; nodes++) {
        struct ll_facts facts = {.arena = &arena};
        ll_host_facts(root, &facts);
        assert_int_equal(number(&facts, "host.memory_nodes"), nodes == 1 ? 0 : 2);
        assert_int_equal(number(&facts, "host.cores"), 4);
        assert_int_equal(number(&facts, "host.cache.l1d"), 48 << 10);
        assert_string_equal(find(&facts, "host.cpu"), "Some CPU");
        assert_int_equal(system("mkdir -p sys/devices/system/node/node1"), 0);
    }
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

/* A machine of files, as version 1 and version 2 of control groups show it. */
static void the_least_limit_of_control_groups_counts(void **state)
{
    (void)state;
    char root[] = "/tmp/leadline-test-XXXXXX", command[200];
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_non_null(mkdtemp(root));
    assert_int_equal(ll_host_memory_bytes(root), machine);
    assert_int_equal(chdir(root), 0);
    assert_int_equal(system("mkdir -p proc/self sys/fs/cgroup/memory/box sys/fs/cgroup/slice/job"), 0);
    put("proc/self/cgroup", "4:memory:/box\n3:cpuset:/\n0::/slice/job\n");
    put("sys/fs/cgroup/slice/job/memory.max", "max\n");
    assert_int_equal(ll_host_memory_bytes(root), machine);
    put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(ll_host_memory_bytes(root), machine);
    put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "300000\n");
    assert_int_equal(ll_host_memory_bytes(root), 300000);
    put("sys/fs/cgroup/slice/job/memory.max", "250000\n");
    assert_int_equal(ll_host_memory_bytes(root), 250000);
    put("sys/fs/cgroup/slice/memory.max", "200000\n");
    assert_int_equal(ll_host_memory_bytes(root), 200000);
    put("sys/fs/cgroup/memory.max", "100000\n");
    assert_int_equal(ll_host_memory_bytes(root), 100000);
    put("proc/self/cgroup", "0::/unseen/from/here\n");
    assert_int_equal(ll_host_memory_bytes(root), 100000);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_facts_grows_and_keeps_its_order),
        cmocka_unit_test(the_host_agrees_with_the_c_library),
        cmocka_unit_test(cores_and_nodes_are_counted_as_the_kernel_shows_them),
        cmocka_unit_test(the_least_limit_of_control_groups_counts),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ll_arena_release(&arena);
    return failed;
}
