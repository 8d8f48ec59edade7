/* SPDX-License-Identifier: Apache-2.0 */
/* Caches and cores come from hwloc, which knows many machines, and from the kernel's own files where hwloc
 * has nothing. Memory comes from the kernel: hwloc's figure wavers inside virtual machines. */
#define _GNU_SOURCE
#include "tracer/host.h"

#include "tracer/base/clock.h"
#include "tracer/base/num.h"
#include "tracer/base/pool.h"

#include <hwloc.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The value of a line "key<blanks>: value" of a small text file of the kernel, without its newline; false
 * when there is none. */
static bool find_line(const char *path, const char *key, char *value, size_t size)
{
    FILE *file = fopen(path, "re");
    char line[512];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        size_t length = strlen(key);
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, length) != 0 || !colon ||
            strspn(line + length, " \t") != (size_t)(colon - line) - length)
            continue;
        const char *begin = colon + 1 + strspn(colon + 1, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(begin, "\n"), begin);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

/* The number in a small file of the kernel; UINT64_MAX where there is none, or a word as "max". */
static uint64_t read_limit(const char *path)
{
    FILE *file = fopen(path, "re");
    uint64_t limit;
    if (!file || fscanf(file, "%" SCNu64, &limit) != 1)
        limit = UINT64_MAX;
    if (file)
        fclose(file);
    return limit;
}

/* The least limit of a group and those that it is in, as far as they can be seen from inside a container. */
static uint64_t limit_of_group(const char *root, const char *folder, const char *group, const char *name)
{
    char path[1024];
    uint64_t least = UINT64_MAX;
    for (size_t length = strlen(group);; length--) {
        bool whole = length == 0 || group[length] == '\0' || group[length] == '/';
        if (whole && snprintf(path, sizeof path, "%s%s%.*s/%s", root, folder, (int)length, group, name) <
                         (int)sizeof path)
            least = ll_min(least, read_limit(path));
        if (length == 0)
            return least;
    }
}

/* Lines of /proc/self/cgroup are "number:controllers:group"; of version 2 there are no controllers. */
static uint64_t limit_of_line(const char *root, char *line)
{
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return UINT64_MAX;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (!controllers[1])
        return limit_of_group(root, "/sys/fs/cgroup", group, "memory.max");
    if (strcmp(controllers + 1, "memory") == 0)
        return limit_of_group(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    return UINT64_MAX;
}

uint64_t ll_host_memory_bytes(const char *root)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t least = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
    char line[1024];
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    while (file && fgets(line, sizeof line, file))
        least = ll_min(least, limit_of_line(root, line));
    if (file)
        fclose(file);
    return least;
}

static void add_memory(struct ll_facts *facts)
{
    char value[64];
    if (find_line("/proc/meminfo", "MemTotal", value, sizeof value)) /* "24663064 kB" */
        ll_facts_add(facts, "host.memory_bytes", "%llu", strtoull(value, NULL, 10) * 1024);
}

/* "model name" is x86's word; elsewhere hwloc may know. */
static void add_cpu(struct ll_facts *facts, hwloc_topology_t topology)
{
    char value[256];
    if (find_line("/proc/cpuinfo", "model name", value, sizeof value)) {
        ll_facts_add(facts, "host.cpu", "%s", value);
        return;
    }
    hwloc_obj_t package = topology ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0) : NULL;
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    if (model)
        ll_facts_add(facts, "host.cpu", "%s", model);
}

static void add_cores(struct ll_facts *facts, hwloc_topology_t topology)
{
    int cores = topology ? hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) : 0;
    if (cores > 0)
        ll_facts_add(facts, "host.cores", "%d", cores);
    ll_facts_add(facts, "host.cpus", "%u", ll_pool_usable_cpus());
}

/* Of a machine with its memory in one piece nothing is said. */
static void add_nodes(struct ll_facts *facts, hwloc_topology_t topology)
{
    int nodes = topology ? hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) : 0;
    if (nodes > 1)
        ll_facts_add(facts, "host.memory_nodes", "%d", nodes);
}

static const struct cache {
    const char *key;
    hwloc_obj_type_t type;
    long level;
    const char *kernel_type;
} caches[] = {
    {"host.cache.l1d", HWLOC_OBJ_L1CACHE, 1, "Data"},
    {"host.cache.l1i", HWLOC_OBJ_L1ICACHE, 1, "Instruction"},
    {"host.cache.l2", HWLOC_OBJ_L2CACHE, 2, "Unified"},
    {"host.cache.l3", HWLOC_OBJ_L3CACHE, 3, "Unified"},
};

static bool read_word(int index, const char *name, char *word, size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *file = fopen(path, "re");
    bool got = file && fgets(word, (int)size, file);
    if (file)
        fclose(file);
    if (got)
        word[strcspn(word, "\n")] = '\0';
    return got;
}

/* What the kernel says of the first CPU; sizes read as "48K". */
static uint64_t kernel_cache_bytes(const struct cache *cache)
{
    char level[16], type[32], size[32];
    for (int i = 0; read_word(i, "level", level, sizeof level); i++) {
        if (strtol(level, NULL, 10) == cache->level && read_word(i, "type", type, sizeof type) &&
            strcmp(type, cache->kernel_type) == 0 && read_word(i, "size", size, sizeof size)) {
            char *unit;
            uint64_t number = strtoull(size, &unit, 10);
            return *unit == 'K' ? number << 10 : *unit == 'M' ? number << 20 : number;
        }
    }
    return 0;
}

static void add_caches(struct ll_facts *facts, hwloc_topology_t topology)
{
    for (size_t i = 0; i < sizeof caches / sizeof caches[0]; i++) {
        hwloc_obj_t found = topology ? hwloc_get_obj_by_type(topology, caches[i].type, 0) : NULL;
        uint64_t bytes = found ? found->attr->cache.size : 0;
        if (bytes == 0)
            bytes = kernel_cache_bytes(&caches[i]);
        if (bytes > 0)
            ll_facts_add(facts, caches[i].key, "%" PRIu64, bytes);
    }
}

/* Cores, packages and caches only; NULL when hwloc finds nothing. */
static hwloc_topology_t load_topology(void)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return NULL;
    bool loaded = hwloc_topology_set_icache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
                  hwloc_topology_load(topology) == 0;
    if (loaded)
        return topology;
    hwloc_topology_destroy(topology);
    return NULL;
}

void ll_host_facts(struct ll_facts *facts)
{
    hwloc_topology_t topology = load_topology();
    ll_facts_add(facts, "leadline", "%s", LL_VERSION);
    add_cpu(facts, topology);
    add_cores(facts, topology);
    add_memory(facts);
    add_nodes(facts, topology);
    add_caches(facts, topology);
    ll_facts_add(facts, "clock.resolution_ns", "%" PRIu64, ll_clock_resolution_ns());
    if (topology)
        hwloc_topology_destroy(topology);
}

static void add_share(struct ll_facts *facts, const char *key, double share)
{
    if (share > 0)
        ll_facts_add(facts, key, "%.3f", share);
}

void ll_pool_facts(const struct ll_pool *pool, struct ll_facts *facts)
{
    double trip_s = ll_pool_round_trip_s(pool), clock_hz = ll_pool_clock_hz(pool);
    if (clock_hz > 0)
        ll_facts_add(facts, "host.clock_hz", "%.0f", clock_hz);
    if (trip_s > 0)
        ll_facts_add(facts, "host.round_trip_ns", "%.0f", trip_s * 1e9);
    add_share(facts, "host.apart", ll_pool_apart_share(pool));
    add_share(facts, "host.crowded", ll_pool_crowded_share(pool));
}
