/* SPDX-License-Identifier: Apache-2.0 */
/* A command line from any text, a word a line. Commands that compute for long, or start something, are left
 * out, and so are words with a slash, which would name files elsewhere. */
#include "command.h"

static bool is_taken(const char *command)
{
    static const char *const taken[] = {"sim",    "plan",    "info", "pareto",   "cache",  "alike", "verify",
                                        "models", "explain", "ops",  "machines", "export", "dump",  NULL};
    return is_any_of(command, taken);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 40 };
    const char *words[MOST + 1] = {NULL};
    prepare();
    char *text = strndup((const char *)data, size), *rest = text;
    size_t count = 0;
    for (char *word; count < MOST && (word = strsep(&rest, "\n"));)
        words[count++] = word;
    bool elsewhere = strchr(text, '/') || strstr(text, "..");
    if (words[0] && is_taken(words[0]) && !elsewhere)
        run_words(words);
    free(text);
    return 0;
}
