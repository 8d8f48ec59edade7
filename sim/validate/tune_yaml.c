/* SPDX-License-Identifier: Apache-2.0 */
/* Tuned numbers as a machine file: their paths, which come in the order of the schema, become nested maps. */
#include "sim/validate/tune.h"

#include <inttypes.h>
#include <string.h>

/* A text as YAML has it in double quotes. */
static void quote(const char *text, struct ll_str *out)
{
    ll_str_add(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            ll_str_add(out, "\\");
        ll_str_add_bytes(out, (unsigned char)*text < ' ' ? " " : text, 1);
    }
    ll_str_add(out, "\"");
}

static bool same_segment(const struct ll_tuned *a, const struct ll_tuned *b, size_t depth)
{
    return strcmp(a->number->segments[depth], b->number->segments[depth]) == 0;
}

/* The members of a map or list that tuned numbers first .. end - 1 share down to this depth. */
static void write_members(const struct ll_tuned *const *tuned, size_t first, size_t end, size_t depth,
                          struct ll_str *out)
{
    if (depth >= LL_MOST_SEGMENTS) /* never: the last segment is a leaf */
        return;
    bool items = tuned[first]->number->is_item[depth];
    ll_str_add(out, items ? "[" : "{");
    for (size_t i = first, next; i < end; i = next) {
        const struct ll_machine_number *number = tuned[i]->number;
        for (next = i + 1; next < end && same_segment(tuned[i], tuned[next], depth);)
            next++;
        ll_str_add(out, i > first ? ", " : "");
        if (items) {
            struct ll_str members = {0};
            write_members(tuned, i, next, depth + 1, &members);
            ll_str_addf(out, "{name: %s, %s", number->segments[depth], members.text ? members.text + 1 : "}");
            ll_str_release(&members);
        } else if (depth + 1 < number->segment_count) {
            ll_str_addf(out, "%s: ", number->segments[depth]);
            write_members(tuned, i, next, depth + 1, out);
        } else {
            ll_str_addf(out, "%s: %s", number->segments[depth],
                        ll_number_words(number, tuned[i]->after).text);
        }
    }
    ll_str_add(out, items ? "]" : "}");
}

/* Where the numbers come from: data, how many rows, what the fit is worth, and how certain each is. */
static void write_source(const struct ll_tuning *tuning, const struct ll_tuned *tuned, const char *data,
                         struct ll_str *out)
{
    struct ll_str text = {0};
    ll_str_addf(&text,
                "fitted on %s, %zu rows, cross-validated MAPE %.1f %% (%.1f %% before the fit); "
                "%s to %s over %zu folds",
                data, tuning->rows, 100 * tuning->held_out.mape, 100 * tuning->before.mape,
                ll_number_words(tuned->number, tuned->low).text,
                ll_number_words(tuned->number, tuned->high).text, tuning->folds);
    ll_str_addf(out, "  %s: ", tuned->number->path);
    quote(text.text ? text.text : "", out);
    ll_str_add(out, "\n");
    out->failed |= text.failed;
    ll_str_release(&text);
}

/* What measured rows may call it, so that they are its own where it stands without the one it inherits. */
static void write_aliases(const struct ll_machine *machine, struct ll_str *out)
{
    ll_str_add(out, "aliases: [");
    quote(machine->stem, out);
    ll_str_add(out, ", ");
    quote(machine->name, out);
    for (uint64_t i = 0; i < machine->alias_count; i++) {
        ll_str_add(out, ", ");
        quote(machine->aliases[i], out);
    }
    ll_str_add(out, "]\n");
}

void ll_tuning_yaml(const struct ll_tuning *tuning, const char *base, const char *name, const char *data,
                    struct ll_str *out)
{
    const struct ll_tuned *written[1024];
    size_t count = 0;
    for (size_t i = 0; i < tuning->count && count < sizeof written / sizeof *written; i++)
        if (tuning->tuned[i].after != tuning->tuned[i].before)
            written[count++] = &tuning->tuned[i];
    ll_str_add(out, "inherits: ");
    quote(base, out);
    ll_str_add(out, "\nname: ");
    quote(name, out);
    ll_str_add(out, "\n");
    write_aliases(tuning->machine, out);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && same_segment(written[i], written[next], 0);)
            next++;
        ll_str_addf(out, "%s: ", written[i]->number->segments[0]);
        write_members(written, i, next, 1, out);
        ll_str_add(out, "\n");
    }
    ll_str_add(out, count > 0 ? "sources:\n" : "");
    for (size_t i = 0; i < count; i++)
        write_source(tuning, written[i], data, out);
}
