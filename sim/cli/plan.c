/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/plan.h"

#include "tracer/base/file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 }; /* of a plan's file */

static bool read_file(const struct ll_args *args, const char *path, struct ll_parallel *plan,
                      struct ll_diags *diags)
{
    struct ll_contents text = {0};
    enum ll_status status = ll_read_whole(path, MOST_BYTES, args->arena, &text);
    if (status != LL_OK)
        return ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    return ll_plan_parse(plan, (const char *)text.bytes, text.length, path, diags);
}

static bool is_given(const struct ll_args *args, const struct ll_plan_key *key)
{
    return key->value ? ll_value(args, key->option, NULL) != NULL : ll_flag(args, key->option);
}

/* A flag turns round what is without it. */
static bool read_option(const struct ll_args *args, const struct ll_plan_key *key, struct ll_parallel *plan,
                        struct ll_diags *diags)
{
    bool turns_on = strncmp(key->option, "no-", 3) != 0;
    const char *text = key->value ? ll_value(args, key->option, NULL) : turns_on ? "true" : "false";
    const char *option = ll_format(args->arena, "--%s", key->option);
    return ll_plan_set(plan, key->key, text, (struct ll_place){.file = option}, diags);
}

bool ll_read_plan(const struct ll_args *args, struct ll_parallel *plan, bool *given)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    const char *path = ll_value(args, "plan", NULL);
    if (!diags)
        return ll_failed("memory ran out") == LL_DONE;
    *plan = ll_plan_of_one();
    *given = path != NULL;
    bool right = !path || read_file(args, path, plan, diags);
    for (size_t i = 0; i < ll_plan_key_count(); i++) {
        struct ll_plan_key key = ll_plan_key_at(i);
        if (!is_given(args, &key))
            continue;
        *given |= strcmp(key.key, "batch") != 0; /* which by itself is no plan */
        right = read_option(args, &key, plan, diags) && right;
    }
    ll_print_diags(diags);
    ll_diags_release(diags);
    free(diags);
    return right;
}
