/* SPDX-License-Identifier: Apache-2.0 */
/* The shell of a page, and how its data is packed. */
#include "sim/page/page.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "tracer/base/file.h"
#include "tracer/base/json.h"

static void add_base64(struct ll_str *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[1024];
    size_t used = 0;
    for (size_t i = 0; i < length; i += 3) {
        size_t here = length - i < 3 ? length - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16 | (here > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (here > 2 ? bytes[i + 2] : 0);
        text[used++] = digits[bits >> 18];
        text[used++] = digits[bits >> 12 & 63];
        text[used++] = '=';
        text[used++] = '=';
        if (here > 1)
            text[used - 2] = digits[bits >> 6 & 63];
        if (here > 2)
            text[used - 1] = digits[bits & 63];
        if (used == sizeof text || i + 3 >= length) {
            ll_str_add_bytes(out, text, used);
            used = 0;
        }
    }
}

bool ll_pack(const void *bytes, size_t length, struct ll_str *out)
{
    struct ll_str packed = {0};
    bool done = ll_gzip(bytes, length, &packed);
    if (done)
        add_base64(out, (const unsigned char *)packed.text, packed.length);
    ll_str_release(&packed);
    return done && !out->failed;
}

/* The sources of this folder by symbol. A page has those that all share, then those of its view, then the one
 * that starts it. */
#define SOURCES(X)                                                                                           \
    X(base_css)                                                                                              \
    X(base_js)                                                                                               \
    X(plot_js)                                                                                               \
    X(parts_js)                                                                                              \
    X(timeline_js)                                                                                           \
    X(sim_ops_js)                                                                                            \
    X(sim_js)                                                                                                \
    X(sweep_js) X(plan_js) X(compare_js) X(info_js) X(validate_js) X(study_js) X(serve_js) X(boot_js)
#define X(name) extern const char ll_page_##name[];
SOURCES(X)
#undef X

enum { MOST_SOURCES = 4 }; /* of a view */

/* A row for each view: its name, and the sources that only it needs. */
static const struct {
    const char *name;
    const char *sources[MOST_SOURCES];
} views[] = {
    {"sim", {ll_page_timeline_js, ll_page_sim_ops_js, ll_page_sim_js}},
    {"sweep", {ll_page_sweep_js}},
    {"compare", {ll_page_compare_js}},
    {"info", {ll_page_info_js}},
    {"validate", {ll_page_validate_js}},
    {"study", {ll_page_study_js}},
    {"serve", {ll_page_serve_js}},
    {"plan", {ll_page_timeline_js, ll_page_plan_js}},
};

static void add_scripts(const char *view, struct ll_str *out)
{
    size_t v = 0;
    while (v < sizeof views / sizeof *views && strcmp(views[v].name, view) != 0)
        v++;
    assert(v < sizeof views / sizeof *views);
    ll_str_add(out, ll_page_base_js);
    ll_str_add(out, ll_page_plot_js);
    ll_str_add(out, ll_page_parts_js);
    for (size_t i = 0; i < MOST_SOURCES && views[v].sources[i]; i++)
        ll_str_add(out, views[v].sources[i]);
    ll_str_add(out, ll_page_boot_js);
}

static void add_escaped(struct ll_str *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            ll_str_add(out, "&lt;");
        else if (*text == '&')
            ll_str_add(out, "&amp;");
        else if ((unsigned char)*text >= ' ' || *text == '\n' || *text == '\t') /* others mark colours */
            ll_str_add_bytes(out, (unsigned char)*text < 0x80 ? text : "?", 1);
}

/* A JSON document as the value of a key; null where there is none. */
static void put_document(struct ll_str *out, const char *key, const struct ll_str *document)
{
    ll_str_addf(out, ",\"%s\":", key);
    if (document && document->length)
        ll_str_add_bytes(out, document->text, document->length);
    else
        ll_str_add(out, "null");
    out->failed |= document && document->failed;
}

static void add_data(const struct ll_html_page *page, struct ll_str *out)
{
    struct ll_str data = {0}, head = {0};
    struct ll_json json = {.out = &head};
    ll_json_open_object(&json);
    ll_json_put_text(&json, "view", page->view);
    ll_json_put_text(&json, "title", page->origin.title);
    ll_json_put_text(&json, "command", page->origin.command);
    ll_json_put_text(&json, "version", page->origin.version);
    ll_json_put_text(&json, "again", page->origin.again);
    ll_json_close_object(&json);
    if (!head.failed)
        ll_str_add_bytes(&data, head.text, head.length - 1); /* the brace is added at the end */
    put_document(&data, "document", page->document);
    put_document(&data, "more", page->more);
    ll_str_add(&data, "}");
    out->failed |= head.failed || data.failed || !ll_pack(data.text, data.length, out);
    ll_str_release(&head);
    ll_str_release(&data);
}

void ll_page_write(const struct ll_html_page *page, struct ll_str *out)
{
    ll_str_add(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    add_escaped(out, page->origin.title);
    ll_str_add(out, "</title>\n<style>\n");
    ll_str_add(out, ll_page_base_css);
    ll_str_add(out, "</style></head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the result</a>\n"
                    "<header id=\"top\"><h1>");
    add_escaped(out, page->origin.title);
    ll_str_add(out, "</h1></header>\n<main id=\"main\" tabindex=\"-1\"><noscript><pre>");
    add_escaped(out, page->plain);
    ll_str_add(out, "</pre></noscript></main>\n<footer id=\"foot\"></footer>\n"
                    "<script type=\"application/octet-stream\" id=\"data\">");
    add_data(page, out);
    ll_str_add(out, "</script>\n");
    if (page->columns) {
        ll_str_add(out, "<script type=\"application/octet-stream\" id=\"columns\">");
        out->failed |= page->columns->failed || !ll_pack(page->columns->text, page->columns->length, out);
        ll_str_add(out, "</script>\n");
    }
    ll_str_add(out, "<script>\n\"use strict\";\n(() => {\n");
    add_scripts(page->view, out);
    ll_str_add(out, "})();\n</script>\n</body></html>\n");
}
