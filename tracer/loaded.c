/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader has loaded into this process, as facts of a trace's header. */
#define _GNU_SOURCE
#include "tracer/elf.h"

#include <link.h>
#include <string.h>

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
