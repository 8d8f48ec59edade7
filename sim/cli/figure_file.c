/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/figure_file.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "tracer/base/file.h"

#ifdef LL_RSVG
#include <cairo-pdf.h>
#include <dlfcn.h>
#include <librsvg/rsvg.h>
#endif

enum format { SVG, PNG, PDF, FORMATS };
static const char *const endings[FORMATS] = {[SVG] = ".svg", [PNG] = ".png", [PDF] = ".pdf"};

#ifdef LL_RSVG
static const bool converts = true;
#else
static const bool converts = false;
#endif

/* FORMATS after saying that there is no such ending. */
static enum format format_of(const char *path)
{
    const char *name = ll_base_name(path), *dot = strrchr(name, '.');
    for (enum format f = SVG; dot && f < FORMATS; f++)
        if (strcasecmp(dot, endings[f]) == 0)
            return f;
    ll_cli_reject("--figure %s: expected a file that ends in %s", path, ".svg, .png or .pdf");
    return FORMATS;
}

static bool may_write(const char *path)
{
    enum format format = format_of(path);
    if (format != SVG && format != FORMATS && !converts)
        ll_cli_reject(
            "--figure %s: this program was built without librsvg, so it writes .svg alone; for .png and "
            ".pdf install librsvg2-dev and build it anew",
            path);
    return format == SVG || (format != FORMATS && converts);
}

static bool find_kind(const struct ll_args *args, const char *word, const char *const *kinds,
                      size_t kind_count, size_t *kind)
{
    char lister[64];
    for (*kind = 0; *kind < kind_count; (*kind)++)
        if (strcmp(word, kinds[*kind]) == 0)
            return true;
    ll_snprintf(lister, sizeof lister, "leadline %s --help", args->command->name);
    ll_cli_reject_unknown("kind of figure", word, kinds, kind_count, lister);
    return false;
}

bool ll_figure_read(const struct ll_args *args, const char *const *kinds, size_t kind_count,
                    struct ll_figure_files *files)
{
    size_t figures = 0, words = 0;
    const char *path;
    assert(kind_count > 0);
    files->count = 0;
    while (ll_value_at(args, "figure", figures))
        figures++;
    while (ll_value_at(args, "kind", words))
        words++;
    if (words > figures)
        return ll_cli_reject("--kind %s: no file to draw it to; name one with --figure",
                             ll_value_at(args, "kind", figures)) == LL_DONE;
    if (words < figures && figures > 1)
        return ll_cli_reject("--figure %s: of several figures each needs its --kind",
                             ll_value_at(args, "figure", words)) == LL_DONE;
    if (figures > LL_MOST_FIGURES)
        return ll_cli_reject("--figure: at most %d figures in one run", LL_MOST_FIGURES) == LL_DONE;
    for (size_t i = 0; (path = ll_value_at(args, "figure", i)); i++) {
        struct ll_figure_file *file = &files->at[files->count++];
        const char *word = ll_value_at(args, "kind", i);
        file->path = path;
        file->kind = 0;
        if (!may_write(path) || (word && !find_kind(args, word, kinds, kind_count, &file->kind)))
            return false;
    }
    return true;
}

bool ll_figure_wants(const struct ll_figure_files *files, size_t kind)
{
    bool wants = false;
    for (size_t i = 0; i < files->count; i++)
        wants |= files->at[i].kind == kind;
    return wants;
}

#ifdef LL_RSVG
/* The libraries are opened when a figure is to be converted: no other run of the program waits for them. */
#define FUNCTIONS(X)                                                                                         \
    X(rsvg_handle_new_from_data)                                                                             \
    X(rsvg_handle_get_intrinsic_size_in_pixels)                                                              \
    X(rsvg_handle_render_document)                                                                           \
    X(cairo_image_surface_create)                                                                            \
    X(cairo_pdf_surface_create_for_stream)                                                                   \
    X(cairo_pdf_surface_set_metadata)                                                                        \
    X(cairo_create)                                                                                          \
    X(cairo_scale)                                                                                           \
    X(cairo_status)                                                                                          \
    X(cairo_destroy)                                                                                         \
    X(cairo_surface_write_to_png_stream)                                                                     \
    X(cairo_surface_finish)                                                                                  \
    X(cairo_surface_status)                                                                                  \
    X(cairo_surface_destroy)                                                                                 \
    X(g_object_unref)

static struct {
#define X(name) __typeof__(&(name)) name;
    FUNCTIONS(X)
#undef X
} rsvg;

/* Its dependencies, cairo and GObject, come with it and are found through it. */
static bool open_library(void)
{
    static const char library[] = "librsvg-2.so.2";
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    bool found = handle != NULL;
#define X(name) found = found && (*(void **)&rsvg.name = dlsym(handle, #name));
    FUNCTIONS(X)
#undef X
    if (!found)
        ll_cli_fail("%s cannot be opened: %s", library, handle ? "it lacks a function" : dlerror());
    return found;
}

static cairo_status_t append(void *out, const unsigned char *bytes, unsigned length)
{
    ll_str_add_bytes(out, (const char *)bytes, length);
    return ((struct ll_str *)out)->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

/* A picture of two pixels for each of the figure's, for screens that have them; a page on which 96 of the
 * figure's pixels are an inch, without the time at which it was made, so that the same figure is the same
 * bytes. */
static bool draw(RsvgHandle *figure, enum format format, struct ll_str *out)
{
    static const double zoom = 2, points = 72.0 / 96;
    RsvgRectangle page = {0};
    if (!rsvg.rsvg_handle_get_intrinsic_size_in_pixels(figure, &page.width, &page.height))
        return false;
    double scale = format == PNG ? zoom : points;
    cairo_surface_t *surface =
        format == PNG
            ? rsvg.cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)(scale * page.width),
                                              (int)(scale * page.height))
            : rsvg.cairo_pdf_surface_create_for_stream(append, out, scale * page.width, scale * page.height);
    cairo_t *context = rsvg.cairo_create(surface);
    if (format == PDF)
        rsvg.cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "1970-01-01T00:00:00Z");
    rsvg.cairo_scale(context, scale, scale);
    bool drawn = rsvg.rsvg_handle_render_document(figure, context, &page, NULL) &&
                 rsvg.cairo_status(context) == CAIRO_STATUS_SUCCESS;
    rsvg.cairo_destroy(context);
    if (format == PNG)
        drawn = drawn && rsvg.cairo_surface_write_to_png_stream(surface, append, out) == CAIRO_STATUS_SUCCESS;
    rsvg.cairo_surface_finish(surface);
    drawn = drawn && rsvg.cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS;
    rsvg.cairo_surface_destroy(surface);
    return drawn && !out->failed;
}

/* The figure's text becomes its picture; false after saying why not. */
static bool convert(const char *path, enum format format, struct ll_str *svg)
{
    struct ll_str out = {0};
    if (!open_library())
        return false;
    RsvgHandle *figure = rsvg.rsvg_handle_new_from_data((const guint8 *)svg->text, svg->length, NULL);
    bool drawn = figure && draw(figure, format, &out);
    if (figure)
        rsvg.g_object_unref(figure);
    if (!drawn) {
        ll_str_release(&out);
        ll_cli_fail("%s: librsvg cannot draw this figure", path);
        return false;
    }
    ll_str_release(svg);
    *svg = out;
    return true;
}
#else
static bool convert(const char *path, enum format format, struct ll_str *svg)
{
    (void)path;
    (void)format;
    (void)svg;
    return false; /* refused before */
}
#endif

bool ll_figure_write(const char *path, struct ll_str *svg)
{
    enum format format = format_of(path);
    if (format != SVG && !svg->failed && !convert(path, format, svg)) {
        ll_str_release(svg);
        return false;
    }
    return ll_write_file(path, svg);
}
