/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of random data: random_plots FOLDER COUNT writes COUNT pages of each kind of plot. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/report/figure/figure.h"
#include "tests/random.h"
#include "tracer/base/file.h"

enum { MOST = 40, LONGEST = 26, SERIES = 9 };

struct data {
    char texts[MOST][LONGEST + 1];
    const char *names[MOST], *series[SERIES];
    double values[MOST * MOST], published[MOST * MOST], x[MOST];
    size_t count, series_count;
    bool log;
};

static void roll(struct data *data, uint64_t *random)
{
    static const char *const series[SERIES] = {"weights", "compute",          "all the others",
                                               "a",       "on-chip memory",   "training, GPU",
                                               "b",       "FP32 utilization", "overhead"};
    double decades = (double)ll_random_below(random, 9),
           low = pow(10, (double)ll_random_below(random, 16) - 6);
    size_t longest = 1 + ll_random_below(random, LONGEST);
    data->count = 2 + ll_random_below(random, MOST - 1);
    data->series_count = 1 + ll_random_below(random, SERIES);
    data->log = ll_random_below(random, 2);
    bool negative = !data->log && ll_random_below(random, 3) == 0;
    for (size_t i = 0; i < MOST; i++) {
        size_t length = 1 + ll_random_below(random, longest);
        for (size_t c = 0; c < length; c++)
            data->texts[i][c] = "abcdefghijklmnopqrstuvwxyz_0123456789 mw"[ll_random_below(random, 40)];
        data->texts[i][length] = 0;
        data->names[i] = data->texts[i];
        data->x[i] = low * (double)(1 + i);
    }
    for (size_t i = 0; i < MOST * MOST; i++) {
        data->values[i] = low * pow(10, decades * (double)ll_random_below(random, 1000) / 1000);
        if (negative && ll_random_below(random, 2))
            data->values[i] = -data->values[i];
        data->published[i] = ll_random_below(random, 3) ? NAN : 1.3 * data->values[i];
    }
    for (size_t i = 0; i < SERIES; i++)
        data->series[i] = series[i];
}

static void bars(struct ll_svg *svg, struct ll_rect box, const struct data *data)
{
    ll_draw_bars(svg, box,
                 &(struct ll_bars){.title = "Bars of things that have a title which goes on for a while",
                                   .y_label = "time of a step (ms)",
                                   .groups = data->names,
                                   .group_count = data->count,
                                   .series = data->series,
                                   .series_count = data->series_count,
                                   .values = data->values,
                                   .published = data->published,
                                   .log = data->log,
                                   .line = fabs(data->values[0]),
                                   .line_name = "the card's memory"});
}

static void boxes(struct ll_svg *svg, struct ll_rect box, const struct data *data)
{
    struct ll_five fives[MOST];
    for (size_t i = 0; i < data->count; i++) {
        double low = fabs(data->values[i]);
        fives[i] = (struct ll_five){{low, 1.5 * low, 2 * low, 5 * low, 9 * low}};
    }
    ll_draw_boxes(svg, box,
                  &(struct ll_boxes){.title = "Boxes",
                                     .y_label = "parameters",
                                     .names = data->names,
                                     .boxes = fives,
                                     .published = fives,
                                     .count = data->count,
                                     .log = data->log});
}

static void lines(struct ll_svg *svg, struct ll_rect box, const struct data *data)
{
    struct ll_curve curves[SERIES], published[SERIES];
    for (size_t i = 0; i < data->series_count; i++) {
        curves[i] = (struct ll_curve){data->series[i], data->x, &data->values[i * MOST], data->count};
        published[i] = (struct ll_curve){"published", data->x, &data->published[i * MOST], data->count};
    }
    ll_draw_lines(svg, box,
                  &(struct ll_lines){.title = "Lines",
                                     .x_label = "mini-batch",
                                     .y_label = "samples/s",
                                     .curves = curves,
                                     .curve_count = data->series_count,
                                     .published = published,
                                     .published_count = data->series_count,
                                     .joined = true,
                                     .x_log = data->count % 2,
                                     .y_log = data->log,
                                     .line = fabs(data->values[0]),
                                     .line_name = "90 %"});
}

static void scatter(struct ll_svg *svg, struct ll_rect box, const struct data *data)
{
    struct ll_curve curves[SERIES];
    for (size_t i = 0; i < data->series_count; i++)
        curves[i] = (struct ll_curve){data->series[i], data->x, &data->values[i * MOST], data->count};
    ll_draw_scatter(svg, box,
                    &(struct ll_scatter){.title = "nvidia_rtx_pro_6000_blackwell+archive/deepbench",
                                         .about = "1,234 rows, 12.3 % MAPE (plain roofline 45.6 %)",
                                         .x_label = "measured (s)",
                                         .y_label = "predicted (s)",
                                         .series = curves,
                                         .series_count = data->series_count,
                                         .band = 0.2});
}

static void roofline(struct ll_svg *svg, struct ll_rect box, const struct data *data)
{
    struct ll_roof memories[4], units[4];
    struct ll_work_point points[MOST];
    for (size_t i = 0; i < 4; i++) {
        memories[i] = (struct ll_roof){data->names[i], 1e9 * (1 + fabs(data->values[i]))};
        units[i] = (struct ll_roof){data->names[4 + i], 1e10 * (1 + fabs(data->values[4 + i]))};
    }
    for (size_t i = 0; i < data->count; i++)
        points[i] =
            (struct ll_work_point){pow(10, fmod((double)i * 1.7, 4) - 1), 1e8 * (1 + fabs(data->values[i])),
                                   0.5 / (double)(1 + i), i % data->series_count, data->names[i]};
    ll_draw_roofline(
        svg, box,
        &(struct ll_roofline){.title = "A trace on a machine",
                              .about = "6.89 ms per step; ops with 89.5 % of their time are shown",
                              .memories = memories,
                              .memory_count = 4,
                              .units = units,
                              .unit_count = 4,
                              .points = points,
                              .point_count = data->count,
                              .series = data->series,
                              .series_count = data->series_count});
}

static void heat(struct ll_svg *svg, struct ll_rect box, const struct data *data)
{
    double cells[MOST * MOST], full = 0;
    for (size_t i = 0; i < data->count * data->count; i++) {
        cells[i] = fabs(data->values[i % (MOST * MOST)]);
        full = fmax(full, cells[i]);
    }
    ll_draw_heat(svg, box,
                 &(struct ll_heat){.title = "A heat map",
                                   .unit = "times as fast",
                                   .grey = "out of memory",
                                   .rows = data->names,
                                   .row_count = data->count,
                                   .columns = data->names,
                                   .column_count = data->count,
                                   .values = cells,
                                   .full = full,
                                   .middle = data->log ? full / 3 : 0,
                                   .decimals = 1});
}

static void tree(struct ll_svg *svg, struct ll_rect box, const struct data *data)
{
    struct ll_merge merges[MOST];
    for (size_t i = 0; i + 1 < data->count; i++)
        merges[i] = (struct ll_merge){i ? data->count + i - 1 : 0, i + 1, (double)(i + 1) / MOST};
    ll_draw_tree(svg, box,
                 &(struct ll_tree){.title = "A tree",
                                   .x_label = "distance",
                                   .leaves = data->names,
                                   .leaf_count = data->count,
                                   .merges = merges});
}

static void weights(struct ll_svg *svg, struct ll_rect box, const struct data *data)
{
    ll_draw_weights(svg, box,
                    &(struct ll_weights){.title = "Weights",
                                         .about = "12,345 designs tried, 9,876 valid, 12 on the front",
                                         .x_label = "standard deviations of the objective",
                                         .names = data->names,
                                         .name_count = data->count < 12 ? data->count : 12,
                                         .series = data->series,
                                         .series_count = data->series_count < 3 ? data->series_count : 3,
                                         .values = data->values});
}

static void strands(struct ll_svg *svg, struct ll_rect box, const struct data *data)
{
    struct ll_upright axes[6];
    size_t series[MOST] = {0};
    for (size_t a = 0; a < 6; a++)
        axes[a] = (struct ll_upright){
            .name = data->names[a], .values = &data->values[a * MOST], .log = data->log && a % 2};
    ll_draw_strands(svg, box,
                    &(struct ll_strands){.title = "Strands",
                                         .axes = axes,
                                         .axis_count = 6,
                                         .series = series,
                                         .faint = 6,
                                         .strand_count = data->count,
                                         .names = data->series,
                                         .name_count = 3});
}

static const struct {
    const char *name;
    void (*draw)(struct ll_svg *svg, struct ll_rect box, const struct data *data);
} kinds[] = {{"bars", bars},       {"boxes", boxes},       {"lines", lines},
             {"scatter", scatter}, {"roofline", roofline}, {"heat", heat},
             {"tree", tree},       {"weights", weights},   {"strands", strands}};

int main(int argc, char **argv)
{
    static struct data data;
    uint64_t first = ll_seed(1), count = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    if (!count)
        return 2;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint64_t seed = first; seed < first + count; seed++) {
            uint64_t random = seed;
            char path[512];
            struct ll_str text = {0};
            struct ll_svg svg = {&text};
            roll(&data, &random);
            const struct ll_page page = {
                .title = "Panels side by side",
                .about = "random",
                .panels = 2,
                .columns = 2,
                .width = 360 + (double)ll_random_below(&random, 400),
                .height = 300 + (double)ll_random_below(&random, 200),
                .note = "Simulated: a machine (its_name) and another one (another_name)"};
            ll_page_open(&svg, &page);
            for (size_t i = 0; i < page.panels; i++)
                kinds[k].draw(&svg, ll_page_panel(&page, i), &data);
            ll_svg_close(&svg);
            snprintf(path, sizeof path, "%s/%s-%llu.svg", argv[1], kinds[k].name, (unsigned long long)seed);
            if (ll_write_whole(path, &text) != LL_OK)
                return 1;
            ll_str_release(&text);
        }
    return 0;
}
