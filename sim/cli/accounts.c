/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/accounts.h"

#include "sim/memory/footprint.h"
#include "sim/report/table.h"
#include "tracer/ir/profile.h"
#include "tracer/base/json.h"

#include <string.h>

int ll_read_accounting(const struct ll_args *args, bool *given)
{
    static const char *const ways[] = {"catamount"};
    const char *way = ll_value(args, "accounting", NULL);
    *given = way != NULL;
    if (way && strcmp(way, ways[0]) != 0)
        return ll_unknown("accounting", way, ways, 1, "leadline info --help");
    return LL_DONE;
}

struct line {
    const char *key, *name;
    uint64_t value;
};
enum { LINES = 6 };

static int print_json(const struct ll_trace *trace, const struct line *lines)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_object(&json);
    ll_json_put_text(&json, "accounting", "catamount");
    ll_json_put_text(&json, "model", ll_trace_fact(trace, "model"));
    for (size_t i = 0; i < LINES; i++)
        ll_json_put_count(&json, lines[i].key, lines[i].value);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static int print_text(const struct line *lines)
{
    struct ll_str out = {0};
    struct ll_table *table = ll_table_new("a step, as Catamount counts|>");
    for (size_t i = 0; i < LINES; i++) {
        struct ll_human number;
        ll_table_row(table, "%s|%s", lines[i].name, ll_grouped(&number, lines[i].value));
    }
    ll_table_print(table, ll_screen_width(), &out);
    ll_table_free(table);
    return ll_print(&out);
}

int ll_show_accounts(const struct ll_args *args, const struct ll_trace *trace)
{
    struct ll_accounts accounts;
    uint64_t minimal_bytes;
    if (!ll_catamount(trace, &accounts) || !ll_minimal_footprint(trace, &minimal_bytes))
        return ll_failed("memory ran out");
    const struct line lines[LINES] = {
        {"parameters", "parameters", accounts.parameters},
        {"flops", "FLOP", accounts.flops},
        {"bytes", "bytes read and written", accounts.bytes},
        {"footprint", "bytes of all that is made", accounts.footprint_bytes},
        {"min_footprint", "bytes that must fit at once", minimal_bytes},
        {"io", "bytes from the host", accounts.io_bytes},
    };
    for (size_t i = 0; i < LINES; i++)
        if (!ll_fits(lines[i].value))
            return ll_failed("%s: more than 64 bits hold", lines[i].name);
    return ll_flag(args, "json") ? print_json(trace, lines) : print_text(lines);
}
