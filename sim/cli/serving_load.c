/* SPDX-License-Identifier: Apache-2.0 */
/* The load of a server from options: requests of a file, or how they are made up. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/cli/serving.h"
#include "sim/machine/quantity.h"
#include "sim/report/table.h"
#include "sim/serve/request_file.h"
#include "tracer/base/num.h"

bool ll_serving_time(const struct ll_args *args, const char *name, double *time_s)
{
    const char *text = ll_value(args, name, NULL), *unit;
    struct ll_quantity quantity;
    *time_s = INFINITY;
    if (!text)
        return true;
    if (ll_quantity_parse(text, &quantity, &unit) != LL_QUANTITY_FINE ||
        quantity.dimension != LL_DIMENSION_TIME) {
        ll_cli_reject("--%s %s: expected a time with its unit, as 300ms", name, text);
        return false;
    }
    *time_s = quantity.value;
    return true;
}

bool ll_serving_number(const struct ll_args *args, const char *name, double least, double most,
                       double otherwise, double *value)
{
    const char *text = ll_value(args, name, NULL);
    *value = otherwise;
    if (!text || (strcmp(text, "inf") == 0 && isinf(most)))
        return text ? (*value = INFINITY, true) : true;
    if (ll_number_parse(text, "", value) && *value >= least && *value <= most)
        return true;
    ll_cli_reject("--%s %s: expected a number from %g to %g", name, text, least, most);
    return false;
}

static bool reject_lengths(const char *name, const char *text)
{
    ll_cli_reject("--%s %s: expected a number of tokens, a range as 100-900 or 1000+-20%%, a distribution as "
                  "normal:1000:200, lognormal:1000:800 or exponential:1000, or a file of requests",
                  name, text);
    return false;
}

/* "normal:1000:200" and the like. False where it is none; *good says whether it is a right one. */
static bool read_distribution(const char *text, struct ll_lengths *lengths, bool *good)
{
    static const struct {
        const char *word;
        enum ll_lengths_kind kind;
    } words[] = {{"normal:", LL_LENGTHS_NORMAL},
                 {"lognormal:", LL_LENGTHS_LOGNORMAL},
                 {"exponential:", LL_LENGTHS_EXPONENTIAL}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i].word);
        char *end;
        if (strncmp(text, words[i].word, length) != 0)
            continue;
        *lengths = (struct ll_lengths){.kind = words[i].kind, .a = ll_strtod(text + length, &end)};
        if (words[i].kind != LL_LENGTHS_EXPONENTIAL && *end == ':')
            lengths->b = ll_strtod(end + 1, &end);
        *good = *end == '\0' && lengths->a >= 1 && lengths->a <= 1u << 30 && lengths->b >= 0 &&
                lengths->b <= 1u << 30 &&
                (words[i].kind == LL_LENGTHS_EXPONENTIAL || strrchr(text, ':') > strchr(text, ':'));
        return true;
    }
    return false;
}

/* "512", "100-900", "1000+-20%". */
static bool read_range(char *text, struct ll_lengths *lengths)
{
    char *sign = strstr(text, "+-"), *dash = strchr(text, '-'), *end;
    uint64_t least, most;
    double share = 0;
    if (sign) {
        share = ll_strtod(sign + 2, &end) / 100;
        if (end == sign + 2 || strcmp(end, "%") != 0 || !(share >= 0 && share < 1))
            return false;
        *sign = '\0';
        dash = NULL;
    }
    if (dash)
        *dash = '\0';
    if (!ll_count_parse(text, &least) || !ll_count_parse(dash ? dash + 1 : text, &most) || least < 1 ||
        least > most || most > 1u << 30)
        return false;
    lengths->a = fmax(1, floor((double)least * (1 - share)));
    lengths->b = ceil((double)most * (1 + share));
    return true;
}

/* A number, a range, a distribution, or a file of requests whose lengths are drawn. */
static bool read_lengths(struct ll_serving_setup *s, const char *name, double otherwise,
                         struct ll_lengths *lengths)
{
    const char *text = ll_value(s->args, name, NULL);
    char *copy = text ? ll_copy_text(s->args->arena, text, strlen(text)) : NULL;
    bool good = true;
    *lengths = (struct ll_lengths){.a = otherwise, .b = otherwise};
    if (!text)
        return true;
    if (read_distribution(text, lengths, &good))
        return good || reject_lengths(name, text);
    if (copy && text[strspn(text, "0123456789.%+-")] == '\0')
        return read_range(copy, lengths) || reject_lengths(name, text);
    lengths->kind = LL_LENGTHS_LISTED;
    lengths->listed = ll_read_requests(text, s->args->arena, &lengths->count, &s->diags);
    if (!lengths->listed)
        ll_print_diags(&s->diags);
    return lengths->listed != NULL;
}

/* Lengths of requests that are made up; a file of --input-tokens alone says those of outputs, too. */
static bool read_all_lengths(struct ll_serving_setup *s)
{
    struct ll_load *load = &s->load;
    if (!read_lengths(s, "input-tokens", 1024, &load->input) ||
        !read_lengths(s, "output-tokens", 128, &load->output))
        return false;
    if (load->input.kind == LL_LENGTHS_LISTED && !ll_value(s->args, "output-tokens", NULL))
        load->output = load->input;
    if (load->output.kind == LL_LENGTHS_LISTED && !ll_value(s->args, "input-tokens", NULL))
        load->input = load->output;
    return true;
}

/* A time or 0. */
static bool read_span(const struct ll_args *args, const char *name, double *time_s)
{
    if (!ll_serving_time(args, name, time_s))
        return false;
    *time_s = isfinite(*time_s) ? *time_s : 0;
    return true;
}

bool ll_serving_load(struct ll_serving_setup *s)
{
    const struct ll_args *args = s->args;
    struct ll_load *load = &s->load;
    static const char *const not_listed[] = {"rate",          "burstiness",    "input-tokens",
                                             "output-tokens", "prefix-tokens", NULL};
    const char *file = ll_value(args, "requests", NULL);
    uint64_t prompts;
    if (!ll_value_count(args, "seed", 0, UINT64_MAX - 1, 1, &load->seed) ||
        !ll_value_count(args, "concurrency", 1, 1 << 24, 0, &load->concurrency) ||
        !ll_value_count(args, "num-prompts", 1, UINT64_C(1) << 40, 0, &prompts) ||
        !ll_serving_number(args, "rate", 1e-9, INFINITY, 0, &load->rate_Hz) ||
        !ll_serving_number(args, "burstiness", 1e-3, INFINITY, 1, &load->burstiness) ||
        !ll_value_count(args, "prefix-tokens", 0, 1 << 30, 0, &load->prefix_tokens) ||
        !read_span(args, "duration", &load->duration_s) || !read_span(args, "warmup", &load->warmup_s))
        return false;
    if (load->duration_s > 0 && load->warmup_s >= load->duration_s) {
        ll_cli_reject("--warmup %s: expected less than --duration, or no request counts",
                      ll_value(args, "warmup", ""));
        return false;
    }
    if (file &&
        !ll_without(args, not_listed, "is for requests that are made up; expected no --requests with it"))
        return false;
    if (file) {
        load->listed = ll_read_requests(file, args->arena, &load->count, &s->diags);
        if (!load->listed)
            ll_print_diags(&s->diags);
        if (load->listed && prompts > load->count)
            ll_cli_warn("--num-prompts %" PRIu64 ": %s has %" PRIu64 " request%s", prompts, file, load->count,
                        ll_plural(load->count));
        load->count = prompts > 0 ? ll_min(load->count, prompts) : load->count;
        bool urgent = strcmp(ll_value(args, "scheduling-policy", "fcfs"), "fcfs") != 0;
        for (uint64_t i = 0; load->listed && !urgent && i < load->count; i++)
            if ((urgent = load->listed[i].priority != 0))
                ll_cli_warn("%s has priorities, which count with --scheduling-policy priority alone", file);
        return load->listed != NULL;
    }
    if (load->rate_Hz == 0 && load->concurrency == 0) {
        ll_cli_reject("no load: expected --requests FILE, --rate R or --concurrency N");
        return false;
    }
    load->rate_Hz = isinf(load->rate_Hz) ? 0 : load->rate_Hz;
    if (load->rate_Hz == 0 && ll_value(args, "burstiness", NULL)) {
        ll_cli_reject("--burstiness: it is of gaps between requests that come at a rate; expected --rate R");
        return false;
    }
    if (load->rate_Hz == 0 && load->concurrency == 0 && load->duration_s > 0 && prompts == 0) {
        ll_cli_reject("--duration: all requests come at once; expected --num-prompts");
        return false;
    }
    load->count = prompts > 0            ? prompts
                  : load->duration_s > 0 ? UINT64_C(1) << 62
                                         : ll_max(load->concurrency * 10, 1000);
    return read_all_lengths(s);
}

uint64_t ll_serving_usual_length(const struct ll_load *load)
{
    const struct ll_lengths *in = &load->input, *out = &load->output;
    double sum = 0;
    for (uint64_t i = 0; load->listed && i < load->count; i++)
        sum += (double)(load->listed[i].input + load->listed[i].output);
    double length = load->listed
                        ? sum / (double)load->count
                        : (in->kind == LL_LENGTHS_UNIFORM ? in->b : ll_lengths_mean(in, false)) +
                              (out->kind == LL_LENGTHS_UNIFORM ? out->b : ll_lengths_mean(out, true));
    return ll_max(2, (uint64_t)length);
}
