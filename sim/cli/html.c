/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: what --html of every command has in common. */
#include "sim/cli/html.h"

#include <string.h>

#include "tracer/base/arena.h"

/* As a POSIX shell reads it back: what has no character of its own meaning stands as it is. */
static void add_quoted(const char *word, struct ll_str *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*word && word[strspn(word, plain)] == '\0') {
        ll_str_add(out, word);
        return;
    }
    ll_str_add(out, "'");
    for (; *word; word++)
        if (*word == '\'')
            ll_str_add(out, "'\\''");
        else
            ll_str_add_bytes(out, word, 1);
    ll_str_add(out, "'");
}

static bool is_among(const char *name, const char *const *names)
{
    for (; names && *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* What says how a command prints, not what comes out. */
static const char *const of_printing[] = {"html", "json", "format", "top", "color", NULL};

const char *ll_typed(const struct ll_args *args, const char *const *without, bool with_words)
{
    struct ll_str line = {0};
    ll_str_addf(&line, "leadline %s", args->command->name);
    for (size_t i = 0; i < args->given_count; i++) {
        const struct ll_given *given = &args->given[i];
        if (is_among(given->option->name, without) || (without && is_among(given->option->name, of_printing)))
            continue;
        ll_str_addf(&line, " --%s", given->option->name);
        if (given->value) {
            ll_str_add(&line, " ");
            add_quoted(given->value, &line);
        }
    }
    for (size_t i = 0; with_words && i < args->word_count; i++) {
        ll_str_add(&line, " ");
        add_quoted(args->words[i], &line);
    }
    const char *copy = line.failed ? NULL : ll_copy_text(args->arena, line.text, line.length);
    ll_str_release(&line);
    return copy;
}

enum { PLAIN_WIDTH = 100 };

void ll_page_plain_begin(void)
{
    ll_hold_screen_width(PLAIN_WIDTH);
}

int ll_write_page(const struct ll_args *args, const char *view, const char *title,
                  const struct ll_page_content *content)
{
    return ll_write_page_to(args, ll_value(args, "html", NULL), view, title, content);
}

int ll_write_page_to(const struct ll_args *args, const char *path, const char *view, const char *title,
                     const struct ll_page_content *content)
{
    struct ll_str text = {0};
    const char *command = ll_typed(args, NULL, true);
    ll_hold_screen_width(0);
    const struct ll_html_page page = {view,
                                      {title, command, LL_VERSION, content->again},
                                      content->plain.text ? content->plain.text : "",
                                      &content->document,
                                      content->more.length ? &content->more : NULL,
                                      content->columns.length ? &content->columns : NULL};
    text.failed = !command || content->plain.failed || content->more.failed || content->columns.failed;
    if (!text.failed)
        ll_page_write(&page, &text);
    return ll_write_file(path, &text) ? LL_DONE : LL_FAILED;
}

void ll_page_content_release(struct ll_page_content *content)
{
    ll_str_release(&content->plain);
    ll_str_release(&content->document);
    ll_str_release(&content->more);
    ll_str_release(&content->columns);
}
