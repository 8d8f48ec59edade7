/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/report/figure/figure.h"

enum { ROUNDS = 200, MOST = 12 };

/* A reader of XML that knows elements, attributes in quotes, entities and texts, and nothing else: what is
 * wrong, or NULL. Nesting goes on a stack of places where the names begin. */
static const char *malformed(const char *p)
{
    const char *open[16];
    size_t depth = 0;
    while (*p) {
        if (*p == '&') {
            size_t length = strcspn(p, ";<>\"");
            if (p[length] != ';' || length > 6)
                return "a bare &";
            p += length + 1;
        } else if (*p == '>') {
            return "a bare >";
        } else if (*p != '<') {
            p++;
        } else if (p[1] == '/') {
            size_t length = strcspn(p + 2, ">");
            if (depth == 0 || strncmp(open[depth - 1], p + 2, length) != 0)
                return "an end without its beginning";
            depth--;
            p += length + 3;
        } else {
            const char *name = p + 1;
            bool quoted = false;
            for (p++; *p && (quoted || *p != '>'); p++) {
                quoted ^= *p == '"';
                if (quoted && *p == '<')
                    return "< in an attribute";
            }
            if (!*p++ || quoted || depth == sizeof open / sizeof *open)
                return "an element without end";
            if (p[-2] != '/')
                open[depth++] = name;
        }
    }
    return depth ? "something stays open" : NULL;
}

static void check_svg(const struct ll_str *text, uint64_t seed)
{
    const char *trouble = text->failed ? "memory ran out" : malformed(text->text);
    if (!trouble && (strstr(text->text, "nan") || strstr(text->text, "inf")))
        trouble = "a number that is none";
    if (trouble)
        fail_msg("seed %llu: %s", (unsigned long long)seed, trouble);
}

static void the_reader_of_this_test_sees_what_is_wrong(void **state)
{
    (void)state;
    assert_null(malformed("<a b=\"1\"><c/>&lt;x</a>"));
    assert_non_null(malformed("<a>"));
    assert_non_null(malformed("<a></b>"));
    assert_non_null(malformed("a & b"));
    assert_non_null(malformed("<a b=\"<\"/>"));
}

static void texts_are_escaped(void **state)
{
    (void)state;
    struct ll_str text = {0};
    ll_xml_add(&text, "<a & \"b\"> \xC3\xA4 \xFF \x01 \xED\xA0\x80");
    assert_string_equal(text.text, "&lt;a &amp; &quot;b&quot;&gt; \xC3\xA4 \xEF\xBF\xBD \xEF\xBF\xBD "
                                   "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    ll_str_release(&text);
}

/* Linear: 0 to the next round number. 0.37 in fifths of about 0.07 is steps of 0.1. */
static void ticks_are_round_and_span_the_data(void **state)
{
    (void)state;
    struct ll_axis axis = ll_axis_for(0, 0.37, false);
    assert_int_equal(axis.tick_count, 5);
    assert_near(axis.high, 0.4, 1e-12);
    axis = ll_axis_for(0.03, 40, true); /* from 0.02 to 50 are eleven of 1, 2, 5 times a power of ten */
    assert_near(axis.low, 0.02, 1e-12);
    assert_near(axis.high, 50, 1e-12);
    assert_int_equal(axis.tick_count, 3);
    assert_near(ll_axis_place(&axis, 1), 0.5, 1e-12);
    axis = ll_axis_for(5.4, 64, true); /* 5, 10, 20, 50, 100 */
    assert_near(axis.low, 5, 1e-12);
    assert_near(axis.high, 100, 1e-12);
    assert_int_equal(axis.tick_count, 5);
    axis = ll_axis_for(7, 7, true);
    assert_true(axis.low < 7 && axis.high > 7);
    axis = ll_axis_for(INFINITY, 0, true);
    assert_true(axis.high > axis.low && axis.low > 0);
    axis = ll_axis_for(-0.3, 1.1, false); /* as the loss of an actor-critic */
    assert_near(axis.low, -0.4, 1e-12);
    assert_near(axis.high, 1.2, 1e-12);
    assert_near(ll_axis_place(&axis, 0), 0.25, 1e-12);
    axis = ll_axis_for(-3, -1, false);
    assert_true(axis.low <= -3 && axis.high == 0);
}

static void whole_numbers_have_whole_ticks(void **state)
{
    (void)state;
    for (int broken = 0; broken < 2; broken++) {
        struct ll_range range = LL_NO_RANGE;
        ll_range_take(&range, NAN);
        ll_range_take(&range, broken ? 0.9 : 1);
        struct ll_axis axis = ll_range_axis(&range, false);
        assert_int_equal(axis.tick_count, broken ? 6 : 2);
        assert_near(axis.high, 1, 1e-12);
    }
}

static void ticks_lose_no_digit(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } ticks[] = {{0, "0"},           {0.05, "0.05"},         {-0.2, "-0.2"},    {80000, "80,000"},
                 {1e6, "1 M"},       {1.5e6, "1.5 M"},       {-2.5e7, "-25 M"}, {5e-5, "50 \xC2\xB5"},
                 {3.75e9, "3.75 G"}, {-1e5, "-100,000"},     {1e3, "1,000"},    {999, "999"},
                 {0.001, "0.001"},   {1e-4, "100 \xC2\xB5"}, {2e15, "2 P"},     {5e18, "5e18"},
                 {1e-15, "1e-15"}};
    struct ll_tick_text text;
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        assert_string_equal(ll_tick(&text, ticks[i].value), ticks[i].text);
}

static void every_value_finds_room_on_its_axis(void **state)
{
    (void)state;
    uint64_t random = ll_seed(1);
    for (int round = 0; round < 10000; round++) {
        double high =
            pow(10, (double)ll_random_below(&random, 24) - 12) * (double)(1 + ll_random_below(&random, 999));
        bool log = ll_random_below(&random, 2);
        double low = log ? high / (double)(1 + ll_random_below(&random, 100000)) : 0;
        struct ll_axis axis = ll_axis_for(low, high, log);
        assert_true(axis.high >= high * (1 - 1e-12) && axis.low <= low * (1 + 1e-12));
        assert_true(axis.tick_count >= 2 && axis.tick_count <= LL_MOST_TICKS);
        double place = ll_axis_place(&axis, high);
        assert_true(place >= 0 && place <= 1 && place >= ll_axis_place(&axis, low));
        assert_true(log || place > 0.55); /* no more than a step is left free */
    }
}

/* Random data with all that data can be: nothing, zero, not a number. */
struct data {
    const char *names[MOST];
    double values[MOST * MOST];
    size_t rows, columns;
};

static struct data roll(uint64_t *random)
{
    static const char *const words[] = {"mul", "<b>", "conv2d_filter_grad", "\xC3\xA9t\xC3\xA9", "", "a & b"};
    struct data data = {.rows = 1 + ll_random_below(random, MOST),
                        .columns = 1 + ll_random_below(random, MOST)};
    for (size_t i = 0; i < MOST; i++)
        data.names[i] = words[ll_random_below(random, sizeof words / sizeof *words)];
    for (size_t i = 0; i < MOST * MOST; i++) {
        uint64_t kind = ll_random_below(random, 10);
        data.values[i] = kind == 0 ? NAN : kind == 1 ? 0 : pow(10, (double)ll_random_below(random, 12) - 6);
    }
    return data;
}

static const struct ll_page page = {"A <title>", "about & more", 2, 2, 400, 300, "on a machine"};

static void draw_roofline(struct ll_svg *svg, struct ll_rect box, const struct data *data)
{
    struct ll_roof memories[MOST], units[MOST];
    struct ll_work_point points[MOST];
    for (size_t i = 0; i < MOST; i++) {
        const double *v = &data->values[i * MOST];
        memories[i] = (struct ll_roof){data->names[i], isfinite(v[0]) && v[0] > 0 ? v[0] : 1};
        units[i] = (struct ll_roof){data->names[i], isfinite(v[1]) && v[1] > 0 ? v[1] : 1};
        points[i] = (struct ll_work_point){v[2], v[3], 1.0 / MOST, i, data->names[i]};
    }
    ll_draw_roofline(svg, box,
                     &(struct ll_roofline){.title = "roofline",
                                           .about = data->rows % 2 ? "about" : NULL,
                                           .memories = memories,
                                           .memory_count = data->rows,
                                           .units = units,
                                           .unit_count = data->columns,
                                           .points = points,
                                           .point_count = data->columns,
                                           .series = data->names,
                                           .series_count = data->columns});
}

static void draw_designs(struct ll_svg *svg, struct ll_rect box, const struct data *data, bool log)
{
    struct ll_upright axes[MOST];
    size_t series[MOST];
    double picked[MOST];
    for (size_t i = 0; i < MOST; i++) {
        picked[i] = (double)(i % data->rows);
        series[i] = i % 3;
        axes[i] =
            (struct ll_upright){.name = data->names[i], .values = &data->values[i * MOST], .log = i % 2};
    }
    axes[0] = (struct ll_upright){"names", picked, data->names, data->rows, false};
    struct ll_curve all = {"all", data->values, data->values + MOST, MOST};
    struct ll_curve front = {"front", (double[]){1, 2, 3}, (double[]){3, 2, 1}, 3};
    ll_draw_front(svg, box,
                  &(struct ll_front){.title = "front",
                                     .x_label = "x",
                                     .y_label = "y",
                                     .all = all,
                                     .front = front,
                                     .marked = &front,
                                     .marked_count = 1,
                                     .x_log = log,
                                     .y_log = !log});
    ll_draw_strands(svg, box,
                    &(struct ll_strands){.axes = axes,
                                         .axis_count = data->columns > 1 ? data->columns : 2,
                                         .series = series,
                                         .strand_count = data->rows,
                                         .names = data->names,
                                         .name_count = 3});
    ll_draw_weights(svg, box,
                    &(struct ll_weights){.title = "weights",
                                         .x_label = "weight",
                                         .names = data->names,
                                         .name_count = data->rows,
                                         .series = data->names,
                                         .series_count = data->columns,
                                         .values = data->values});
}

static void draw_all(struct ll_svg *svg, uint64_t seed)
{
    uint64_t random = seed;
    struct data data = roll(&random);
    bool log = ll_random_below(&random, 2);
    struct ll_curve curves[MOST];
    struct ll_merge merges[MOST];
    for (size_t i = 0; i < data.rows; i++)
        curves[i] =
            (struct ll_curve){i ? data.names[i] : NULL, data.values, data.values + i * MOST, data.columns};
    for (size_t i = 0; i + 1 < data.columns; i++)
        merges[i] = (struct ll_merge){i ? data.columns + i - 1 : 0, i + 1, (double)i / 10};
    struct ll_rect box = ll_page_panel(&page, 0);
    ll_page_open(svg, &page);
    ll_draw_bars(svg, box,
                 &(struct ll_bars){.title = "bars",
                                   .y_label = "time (s)",
                                   .groups = data.names,
                                   .group_count = data.rows,
                                   .series = data.names,
                                   .series_count = data.columns,
                                   .values = data.values,
                                   .stacked = !log && seed % 2,
                                   .log = log,
                                   .line = 2});
    ll_draw_lines(svg, box,
                  &(struct ll_lines){.x_label = "x",
                                     .y_label = "y",
                                     .curves = curves,
                                     .curve_count = data.rows,
                                     .joined = seed % 2,
                                     .x_log = log,
                                     .y_log = seed % 3 ? !log : log,
                                     .diagonal = seed % 4 == 0});
    ll_draw_scatter(svg, box,
                    &(struct ll_scatter){.title = "scatter",
                                         .about = log ? "about" : NULL,
                                         .x_label = "x",
                                         .y_label = "y",
                                         .series = curves,
                                         .series_count = data.rows,
                                         .band = 0.2});
    draw_roofline(svg, box, &data);
    draw_designs(svg, box, &data, log);
    ll_draw_heat(svg, box,
                 &(struct ll_heat){.unit = "%",
                                   .rows = data.names,
                                   .row_count = data.rows,
                                   .columns = data.names,
                                   .column_count = data.columns,
                                   .values = data.values,
                                   .full = 100});
    ll_draw_tree(
        svg, box,
        &(struct ll_tree){
            .x_label = "distance", .leaves = data.names, .leaf_count = data.columns, .merges = merges});
    ll_svg_close(svg);
}

static void any_data_makes_a_sound_figure(void **state)
{
    (void)state;
    uint64_t first = ll_seed(1);
    for (uint64_t seed = first; seed < first + ROUNDS; seed++) {
        struct ll_str text = {0};
        draw_all(&(struct ll_svg){&text}, seed);
        check_svg(&text, seed);
        ll_str_release(&text);
    }
}

static void the_same_data_is_the_same_figure(void **state)
{
    (void)state;
    struct ll_str once = {0}, again = {0};
    draw_all(&(struct ll_svg){&once}, 7);
    draw_all(&(struct ll_svg){&again}, 7);
    assert_string_equal(once.text, again.text);
    ll_str_release(&once);
    ll_str_release(&again);
}

/* 2 and -1 on an axis from -1 to 2: both bars meet at zero, the second below the first and half as high. */
static void negative_bars_hang_from_zero(void **state)
{
    (void)state;
    static const char *const groups[] = {"up", "down"}, *const series[] = {"a"};
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    ll_draw_bars(&svg, (struct ll_rect){0, 0, 200, 100},
                 &(struct ll_bars){.y_label = "y",
                                   .groups = groups,
                                   .group_count = 2,
                                   .series = series,
                                   .series_count = 1,
                                   .values = (double[]){2, -1}});
    double y[2], height[2];
    size_t count = 0;
    for (const char *p = text.text; (p = strstr(p, "<rect ")) && count < 2; p++, count++)
        assert_int_equal(
            sscanf(p, "<rect x=\"%*f\" y=\"%lf\" width=\"%*f\" height=\"%lf\"", &y[count], &height[count]),
            2);
    assert_int_equal(count, 2);
    assert_near(height[0], 2 * height[1], 0.02);
    assert_near(y[0] + height[0], y[1], 0.011);
    ll_str_release(&text);
}

/* One group, stacked 1 on 3 of an axis to 4 (steps of 1): the second bar is a quarter of the height of the
 * area. */
static void stacked_bars_stand_on_each_other(void **state)
{
    (void)state;
    static const char *const groups[] = {"g"}, *const series[] = {"a", "b"};
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    ll_draw_bars(&svg, (struct ll_rect){0, 0, 200, 100},
                 &(struct ll_bars){.y_label = "y",
                                   .groups = groups,
                                   .group_count = 1,
                                   .series = series,
                                   .series_count = 2,
                                   .values = (double[]){3, 1},
                                   .stacked = true});
    double y[4], height[4];
    size_t count = 0;
    for (const char *p = text.text; (p = strstr(p, "<rect ")) && count < 4; p++, count++)
        assert_int_equal(
            sscanf(p, "<rect x=\"%*f\" y=\"%lf\" width=\"%*f\" height=\"%lf\"", &y[count], &height[count]),
            2);
    assert_int_equal(count, 4); /* two of them in the legend */
    assert_near(height[2], 3 * height[3], 0.01);
    assert_near(y[3] + height[3], y[2], 1e-3);
    ll_str_release(&text);
}

/* Of points at 1 and 100 on axes to 100, and one too many of the first: two dots in opposite corners of a
 * square area, and one whose y is not positive is not there. */
static void a_scatter_plot_has_one_axis_and_no_dot_twice(void **state)
{
    (void)state;
    const struct ll_curve series = {"s", (double[]){1, 100, 1, 5}, (double[]){1, 100, 1, 0}, 4};
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    double x[2], y[2], x1, y1, x2, y2;
    ll_draw_scatter(&svg, (struct ll_rect){0, 0, 200, 200},
                    &(struct ll_scatter){
                        .x_label = "x", .y_label = "y", .series = &series, .series_count = 1, .band = 0.2});
    const char *dots = strstr(text.text, "stroke-opacity"),
               *diagonal = strstr(text.text, "<polygon class=\"ll-band\"");
    assert_non_null(dots = dots ? strstr(dots, " d=\"M") : NULL);
    assert_int_equal(sscanf(dots, " d=\"M%lf %lfh0M%lf %lfh0\"", &x[0], &y[0], &x[1], &y[1]), 4);
    assert_non_null(diagonal = strstr(diagonal, "<line"));
    assert_int_equal(sscanf(diagonal, "<line class=\"ll-axis\" x1=\"%lf\" y1=\"%lf\" x2=\"%lf\" y2=\"%lf\"",
                            &x1, &y1, &x2, &y2),
                     4);
    assert_near(x[0], x1, 0.06);
    assert_near(y[0], y1, 0.06);
    assert_near(x[1], x2, 0.06);
    assert_near(y[1], y2, 0.06);
    ll_str_release(&text);
}

/* A point on the line of the memory, another where that meets the unit: 100 B/s and 1000 FLOP/s meet at 10
 * FLOP/byte. */
static void points_at_the_limit_lie_on_the_roof(void **state)
{
    (void)state;
    const struct ll_work_point points[] = {{1, 100, 0.5, 0, "a"}, {10, 1000, 0.5, 0, "b"}};
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    double x1, y1, x2, y2, cx[2], cy[2];
    ll_draw_roofline(&svg, (struct ll_rect){0, 0, 300, 300},
                     &(struct ll_roofline){.memories = &(struct ll_roof){"m", 100},
                                           .memory_count = 1,
                                           .units = &(struct ll_roof){"u", 1000},
                                           .unit_count = 1,
                                           .points = points,
                                           .point_count = 2});
    const char *roof = strstr(text.text, "<line class=\"ll-stroke\""), *disc = text.text;
    assert_non_null(roof);
    assert_int_equal(sscanf(roof, "<line class=\"ll-stroke\" x1=\"%lf\" y1=\"%lf\" x2=\"%lf\" y2=\"%lf\"",
                            &x1, &y1, &x2, &y2),
                     4);
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(disc = strstr(disc + 1, "<circle"));
        assert_int_equal(sscanf(disc, "<circle cx=\"%lf\" cy=\"%lf\"", &cx[i], &cy[i]), 2);
    }
    assert_near(cx[1], x2, 0.02);
    assert_near(cy[1], y2, 0.02);
    assert_near((cy[0] - y1) * (x2 - x1), (y2 - y1) * (cx[0] - x1), 5);
    ll_str_release(&text);
}

/* Small ones that together take more than a thousandth of the time, and one elsewhere that does not. */
static void many_small_points_are_shown_and_a_stray_one_is_not(void **state)
{
    (void)state;
    struct ll_work_point points[52] = {{10, 1000, 0.98, 0, "large"}, [51] = {1e-6, 1e-6, 1e-9, 0, "stray"}};
    for (size_t i = 1; i <= 50; i++)
        points[i] = (struct ll_work_point){0.1, 7, 0.0004, 0, "small"};
    const struct ll_roof unit = {"u", 1000};
    assert_near(ll_roofline_shown(&(struct ll_roofline){
                    .units = &unit, .unit_count = 1, .points = points, .point_count = 52}),
                0.98 + 50 * 0.0004, 1e-12);
}

static struct ll_point place_of_text(const struct ll_str *svg, const char *text)
{
    struct ll_point at = {0, 0};
    const char *end = strstr(svg->text, text), *begin = end;
    assert_non_null(end);
    while (begin > svg->text && strncmp(begin, "<text", 5) != 0)
        begin--;
    begin = strstr(begin, "x=\"");
    assert_int_equal(sscanf(begin, "x=\"%lf\" y=\"%lf\"", &at.x, &at.y), 2);
    return at;
}

/* Their lines are as good as one, so the names stand one behind the other. */
static void names_of_memories_alike_do_not_cover_each_other(void **state)
{
    (void)state;
    const struct ll_roof memories[] = {{"scratchpad", 100}, {"a twin", 100}, {"another", 99}};
    const struct ll_work_point point = {0.01, 1, 1, 0, "a"};
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    struct ll_point at[3];
    ll_draw_roofline(&svg, (struct ll_rect){0, 0, 560, 460},
                     &(struct ll_roofline){.memories = memories,
                                           .memory_count = 3,
                                           .units = &(struct ll_roof){"u", 1000},
                                           .unit_count = 1,
                                           .points = &point,
                                           .point_count = 1});
    for (size_t i = 0; i < 3; i++)
        at[i] = place_of_text(&text, memories[i].name);
    for (size_t i = 0; i < 2; i++)
        assert_true(hypot(at[i + 1].x - at[i].x, at[i + 1].y - at[i].y) >=
                    ll_text_width(memories[i].name, LL_TEXT_SMALL));
    ll_str_release(&text);
}

/* A mark at (10, 10), another at (40, 40), on axes to 100 and 40: the last stroke before them goes from the
 * corner of both zeros through the one to the other. */
static void equal_values_lie_on_the_diagonal(void **state)
{
    (void)state;
    const struct ll_curve equal = {NULL, (double[]){10, 40}, (double[]){10, 40}, 2};
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    double x1, y1, x2, y2, cx[2], cy[2];
    ll_draw_lines(&svg, (struct ll_rect){0, 0, 300, 200},
                  &(struct ll_lines){.x_label = "x",
                                     .y_label = "y",
                                     .curves = &equal,
                                     .curve_count = 1,
                                     .x_high = 100,
                                     .y_high = 40,
                                     .diagonal = true});
    const char *mark = strstr(text.text, "<circle"), *stroke = NULL;
    for (const char *at = text.text; (at = strstr(at, "<line class=\"ll-axis\"")) && at < mark; at++)
        stroke = at;
    assert_non_null(stroke);
    assert_int_equal(sscanf(stroke, "<line class=\"ll-axis\" x1=\"%lf\" y1=\"%lf\" x2=\"%lf\" y2=\"%lf\"",
                            &x1, &y1, &x2, &y2),
                     4);
    for (int i = 0; i < 2; i++, mark = strstr(mark + 1, "<circle"))
        assert_int_equal(sscanf(mark, "<circle cx=\"%lf\" cy=\"%lf\"", &cx[i], &cy[i]), 2);
    assert_near(cx[1], x2, 0.02);
    assert_near(cy[1], y2, 0.02);
    assert_near((cx[0] - x1) * 4, x2 - x1, 0.1);
    assert_near((cy[0] - y1) * 4, y2 - y1, 0.1);
    ll_str_release(&text);
}

/* Three points of a front: the line from one to the next goes right, then down. */
static void a_front_is_drawn_as_stairs(void **state)
{
    (void)state;
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    struct ll_curve front = {"front", (double[]){1, 2, 4}, (double[]){4, 3, 1}, 3};
    ll_draw_front(&svg, (struct ll_rect){0, 0, 300, 300},
                  &(struct ll_front){.x_label = "x", .y_label = "y", .all = front, .front = front});
    const char *stairs = strstr(text.text, "<polyline");
    assert_non_null(stairs = strstr(stairs, "points=\""));
    double x[5], y[5];
    assert_int_equal(sscanf(stairs, "points=\"%lf,%lf %lf,%lf %lf,%lf %lf,%lf %lf,%lf\"", &x[0], &y[0], &x[1],
                            &y[1], &x[2], &y[2], &x[3], &y[3], &x[4], &y[4]),
                     10);
    for (int i = 0; i < 4; i += 2) {
        assert_true(x[i + 1] > x[i] && y[i + 1] == y[i]);
        assert_true(x[i + 2] == x[i + 1] && y[i + 2] > y[i + 1]);
    }
    ll_str_release(&text);
}

/* 0.5 and -1 beside each other: a bar of half the length to the right of zero, one to the left. */
static void weights_go_to_both_sides(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b"}, *const series[] = {"s"};
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    ll_draw_weights(&svg, (struct ll_rect){0, 0, 300, 100},
                    &(struct ll_weights){.x_label = "weight",
                                         .names = names,
                                         .name_count = 2,
                                         .series = series,
                                         .series_count = 1,
                                         .values = (double[]){0.5, -1}});
    double x[3], width[3];
    size_t count = 0;
    for (const char *p = text.text; (p = strstr(p, "<rect ")) && count < 3; p++, count++)
        assert_int_equal(sscanf(p, "<rect x=\"%lf\" y=\"%*f\" width=\"%lf\"", &x[count], &width[count]), 2);
    assert_int_equal(count, 3); /* one of them in the legend */
    assert_near(width[2], 2 * width[1], 1e-3);
    assert_near(x[2] + width[2], x[1], 1e-3);
    ll_str_release(&text);
}

static void values_that_do_not_fit_their_cells_are_left_to_the_shade(void **state)
{
    (void)state;
    static const char *const names[] = {"a"};
    for (int room = 12; room <= 120; room += 108) {
        struct ll_str text = {0};
        struct ll_svg svg = {&text};
        ll_draw_heat(&svg, (struct ll_rect){0, 0, room, 100},
                     &(struct ll_heat){.rows = names,
                                       .row_count = 1,
                                       .columns = names,
                                       .column_count = 1,
                                       .values = (double[]){12.345},
                                       .full = 20,
                                       .decimals = 3});
        assert_int_equal(strstr(text.text, "12.345") != NULL, room > 100);
        ll_str_release(&text);
    }
}

static void cells_without_a_number_are_explained(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b"};
    for (int room = 60; room <= 300; room += 240) {
        struct ll_str text = {0};
        struct ll_svg svg = {&text};
        ll_draw_heat(&svg, (struct ll_rect){0, 0, room, 100},
                     &(struct ll_heat){.title = "t",
                                       .unit = "%",
                                       .rows = names,
                                       .row_count = 1,
                                       .columns = names,
                                       .column_count = 2,
                                       .values = (double[]){0.4, NAN},
                                       .full = 20});
        assert_int_equal(strstr(text.text, ">%; blank: below 0.5; grey: none<") != NULL, room > 100);
        ll_str_release(&text);
    }
}

/* Published 30 beside a bar of 10: its axis reaches both, and its mark is open and lies above the bar. */
static void published_marks_are_open_and_on_the_axis(void **state)
{
    (void)state;
    static const char *const groups[] = {"g"}, *const series[] = {"a"};
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    double bar_y, mark_y;
    ll_draw_bars(&svg, (struct ll_rect){0, 0, 200, 200},
                 &(struct ll_bars){.y_label = "y",
                                   .groups = groups,
                                   .group_count = 1,
                                   .series = series,
                                   .series_count = 1,
                                   .values = (double[]){10},
                                   .published = (double[]){30}});
    const char *bar = strstr(text.text, "<rect "),
               *mark = bar ? strstr(bar, "<path class=\"ll-stroke\"") : NULL;
    assert_non_null(strstr(text.text, ">published<"));
    assert_non_null(mark);
    assert_int_equal(sscanf(bar, "<rect x=\"%*f\" y=\"%lf\"", &bar_y), 1);
    assert_int_equal(sscanf(mark, "<path class=\"ll-stroke\" d=\"M%*f %lf", &mark_y), 1);
    assert_true(mark_y < bar_y);
    ll_str_release(&text);
}

/* A curve and a published one on the same point: the open mark comes first and is wider. */
static void published_points_never_cover_ours(void **state)
{
    (void)state;
    const struct ll_curve ours = {"simulated", (double[]){5}, (double[]){7}, 1},
                          theirs = {"published", (double[]){5}, (double[]){7}, 1};
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    ll_draw_lines(&svg, (struct ll_rect){0, 0, 300, 200},
                  &(struct ll_lines){.x_label = "x",
                                     .y_label = "y",
                                     .curves = &ours,
                                     .curve_count = 1,
                                     .published = &theirs,
                                     .published_count = 1});
    const char *open = strstr(text.text, "class=\"ll-hollow ll-c0\""), *mark = strstr(text.text, "<circle");
    assert_non_null(open);
    assert_non_null(mark = strstr(mark + 1, "<circle")); /* the first one is the legend's */
    assert_true(open < mark);
    ll_str_release(&text);
}

/* Of ratios, 4 and a quarter are equally far from 1, on both sides. */
static void ratios_are_shaded_to_both_sides(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b"};
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    ll_draw_heat(&svg, (struct ll_rect){0, 0, 300, 100},
                 &(struct ll_heat){.title = "t",
                                   .unit = "times",
                                   .rows = names,
                                   .row_count = 1,
                                   .columns = names,
                                   .column_count = 2,
                                   .values = (double[]){4, 0.25},
                                   .full = 4,
                                   .middle = 1,
                                   .decimals = 2});
    assert_non_null(strstr(text.text, ll_shade(1).fill));
    assert_non_null(strstr(text.text, ll_shade(-1).fill));
    assert_non_null(strstr(text.text, "marked corner: below 1"));
    ll_str_release(&text);
}

static void shades_go_from_light_to_dark(void **state)
{
    (void)state;
    assert_string_equal(ll_shade(0).fill, "#f7fbff");
    assert_string_equal(ll_shade(1).fill, "#08306b");
    assert_string_equal(ll_shade(7).fill, "#08306b");
    assert_string_equal(ll_shade(-1).fill, "#7f2704");
    assert_true(ll_shade(0.9).dark && !ll_shade(0.1).dark);
    assert_string_equal(ll_shade(NAN).fill, "#bbbbbb");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reader_of_this_test_sees_what_is_wrong),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(ticks_are_round_and_span_the_data),
        cmocka_unit_test(whole_numbers_have_whole_ticks),
        cmocka_unit_test(ticks_lose_no_digit),
        cmocka_unit_test(every_value_finds_room_on_its_axis),
        cmocka_unit_test(any_data_makes_a_sound_figure),
        cmocka_unit_test(the_same_data_is_the_same_figure),
        cmocka_unit_test(negative_bars_hang_from_zero),
        cmocka_unit_test(stacked_bars_stand_on_each_other),
        cmocka_unit_test(a_scatter_plot_has_one_axis_and_no_dot_twice),
        cmocka_unit_test(points_at_the_limit_lie_on_the_roof),
        cmocka_unit_test(many_small_points_are_shown_and_a_stray_one_is_not),
        cmocka_unit_test(names_of_memories_alike_do_not_cover_each_other),
        cmocka_unit_test(equal_values_lie_on_the_diagonal),
        cmocka_unit_test(a_front_is_drawn_as_stairs),
        cmocka_unit_test(weights_go_to_both_sides),
        cmocka_unit_test(values_that_do_not_fit_their_cells_are_left_to_the_shade),
        cmocka_unit_test(cells_without_a_number_are_explained),
        cmocka_unit_test(published_marks_are_open_and_on_the_axis),
        cmocka_unit_test(published_points_never_cover_ours),
        cmocka_unit_test(ratios_are_shaded_to_both_sides),
        cmocka_unit_test(shades_go_from_light_to_dark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
