/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/pareto_files.h"

#include "sim/explore/chart.h"
#include "sim/explore/sweep_page.h"

#include <stdio.h>
#include <string.h>

bool ll_pareto_draws(const struct ll_args *args)
{
    return ll_value(args, "figure", NULL) || ll_value(args, "html", NULL);
}

/* The command as it was typed, options first; NULL when memory ran out. */
static const char *command_line(const struct ll_args *args)
{
    struct ll_str line = {0};
    ll_str_addf(&line, "leadline pareto %s", args->words[0]);
    for (size_t i = 0; i < args->given_count; i++) {
        const char *value = args->given[i].value;
        bool quoted = value && strpbrk(value, " <>()|&;*");
        ll_str_addf(&line, " --%s", args->given[i].option->name);
        if (value)
            ll_str_addf(&line, quoted ? " \"%s\"" : " %s", value);
    }
    const char *copy = line.failed ? NULL : ll_copy_text(args->arena, line.text, line.length);
    ll_str_release(&line);
    return copy;
}

static bool find_chart(const char *name, enum ll_chart *chart)
{
    const char *names[LL_CHART_COUNT];
    for (unsigned c = 0; c < LL_CHART_COUNT; c++) {
        names[c] = ll_chart_name(c);
        *chart = c;
        if (strcmp(name, names[c]) == 0)
            return true;
    }
    ll_unknown("figure", name, names, LL_CHART_COUNT, "leadline pareto --help");
    return false;
}

/* Whether the figure shows what is asked of it; --log may be for the page beside it. */
static bool is_heeded(const struct ll_args *args, enum ll_chart chart)
{
    static const char *const axes[] = {"across", "up", NULL}, *const objective[] = {"of", NULL},
                             *const logs[] = {"log", NULL};
    unsigned heeds = ll_chart_heeds(chart);
    return (heeds & LL_WISH_AXES || ll_without(args, axes, "is for --figure front and heat")) &&
           (heeds & LL_WISH_OBJECTIVE || ll_without(args, objective, "is for --figure heat")) &&
           (heeds & LL_WISH_LOGS || ll_value(args, "html", NULL) ||
            ll_without(args, logs, "is for weights, which --figure sensitivity and --html show"));
}

static int draw_figure(const struct ll_args *args, const struct ll_findings *findings, struct ll_diags *diags)
{
    const char *output = ll_value(args, "output", NULL);
    const struct ll_chart_wish wish = {.x = ll_value(args, "across", NULL),
                                       .y = ll_value(args, "up", NULL),
                                       .objective = ll_value(args, "of", NULL)};
    enum ll_chart chart;
    struct ll_str svg = {0};
    if (!find_chart(ll_value(args, "figure", NULL), &chart) || !is_heeded(args, chart))
        return LL_WRONG;
    if (!output)
        return ll_wrong("--figure: no file to write; name one with -o");
    if (!ll_chart_draw(chart, findings, &wish, &svg, diags)) {
        ll_str_release(&svg);
        return diags->count ? LL_WRONG : ll_failed("memory ran out");
    }
    return ll_write_file(output, &svg) ? LL_DONE : LL_FAILED;
}

static int write_page(const struct ll_args *args, const struct ll_findings *findings, struct ll_diags *diags)
{
    const char *sweep = ll_data_frame_fact(findings->frame, "sweep");
    const struct ll_sweep_page page = {
        .title = sweep ? sweep : args->words[0], .command = command_line(args), .version = LL_VERSION};
    struct ll_str text = {0};
    if (!page.command || !ll_sweep_page(findings, &page, &text, diags)) {
        ll_str_release(&text);
        return ll_failed("memory ran out");
    }
    return ll_write_file(ll_value(args, "html", NULL), &text) ? LL_DONE : LL_FAILED;
}

int ll_pareto_draw(const struct ll_args *args, const struct ll_findings *findings, struct ll_diags *diags)
{
    int status = ll_value(args, "figure", NULL) ? draw_figure(args, findings, diags) : LL_DONE;
    if (status == LL_DONE && ll_value(args, "html", NULL))
        status = write_page(args, findings, diags);
    return status;
}
