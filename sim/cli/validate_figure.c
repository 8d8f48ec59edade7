/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/validate_figure.h"

#include <string.h>

#include "sim/report/figure/figure.h"
#include "tracer/base/map.h"

enum { COLUMNS = 3, PANEL = 380 };

/* Hardware and families by number, in the order of their first rows. */
struct gathering {
    struct ll_arena *arena;
    struct ll_map hardware, families;
    struct ll_curve *curves; /* of hardware h and family f at h * families + f */
    double *measured_s, *predicted_s;
};

static bool intern(struct ll_map *map, const char *text, uint32_t *id)
{
    bool is_new;
    *id = ll_map_intern(map, text, strlen(text), &is_new);
    return *id != LL_NO_ID;
}

static bool number_families(struct gathering *g, const struct ll_validation *v)
{
    uint32_t id;
    for (size_t i = 0; i < v->family_count; i++)
        if (!intern(&g->hardware, v->families[i].hardware, &id) ||
            !intern(&g->families, v->families[i].family, &id))
            return false;
    return true;
}

static struct ll_curve *curve_of(struct gathering *g, const char *hardware, const char *family)
{
    uint32_t h, f;
    return intern(&g->hardware, hardware, &h) && intern(&g->families, family, &f)
               ? &g->curves[(size_t)h * g->families.count + f]
               : NULL;
}

/* Room for the rows of each curve, one curve behind the other; then the rows. */
static bool fill_curves(struct gathering *g, const struct ll_validation *v)
{
    size_t place = 0;
    g->curves = ll_alloc(g->arena, (size_t)g->hardware.count * g->families.count, sizeof *g->curves);
    g->measured_s = ll_alloc(g->arena, v->count, sizeof *g->measured_s);
    g->predicted_s = ll_alloc(g->arena, v->count, sizeof *g->predicted_s);
    if (!g->curves || !g->measured_s || !g->predicted_s)
        return false;
    for (size_t i = 0; i < v->family_count; i++) {
        const struct ll_family_errors *family = &v->families[i];
        struct ll_curve *curve = curve_of(g, family->hardware, family->family);
        *curve = (struct ll_curve){family->family, g->measured_s + place, g->predicted_s + place, 0};
        place += family->errors.ours.points;
    }
    for (size_t i = 0; i < v->count; i++) {
        const struct ll_prediction *p = &v->predictions[i];
        if (!p->machine)
            continue;
        struct ll_curve *curve = curve_of(g, p->row->hardware, p->family);
        g->measured_s[(size_t)(curve->x - g->measured_s) + curve->count] = p->row->time_s;
        g->predicted_s[(size_t)(curve->x - g->measured_s) + curve->count++] = p->time_s;
    }
    return true;
}

/* "5160 rows, 15.3 % MAPE (roofline 48.2 %)": means over the families' rows. */
static const char *about_hardware(const struct gathering *g, const struct ll_validation *v, const char *name)
{
    double rows = 0, ours = 0, roofline = 0;
    for (size_t i = 0; i < v->family_count; i++) {
        const struct ll_family_errors *family = &v->families[i];
        if (strcmp(family->hardware, name) != 0)
            continue;
        rows += (double)family->errors.ours.points;
        ours += (double)family->errors.ours.points * family->errors.ours.mape;
        roofline += (double)family->errors.ours.points * family->errors.roofline.mape;
    }
    return ll_format(g->arena, "%.0f row%s, %.1f %% MAPE (plain roofline %.1f %%)", rows,
                     rows == 1 ? "" : "s", 100 * ours / rows, 100 * roofline / rows);
}

static bool draw(struct gathering *g, const struct ll_validation *v, struct ll_str *out)
{
    struct ll_svg svg = {out};
    const struct ll_page page = {
        "Predicted against measured times",
        "A point for each measured row; on the diagonal a prediction is right, in the "
        "shaded band it is within 20 % of what was measured.",
        g->hardware.count,
        COLUMNS < g->hardware.count ? COLUMNS : g->hardware.count,
        PANEL,
        PANEL,
        NULL};
    ll_page_open(&svg, &page);
    for (uint32_t h = 0; h < g->hardware.count; h++) {
        const struct ll_map_entry *entry = &g->hardware.entries[h];
        const char *name = ll_copy_text(g->arena, entry->bytes, entry->length);
        const char *about = name ? about_hardware(g, v, name) : NULL;
        if (!about)
            return false;
        ll_draw_scatter(&svg, ll_page_panel(&page, h),
                        &(struct ll_scatter){.title = name,
                                             .about = about,
                                             .x_label = "measured (s)",
                                             .y_label = "predicted (s)",
                                             .series = &g->curves[(size_t)h * g->families.count],
                                             .series_count = g->families.count,
                                             .band = 0.2});
    }
    ll_svg_close(&svg);
    return !out->failed;
}

bool ll_validation_figure(const struct ll_validation *validation, struct ll_arena *arena, struct ll_str *svg)
{
    struct gathering g = {.arena = arena};
    bool done = number_families(&g, validation) && fill_curves(&g, validation) && draw(&g, validation, svg);
    ll_map_release(&g.hardware);
    ll_map_release(&g.families);
    return done;
}
