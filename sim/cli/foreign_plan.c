/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "sim/cli/foreign_plan.h"

#include "sim/cli/paths.h"
#include "tracer/interpose/routines.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool read_mechanism(const struct ll_args *args, struct ll_foreign_plan *plan)
{
    const char *names[LL_MECHANISM_COUNT], *given = ll_value(args, "mech", NULL);
    for (enum ll_mechanism i = 0; i < LL_MECHANISM_COUNT; i++)
        names[i] = ll_mechanism_name(i);
    if (!given || ll_mechanism_find(given, &plan->mechanism))
        return true;
    ll_unknown("mechanism", given, names, LL_MECHANISM_COUNT, "leadline record --help");
    return false;
}

/* The routines whose calls are ops. From outside, what a oneDNN primitive does cannot be read. */
static size_t choose_names(const char **names, bool is_static)
{
    size_t count = 0;
    for (uint32_t i = 0; i < LL_SYMBOL_COUNT; i++) {
        const struct ll_symbol_row *row = ll_symbol_row(i);
        bool primitive = row->routine == LL_ROUTINE_DNN_PRIMITIVE;
        if (!primitive || (!is_static && i == LL_SYMBOL_dnnl_primitive_execute))
            names[count++] = row->name;
    }
    return count;
}

static enum ll_status read_coverage(struct ll_arena *arena, const char *program, struct ll_foreign_plan *plan)
{
    const struct ll_file_search search = {getenv("PATH"), getenv("LD_LIBRARY_PATH"), getenv("LD_PRELOAD")};
    const char **names = ll_alloc(arena, LL_SYMBOL_COUNT, sizeof *names);
    enum ll_status status = names ? ll_closure_read(arena, program, &search, &plan->closure) : LL_NO_MEMORY;
    if (status != LL_OK) {
        plan->closure.count = 0;
        return status;
    }
    size_t count = choose_names(names, !plan->closure.binaries[0].elf->dynamic);
    status = ll_coverage_find(arena, &plan->closure, names, count, &plan->coverage);
    if (status == LL_OK)
        plan->mechanism = plan->coverage.mechanism;
    return status;
}

int ll_show_coverage(const struct ll_args *args)
{
    struct ll_foreign_plan plan = {0};
    struct ll_str out = {0};
    enum ll_status status = read_coverage(args->arena, args->words[0], &plan);
    if (status != LL_OK)
        return status == LL_NO_FILE ? ll_wrong("%s: %s", args->words[0], ll_status_text(status))
                                    : ll_failed("%s: %s", args->words[0], ll_status_text(status));
    if (!read_mechanism(args, &plan))
        return LL_WRONG;
    if (ll_flag(args, "json")) {
        struct ll_json json = {.out = &out, .indent = true};
        ll_coverage_json(&json, &plan.coverage, plan.mechanism);
    } else {
        ll_coverage_text(&out, &plan.coverage, plan.mechanism);
    }
    return ll_print(&out);
}

/* The program that sets breakpoints is asked itself: it knows whether they are permitted. */
static bool may_probe(struct ll_arena *arena)
{
    const char *library = ll_preload_library(arena), *slash = library ? strrchr(library, '/') : NULL;
    char *probe = slash ? ll_format(arena, "%.*s/leadline-probe", (int)(slash - library), library) : NULL;
    int status;
    pid_t pid;
    if (!probe || posix_spawn(&pid, probe, NULL, NULL, (char *[]){probe, NULL}, environ) != 0)
        return false;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int ll_plan_foreign(const struct ll_args *args, struct ll_foreign_plan *plan)
{
    const char *program = args->words[0];
    *plan = (struct ll_foreign_plan){0};
    enum ll_status status = read_coverage(args->arena, program, plan);
    if (status == LL_NO_MEMORY)
        return ll_failed("%s", ll_status_text(status));
    if (!read_mechanism(args, plan))
        return LL_WRONG;
    const struct ll_coverage *coverage = &plan->coverage;
    if (plan->closure.count > 0 && plan->mechanism == LL_MECHANISM_PROBE && !may_probe(args->arena))
        return ll_failed("%s%s: breakpoints are not permitted here (ptrace)", program,
                         coverage->is_static ? " is static, and nothing can be loaded into it" : "");
    if (plan->closure.count == 0 || !coverage->is_static)
        return LL_DONE;
    if (plan->mechanism != LL_MECHANISM_PROBE)
        return ll_failed("%s is static: nothing can be loaded into it, only --mech=probe sees its calls",
                         program);
    if (!coverage->possible)
        return ll_failed("%s is static and %s; link it dynamically%s", program,
                         coverage->stripped ? "has no symbols: nothing tells where its routines begin"
                                            : "holds none of the routines that are recorded",
                         coverage->stripped ? ", or do not strip it" : "");
    return LL_DONE;
}

void ll_tell_plan(const struct ll_foreign_plan *plan)
{
    const struct ll_coverage *coverage = &plan->coverage;
    if (plan->closure.count == 0 || coverage->route_count == 0)
        return;
    size_t seen = ll_coverage_seen(coverage, plan->mechanism);
    if (plan->mechanism == LL_MECHANISM_PRELOAD && seen == coverage->route_count)
        return;
    fprintf(stderr, "leadline: mechanism %s sees %zu of %zu ways to a routine (--coverage tells them)\n",
            ll_mechanism_name(plan->mechanism), seen, coverage->route_count);
}
