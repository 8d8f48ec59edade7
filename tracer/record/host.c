/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the host that a trace's header holds: processor, cores, caches, memory, NUMA nodes, loaded
 * libraries. The values come from files in /proc and /sys; what is not found is left out. */
#define _GNU_SOURCE
#include "tracer/record/host.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/clock.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"
#include "tracer/base/pool.h"
#include "tracer/record/elf.h"

/* An arena frees nothing alone: the list doubles, and what it outgrew stays until the end. */
static bool make_room(struct ll_facts *facts)
{
    if (facts->count < facts->capacity)
        return true;
    uint64_t capacity = facts->capacity ? 2 * facts->capacity : 32;
    struct ll_fact *items = ll_alloc(facts->arena, capacity, sizeof *items);
    if (!items)
        return false;
    if (facts->count)
        memcpy(items, facts->items, facts->count * sizeof *items);
    facts->items = items;
    facts->capacity = capacity;
    return true;
}

static char *print(struct ll_arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = ll_vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : ll_alloc(arena, (size_t)length + 1, 1);
    if (text)
        ll_vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void ll_facts_add(struct ll_facts *facts, const char *key, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *kept_key = ll_copy_text(facts->arena, key, strlen(key));
    const char *value = print(facts->arena, format, arguments);
    va_end(arguments);
    if (facts->failed || !kept_key || !value || !make_room(facts)) {
        facts->failed = true;
        return;
    }
    facts->items[facts->count++] = (struct ll_fact){kept_key, value};
}

uint64_t ll_facts_number(const struct ll_facts *facts, const char *key)
{
    for (uint64_t i = 0; i < facts->count; i++)
        if (strcmp(facts->items[i].key, key) == 0)
            return strtoull(facts->items[i].value, NULL, 10);
    return 0;
}

/* What the loader has loaded into this process, as facts of a trace's header. */

/* Paths of what is loaded; copied, as the loader is locked while it lists them. */
struct loaded {
    struct ll_arena arena;
    const char *paths[1024];
    size_t count;
};

static int note_path(struct dl_phdr_info *info, size_t size, void *context)
{
    struct loaded *loaded = context;
    (void)size;
    if (loaded->count == sizeof loaded->paths / sizeof loaded->paths[0])
        return 1;
    const char *path = ll_copy_text(&loaded->arena, info->dlpi_name, strlen(info->dlpi_name));
    if (path && *path)
        loaded->paths[loaded->count++] = path;
    return 0;
}

void ll_library_facts(struct ll_facts *facts)
{
    struct loaded loaded = {0};
    const char *program = ll_elf_build_id(&loaded.arena, "/proc/self/exe");
    if (program)
        ll_facts_add(facts, "program.build_id", "%s", program);
    dl_iterate_phdr(note_path, &loaded);
    for (size_t i = 0; i < loaded.count; i++) {
        const char *slash = strrchr(loaded.paths[i], '/');
        const char *id = ll_elf_build_id(&loaded.arena, loaded.paths[i]);
        const char *key =
            id ? ll_format(&loaded.arena, "library.%s", slash ? slash + 1 : loaded.paths[i]) : NULL;
        if (key)
            ll_facts_add(facts, key, "%s", id);
    }
    ll_arena_release(&loaded.arena);
}

/* All of it stands in small text files of the kernel, below /proc and /sys. */

/* The value of a line "key<blanks>: value" of a small text file in root/proc, without its newline; false
 * when there is none. */
static bool find_line(const char *root, const char *name, const char *key, char *value, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/proc/%s", root, name);
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

/* The number that begins a small file of the kernel; UINT64_MAX where there is none, or a word as "max". */
static uint64_t read_number(const char *path)
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
            least = ll_min(least, read_number(path));
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

static void add_memory(const char *root, struct ll_facts *facts)
{
    char value[64];
    if (find_line(root, "meminfo", "MemTotal", value, sizeof value)) /* "24663064 kB" */
        ll_facts_add(facts, "host.memory_bytes", "%llu", strtoull(value, NULL, 10) * 1024);
}

/* "model name" is x86's word, the others are of MIPS, POWER and some ARM. */
static void add_cpu(const char *root, struct ll_facts *facts)
{
    static const char *const keys[] = {"model name", "cpu model", "cpu", "Hardware"};
    char value[256];
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (find_line(root, "cpuinfo", keys[i], value, sizeof value)) {
            ll_facts_add(facts, "host.cpu", "%s", value);
            return;
        }
}

/* How many folders of this name and a number are in sys/devices/system/FOLDER; with `own`, those alone whose
 * file `own` begins with their own number. */
static uint64_t count_numbered(const char *root, const char *folder, const char *name, const char *own)
{
    char path[512];
    snprintf(path, sizeof path, "%s/sys/devices/system/%s", root, folder);
    size_t length = strlen(path);
    DIR *listing = opendir(path);
    uint64_t count = 0;
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        char *number = entry->d_name + strlen(name), *end;
        if (strncmp(entry->d_name, name, strlen(name)) != 0 || !isdigit((unsigned char)*number))
            continue;
        uint64_t self = strtoull(number, &end, 10);
        snprintf(path + length, sizeof path - length, "/%s%" PRIu64 "/%s", name, self, own ? own : "");
        count += *end == '\0' && (!own || read_number(path) == self);
    }
    if (listing)
        closedir(listing);
    return count;
}

/* A core is counted as the first of the CPUs that share it. */
static void add_cores(const char *root, struct ll_facts *facts)
{
    uint64_t cores = count_numbered(root, "cpu", "cpu", "topology/thread_siblings_list");
    if (cores > 0)
        ll_facts_add(facts, "host.cores", "%" PRIu64, cores);
    ll_facts_add(facts, "host.cpus", "%u", ll_pool_usable_cpus());
}

/* Of a machine with its memory in one piece nothing is said. */
static void add_nodes(const char *root, struct ll_facts *facts)
{
    uint64_t nodes = count_numbered(root, "node", "node", NULL);
    if (nodes > 1)
        ll_facts_add(facts, "host.memory_nodes", "%" PRIu64, nodes);
}

static const struct cache {
    const char *key;
    long level;
    const char *kernel_type;
} caches[] = {
    {"host.cache.l1d", 1, "Data"},
    {"host.cache.l1i", 1, "Instruction"},
    {"host.cache.l2", 2, "Unified"},
    {"host.cache.l3", 3, "Unified"},
};

static bool read_word(const char *root, int index, const char *name, char *word, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu0/cache/index%d/%s", root, index, name);
    FILE *file = fopen(path, "re");
    bool got = file && fgets(word, (int)size, file);
    if (file)
        fclose(file);
    if (got)
        word[strcspn(word, "\n")] = '\0';
    return got;
}

/* What the kernel says of the first CPU; sizes read as "48K". */
static uint64_t kernel_cache_bytes(const char *root, const struct cache *cache)
{
    char level[16], type[32], size[32];
    for (int i = 0; read_word(root, i, "level", level, sizeof level); i++) {
        if (strtol(level, NULL, 10) == cache->level && read_word(root, i, "type", type, sizeof type) &&
            strcmp(type, cache->kernel_type) == 0 && read_word(root, i, "size", size, sizeof size)) {
            char *unit;
            uint64_t number = strtoull(size, &unit, 10);
            return *unit == 'K' ? number << 10 : *unit == 'M' ? number << 20 : number;
        }
    }
    return 0;
}

static void add_caches(const char *root, struct ll_facts *facts)
{
    for (size_t i = 0; i < sizeof caches / sizeof caches[0]; i++) {
        uint64_t bytes = kernel_cache_bytes(root, &caches[i]);
        if (bytes > 0)
            ll_facts_add(facts, caches[i].key, "%" PRIu64, bytes);
    }
}

void ll_host_facts(const char *root, struct ll_facts *facts)
{
    ll_facts_add(facts, "leadline", "%s", LL_VERSION);
    add_cpu(root, facts);
    add_cores(root, facts);
    add_memory(root, facts);
    add_nodes(root, facts);
    add_caches(root, facts);
    ll_facts_add(facts, "clock.resolution_ns", "%" PRIu64, ll_clock_resolution_ns());
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
