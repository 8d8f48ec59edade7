/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "tracer/binary/launch.h"

#include "tracer/base/file.h"
#include "tracer/interpose/ring.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NAME=FILE, and behind it what the variable holds already. */
static const char *ahead_of_others(struct ll_arena *arena, const char *name, const char *tools,
                                   const char *file)
{
    const char *before = getenv(name);
    bool has = before && *before;
    return ll_format(arena, "%s=%s/%s%s%s", name, tools, file, has ? ":" : "", has ? before : "");
}

/* The folder under a name that LD_PRELOAD and LD_AUDIT can hold: they end names at these characters, and
 * replace what begins with a dollar. Where its own is none, a link in the folder of rings leads there. */
static enum ll_status find_plain_name(struct ll_arena *arena, const char **tools, const char *rings)
{
    static const char special[] = " :;$";
    if (!strpbrk(*tools, special))
        return LL_OK;
    const char *link = ll_format(arena, "%s/tools", rings);
    if (!link)
        return LL_NO_MEMORY;
    if (strpbrk(link, special) || (symlink(*tools, link) != 0 && errno != EEXIST))
        return LL_CANNOT_WRITE;
    *tools = link;
    return LL_OK;
}

/* Routines that are linked in and hidden: where they begin, as libelf found it. */
static enum ll_status write_entries(struct ll_arena *arena, const struct ll_coverage *coverage,
                                    const char *rings)
{
    struct ll_str lines = {0};
    const char *path = ll_format(arena, "%s/" LL_ENTRIES_FILE, rings);
    for (size_t i = 0; i < coverage->route_count; i++) {
        const struct ll_symbol_route *route = &coverage->routes[i];
        const struct ll_binary *binary = &coverage->closure->binaries[route->binary];
        const char *name = coverage->names[route->symbol];
        if (route->reach != LL_REACH_HIDDEN)
            continue;
        const struct ll_elf_symbol *function = ll_elf_find_function(binary->elf, name);
        ll_str_addf(&lines, "%s %" PRIx64 " %" PRIu64 " %s\n", name, function->address, function->size_bytes,
                    binary->path);
    }
    enum ll_status status = !path || lines.failed ? LL_NO_MEMORY
                            : lines.length        ? ll_write_whole(path, &lines)
                                                  : LL_OK;
    ll_str_release(&lines);
    return status;
}

enum ll_status ll_launch_prepare(struct ll_arena *arena, const struct ll_coverage *coverage,
                                 enum ll_mechanism mechanism, const char *tools, const char *rings,
                                 struct ll_launch *launch)
{
    size_t count = 0;
    *launch = (struct ll_launch){0};
    launch->settings[count++] = ll_format(arena, LL_RING_FOLDER_VARIABLE "=%s", rings);
    if (mechanism == LL_MECHANISM_PROBE) {
        launch->prefix[0] = ll_format(arena, "%s/leadline-probe", tools);
        return launch->settings[0] && launch->prefix[0] ? LL_OK : LL_NO_MEMORY;
    }
    enum ll_status status = find_plain_name(arena, &tools, rings);
    if (status != LL_OK)
        return status;
    launch->settings[count++] = ahead_of_others(arena, "LD_PRELOAD", tools, "libleadline-preload.so");
    if (mechanism == LL_MECHANISM_AUDIT)
        launch->settings[count++] = ahead_of_others(arena, "LD_AUDIT", tools, "libleadline-audit.so");
    if (mechanism != LL_MECHANISM_PRELOAD)
        launch->settings[count++] =
            ll_format(arena, LL_MECHANISM_VARIABLE "=%s", ll_mechanism_name(mechanism));
    for (size_t i = 0; i < count; i++)
        if (!launch->settings[i])
            return LL_NO_MEMORY;
    return mechanism == LL_MECHANISM_ENTRY ? write_entries(arena, coverage, rings) : LL_OK;
}
