/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/choices.h"

#include <stdlib.h>
#include <string.h>

const struct ll_format *ll_find_format(const char *name, bool read)
{
    enum { MOST = 64 };
    const char *names[MOST];
    size_t count = 0;
    for (const struct ll_format *format = ll_formats; format->name && count < MOST; format++) {
        if (read ? !format->import : !format->export)
            continue;
        if (strcmp(format->name, name) == 0)
            return format;
        names[count++] = format->name;
    }
    ll_unknown(read ? "format to import" : "format to export", name, names, count,
               read ? "leadline import --help" : "leadline export --help");
    return NULL;
}

bool ll_read_choices(const struct ll_args *args, struct ll_choice **choices, uint64_t *count)
{
    const char *given, *batch = ll_value(args, "batch", NULL);
    *choices = ll_alloc(args->arena, args->given_count + 1, sizeof **choices);
    for (*count = 0; *choices && (given = ll_value_at(args, "param", *count)); ++*count) {
        const char *equals = strchr(given, '=');
        if (!equals || equals == given) {
            ll_wrong("-p %s: expected key=value", given);
            return false;
        }
        (*choices)[*count] = (struct ll_choice){
            .key = ll_copy_text(args->arena, given, (size_t)(equals - given)), .value = equals + 1};
    }
    if (*choices && batch)
        (*choices)[(*count)++] = (struct ll_choice){.key = "batch", .value = batch};
    return *choices != NULL;
}

int ll_run_export(const struct ll_format *format, struct ll_export *export, const char *path)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    export->diags = diags;
    if (!diags)
        return ll_failed("memory ran out");
    bool done = ll_export_run(format->export, export);
    ll_print_diags(diags);
    int status = done ? LL_DONE : LL_WRONG;
    if (!done && export->status != LL_OK)
        status = ll_failed("%s: %s", path, ll_status_text(export->status));
    ll_diags_release(diags);
    free(diags);
    return status;
}
