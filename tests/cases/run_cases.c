/* SPDX-License-Identifier: Apache-2.0 */
/* run_cases FILE.case...: checks every line of every file. */
#define _POSIX_C_SOURCE 200809L
#include "case.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first word of a line says what it is about; a line that begins with none of these is about an op. */
static const struct {
    const char *word;
    void (*check)(struct ll_case *c);
} kinds[] = {
    {"", ll_check_op_case},
    {"array ", ll_check_unit_case},
    {"matrix ", ll_check_unit_case},
    {"vector ", ll_check_unit_case},
};

void ll_case_fail(struct ll_case *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s:%u: %s: ", c->file, c->line, c->column[0]);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    c->failed = true;
}

uint64_t ll_case_number(struct ll_case *c, const char *text)
{
    uint64_t sum = 0, product = 1;
    for (bool plus = true;; text++) {
        char *end;
        while (isspace((unsigned char)*text))
            text++;
        errno = 0;
        product *= strtoull(text, &end, 10);
        if (end == text || errno || !isdigit((unsigned char)*text)) {
            ll_case_fail(c, "`%s` is no sum of products", text);
            return 0;
        }
        for (text = end; isspace((unsigned char)*text); text++)
            ;
        if (*text == '*')
            continue;
        sum = plus ? sum + product : sum - product;
        plus = *text == '+';
        product = 1;
        if (*text != '+' && *text != '-')
            break;
    }
    if (*text)
        ll_case_fail(c, "`%s` does not belong to a number", text);
    return sum;
}

void ll_case_expect(struct ll_case *c, const char *what, uint64_t got, const char *text)
{
    uint64_t expected = ll_case_number(c, text);
    if (got != expected)
        ll_case_fail(c, "%s is %llu, expected %llu (%s)", what, (unsigned long long)got,
                     (unsigned long long)expected, c->column[c->columns - 1]);
}

char *ll_case_word(char **rest)
{
    *rest += strspn(*rest, " \t");
    if (!**rest)
        return NULL;
    char *word = *rest;
    *rest += strcspn(*rest, " \t");
    if (**rest)
        *(*rest)++ = '\0';
    return word;
}

bool ll_case_value(const char *text, const char *key, char value[static 64])
{
    size_t length = strlen(key);
    for (const char *found = text; (found = strstr(found, key)); found += length) {
        if ((found != text && !isspace((unsigned char)found[-1])) || found[length] != '=')
            continue;
        snprintf(value, 64, "%.*s", (int)strcspn(found + length + 1, " \t"), found + length + 1);
        return true;
    }
    return false;
}

static char *strip(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

static void check_line(struct ll_case *c, char *text)
{
    for (char *bar; c->columns < LL_CASE_COLUMNS; text = bar + 1) {
        bar = strchr(text, '|');
        if (bar)
            *bar = '\0';
        c->column[c->columns++] = strip(text);
        if (!bar)
            break;
    }
    size_t kind = sizeof kinds / sizeof kinds[0] - 1;
    while (strncmp(c->column[0], kinds[kind].word, strlen(kinds[kind].word)) != 0)
        kind--;
    if (!*c->column[c->columns - 1] || c->columns < 4)
        ll_case_fail(c,
                     "a case has at least four columns, and the last one says where the numbers come from");
    else
        kinds[kind].check(c);
}

static unsigned check_file(const char *path, unsigned *failed)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(1);
    }
    unsigned cases = 0, line = 0;
    char *text = NULL;
    size_t size = 0;
    while (getline(&text, &size, file) > 0) {
        struct ll_case c = {.file = path, .line = ++line};
        char *start = strip(text);
        if (!*start || *start == '#')
            continue;
        check_line(&c, start);
        cases++;
        *failed += c.failed;
    }
    free(text);
    fclose(file);
    return cases;
}

int main(int argc, char **argv)
{
    unsigned cases = 0, failed = 0;
    for (int i = 1; i < argc; i++)
        cases += check_file(argv[i], &failed);
    unsigned missing = ll_ops_without_case();
    printf("%u cases, %u failed\n", cases, failed);
    return cases == 0 || failed > 0 || missing > 0;
}
