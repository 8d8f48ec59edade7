/* SPDX-License-Identifier: Apache-2.0 */
/* leadline merge: joins the databases of a sweep's shards. */
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/command.h"
#include "sim/cli/interrupt.h"
#include "sim/explore/store.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"

#include <stdio.h>

static int tell(const struct ll_args *args, const char *output, uint64_t points)
{
    struct ll_str out = {0};
    struct ll_human count;
    const char *missing = ll_store_missing(output, args->arena);
    if (missing)
        fprintf(stderr, "%s: %s\n", output, missing);
    if (ll_flag(args, "json")) {
        struct ll_json json = {.out = &out, .indent = true};
        ll_json_open_object(&json);
        ll_json_put_text(&json, "database", output);
        ll_json_put_count(&json, "files", args->word_count);
        ll_json_put_count(&json, "points", points);
        ll_json_put_text(&json, "missing", missing);
        ll_json_close_object(&json);
    } else
        ll_str_addf(&out, "%s points of %zu files -> %s\n", ll_grouped(&count, points), args->word_count,
                    output);
    return ll_print(&out);
}

static int run(const struct ll_args *args)
{
    const char *output = ll_value(args, "output", NULL);
    struct ll_diags diags = {0};
    uint64_t points;
    if (!output)
        return ll_wrong("no file to write; name one with -o");
    const volatile sig_atomic_t *interrupted = ll_catch_interrupts();
    bool merged = ll_store_merge(output, args->words, args->word_count, interrupted, &points, &diags);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    if (merged)
        return tell(args, output, points);
    return *interrupted ? LL_INTERRUPTED : LL_WRONG;
}

static const struct ll_option options[] = {
    {"output", 'o', "R.db", "the database to write; it must not exist yet"},
    {0},
};

const struct ll_command ll_command_merge = {
    .name = "merge",
    .synopsis = "R.1of8.db R.2of8.db... -o R.db",
    .summary = "join the databases of a sweep's shards",
    .examples = "  leadline merge arrays.?of8.db -o arrays.db\n"
                "  leadline merge monday.db tuesday.db -o both.db --json\n",
    .options = options,
    .writes = (const char *const[]){"output", NULL},
    .least_words = 1,
    .most_words = 10000,
    .run = run,
};
