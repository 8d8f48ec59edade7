/* SPDX-License-Identifier: Apache-2.0 */
/* The shell of a page, and how its data is packed. */
#include "sim/page/page.h"

#include <stdint.h>

#include "sim/page/shell.h"
#include "tracer/base/file.h"

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

/* The sources of this folder, in the order in which a page needs them. */
#define SOURCES(X) X(base_js) X(plot_js) X(timeline_js) X(sim_ops_js) X(sim_js)
#define X(name) extern const char ll_page_##name[];
X(base_css)
SOURCES(X)
#undef X

static const char *const scripts[] = {
#define X(name) ll_page_##name,
    SOURCES(X)
#undef X
};

static void add_escaped(struct ll_str *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            ll_str_add(out, "&lt;");
        else if (*text == '&')
            ll_str_add(out, "&amp;");
        else
            ll_str_add_bytes(out, (unsigned char)*text < 0x80 ? text : "?", 1);
}

void ll_page_write(const char *title, const char *plain, const struct ll_str *data, struct ll_str *out)
{
    ll_str_add(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    add_escaped(out, title);
    ll_str_add(out, "</title>\n<style>\n");
    ll_str_add(out, ll_page_base_css);
    ll_str_add(out, "</style></head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the result</a>\n"
                    "<header id=\"top\"></header>\n<main id=\"main\" tabindex=\"-1\"><noscript><pre>");
    add_escaped(out, plain);
    ll_str_add(out, "</pre></noscript></main>\n<footer id=\"foot\"></footer>\n"
                    "<script type=\"application/octet-stream\" id=\"data\">");
    out->failed |= data->failed || !ll_pack(data->text, data->length, out);
    ll_str_add(out, "</script>\n<script>\n\"use strict\";\n(() => {\n");
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        ll_str_add(out, scripts[i]);
    ll_str_add(out, "})();\n</script>\n</body></html>\n");
}
