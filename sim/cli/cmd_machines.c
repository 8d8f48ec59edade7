/* SPDX-License-Identifier: Apache-2.0 */
/* leadline machines [NAME]: the machines at hand; one of them, checked and resolved. */
#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/cli/paths.h"
#include "sim/machine/machine.h"
#include "sim/report/table.h"

#include <math.h>

/* A rate, or a dash where no unit computes such a type. */
static const char *rate(struct ll_human *human, double flops)
{
    return flops > 0 ? ll_si(human, flops, "FLOP/s") : "-";
}

static void machine_row(const struct ll_machine *machine, struct ll_table *table)
{
    struct ll_human f32, f16, int8, bandwidth, size;
    double half = fmax(ll_machine_peak_flops(machine, LL_F16), ll_machine_peak_flops(machine, LL_BF16));
    half = fmax(half, ll_machine_peak_flops(machine, LL_I16));
    ll_table_row(
        table, "%s|%s|%s|%s|%s|%s|%s", machine->stem, rate(&f32, ll_machine_peak_flops(machine, LL_F32)),
        rate(&f16, half), rate(&int8, ll_machine_peak_flops(machine, LL_INT8)),
        ll_si(&bandwidth, ll_machine_memory_Bps(machine), "B/s"),
        ll_binary(&size, (double)machine->levels[machine->level_count - 1].size_bytes), machine->name);
}

/* With the name by which it is found, which its file does not say. */
static void machine_object(const struct ll_machine *machine, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "machine", machine->stem);
    ll_machine_json_keys(machine, json);
    ll_json_close_object(json);
}

static int list(const struct ll_args *args, const char *const *folders)
{
    const char **stems;
    size_t count;
    if (!ll_machine_list(folders, args->arena, &stems, &count))
        return ll_failed("memory ran out");
    if (count == 0)
        return ll_no_machines(folders);
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    struct ll_table *table = ll_table_new("machine|>peak f32|>16-bit|>?8-bit|>memory|>?size|name");
    bool as_json = ll_flag(args, "json");
    int status = LL_DONE;
    if (as_json) {
        ll_json_open_object(&json);
        ll_json_key(&json, "machines");
        ll_json_open_list(&json);
    }
    for (size_t i = 0; i < count; i++) {
        struct ll_machine *machine = ll_load_machine(stems[i], folders, NULL, 0);
        if (!machine)
            status = LL_WRONG;
        else if (as_json)
            machine_object(machine, &json);
        else
            machine_row(machine, table);
        ll_machine_free(machine);
    }
    if (as_json) {
        ll_json_close_list(&json);
        ll_json_close_object(&json);
    } else {
        ll_table_print(table, ll_screen_width(), &out);
    }
    ll_table_free(table);
    int printed = ll_print(&out);
    return status == LL_DONE ? printed : status;
}

/* What one looks for first, as a comment before the file: each type that something computes. */
static void verdict(const struct ll_machine *machine, struct ll_str *out)
{
    const struct ll_level *memory = &machine->levels[machine->level_count - 1];
    double bandwidth = ll_machine_memory_Bps(machine);
    struct ll_human rate_text, bandwidth_text;
    ll_str_addf(out, "# no mistakes; %s sustains %s", memory->name, ll_si(&bandwidth_text, bandwidth, "B/s"));
    for (int d = 0; d < LL_DTYPE_COUNT; d++) {
        double peak = ll_machine_peak_flops(machine, (enum ll_dtype)d);
        if (peak > 0)
            ll_str_addf(out, "\n#   %-5s %s at most, ridge at %.3g FLOP/B", ll_dtype_name((enum ll_dtype)d),
                        ll_si(&rate_text, peak, "FLOP/s"), peak / bandwidth);
    }
    ll_str_add(out, "\n\n");
}

static int show(const struct ll_args *args, const char *const *folders)
{
    size_t override_count;
    const struct ll_override *overrides = ll_read_overrides(args, &override_count);
    struct ll_machine *machine =
        overrides ? ll_load_machine(args->words[0], folders, overrides, override_count) : NULL;
    if (!machine)
        return LL_WRONG;
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    if (ll_flag(args, "json")) {
        ll_machine_json(machine, &json);
    } else {
        verdict(machine, &out);
        ll_machine_yaml(machine, &out);
    }
    ll_machine_free(machine);
    return ll_print(&out);
}

static int run(const struct ll_args *args)
{
    const char *const *folders = ll_machine_folders(args->arena);
    if (!folders)
        return ll_failed("memory ran out");
    if (ll_flag(args, "keys") && (ll_flag(args, "json") || ll_flag(args, "set") || args->word_count))
        return ll_wrong("--keys stands alone; it prints a page of text");
    if (ll_flag(args, "set") && !args->word_count)
        return ll_wrong(
            "--set changes one machine; name it, as in leadline machines custom_example --set ...");
    if (ll_flag(args, "keys")) {
        struct ll_str out = {0};
        ll_machine_reference(&out);
        return ll_print(&out);
    }
    return args->word_count ? show(args, folders) : list(args, folders);
}

static const struct ll_option options[] = {
    {"keys", 0, NULL, "print the key reference: every key with its unit, bounds and meaning"},
    {"set", 0, "PATH=VALUE", "change a value of the machine before it is shown"},
    {0},
};

const struct ll_command ll_command_machines = {
    .name = "machines",
    .synopsis = "[NAME | FILE]",
    .summary = "list the machines; check one and show it resolved",
    .examples = "  leadline machines\n  leadline machines mine.yaml\n"
                "  leadline machines custom_example --set units.array.rows=128\n",
    .options = options,
    .repeated = (const char *const[]){"set", NULL},
    .most_words = 1,
    .run = run,
};
