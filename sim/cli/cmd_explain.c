/* SPDX-License-Identifier: Apache-2.0 */
/* leadline explain [TERM]: what a word in our output means. */
#include "sim/cli/command.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"

#include <string.h>

static const struct {
    const char *term, *meaning;
} terms[] = {
#define LL_TERM(term, meaning) {term, meaning},
#include "sim/cli/terms.def"
#undef LL_TERM
};
enum { TERM_COUNT = sizeof terms / sizeof terms[0] };

static void add_term(size_t i, struct ll_json *json, struct ll_str *out)
{
    if (json) {
        ll_json_put_text(json, terms[i].term, terms[i].meaning);
        return;
    }
    ll_str_addf(out, "%s\n", terms[i].term);
    ll_wrap(out, terms[i].meaning, ll_screen_width());
}

static int find_term(const char *word, size_t *found)
{
    const char *names[TERM_COUNT];
    for (size_t i = 0; i < TERM_COUNT; i++) {
        names[i] = terms[i].term;
        if (strcmp(word, names[i]) == 0) {
            *found = i;
            return LL_DONE;
        }
    }
    return ll_unknown("word", word, names, TERM_COUNT, "leadline explain");
}

static int run(const struct ll_args *args)
{
    size_t first = 0, end = TERM_COUNT;
    if (args->word_count) {
        int status = find_term(args->words[0], &first);
        if (status != LL_DONE)
            return status;
        end = first + 1;
    }
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    bool as_json = ll_flag(args, "json");
    if (as_json)
        ll_json_open_object(&json);
    for (size_t i = first; i < end; i++)
        add_term(i, as_json ? &json : NULL, &out);
    if (as_json)
        ll_json_close_object(&json);
    return ll_print(&out);
}

const struct ll_command ll_command_explain = {
    .name = "explain",
    .synopsis = "[TERM]",
    .summary = "say what a word in the output means",
    .examples = "  leadline explain\n  leadline explain dependency\n",
    .most_words = 1,
    .run = run,
};
