/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/changes.h"

#include "sim/cli/load.h"
#include "tracer/transform/scale.h"
#include "tracer/transform/dtype.h"

#include <inttypes.h>

/* The type that an option names; LL_DTYPE_COUNT without it. False after saying that there is no such type. */
static bool read_type(const struct ll_args *args, const char *option, enum ll_dtype *dtype)
{
    const char *names[LL_DTYPE_COUNT], *given = ll_value(args, option, NULL);
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++)
        names[i] = ll_dtype_name((enum ll_dtype)i);
    *dtype = given ? ll_dtype_find(given) : LL_DTYPE_COUNT;
    const char *meant = given && *dtype == LL_DTYPE_COUNT ? ll_dtype_meant(given) : NULL;
    if (meant)
        ll_wrong("there is no type of number `%s`; did you mean `%s`?", given, meant);
    else if (given && *dtype == LL_DTYPE_COUNT)
        ll_unknown("type of number", given, names, LL_DTYPE_COUNT, "leadline machines --keys");
    return !given || *dtype < LL_DTYPE_COUNT;
}

/* The same of --products-as, in which networks multiply. */
static bool read_product_type(const struct ll_args *args, enum ll_dtype *dtype)
{
    if (!read_type(args, "products-as", dtype))
        return false;
    if (*dtype == LL_DTYPE_COUNT || ll_dtype_is_multiplied(*dtype))
        return true;
    ll_wrong("--products-as %s: expected a floating-point type, as f8 or bf16, int8 or int4",
             ll_dtype_name(*dtype));
    return false;
}

static int retype(struct ll_trace *trace, enum ll_dtype dtype, const char *path)
{
    const char *trouble = NULL;
    if (dtype == LL_DTYPE_COUNT || ll_trace_retype(trace, dtype, &trouble))
        return LL_DONE;
    return trouble ? ll_wrong("%s as %s: %s", path, ll_dtype_name(dtype), trouble)
                   : ll_failed("memory ran out");
}

/* The pattern that --prune names; 0 of 0 without it. */
static bool read_pattern(const struct ll_args *args, struct ll_pattern *pattern)
{
    const char *given = ll_value(args, "prune", NULL);
    *pattern = (struct ll_pattern){0};
    if (!given || ll_sparsity_parse(given, pattern))
        return true;
    ll_wrong("--prune %s: expected %s", given, LL_SPARSITY_WANTED);
    return false;
}

static int prune(struct ll_trace *trace, const struct ll_pattern *pattern, const char *path)
{
    const char *trouble;
    char text[LL_PATTERN_TEXT];
    if (ll_prune_weights(trace, pattern, &trouble))
        return LL_DONE;
    ll_pattern_print(pattern, text);
    return trouble ? ll_wrong("%s: no weight can be pruned to %s: %s", path, text, trouble)
                   : ll_failed("memory ran out");
}

static int store(struct ll_trace *trace, enum ll_dtype dtype, const char *path)
{
    const char *trouble;
    if (ll_store_weights(trace, dtype, &trouble))
        return LL_DONE;
    return trouble ? ll_wrong("%s: no weight can be stored as %s: %s", path, ll_dtype_name(dtype), trouble)
                   : ll_failed("memory ran out");
}

/* The trace with its products of weights in this type, in the place of the one given. */
static int narrow_products(struct ll_trace **trace, enum ll_dtype dtype, const char *path)
{
    const char *trouble;
    return ll_narrow_products(trace, dtype, &trouble)
               ? LL_DONE
               : ll_wrong("%s: no product can be taken as %s: %s", path, ll_dtype_name(dtype), trouble);
}

/* The factor that --gaps names; 1 without it. */
static bool read_gaps(const struct ll_args *args, double *factor)
{
    const char *given = ll_value(args, "gaps", "keep");
    if (ll_gaps_parse(given, factor))
        return true;
    ll_wrong("--gaps %s: expected %s", given, LL_GAPS_WANTED);
    return false;
}

bool ll_read_changes(const struct ll_args *args, struct ll_changes *changes)
{
    return read_type(args, "as", &changes->dtype) && read_product_type(args, &changes->products) &&
           read_type(args, "weights-as", &changes->weights) && read_pattern(args, &changes->pattern) &&
           read_gaps(args, &changes->gaps);
}

int ll_change(struct ll_trace **trace, const struct ll_changes *changes, const char *path)
{
    int status = retype(*trace, changes->dtype, path);
    if (status == LL_DONE)
        status = prune(*trace, &changes->pattern, path);
    if (status == LL_DONE)
        status = narrow_products(trace, changes->products, path);
    if (status == LL_DONE)
        status = store(*trace, changes->weights, path);
    if (status == LL_DONE && !ll_gaps_scale(*trace, changes->gaps))
        status = ll_failed("memory ran out");
    return status;
}
