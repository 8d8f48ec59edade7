/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive descent, with the precedence of Python: sums of products of signs of powers. */
#include "sim/interchange/expression.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "sim/interchange/exchange.h"

enum { DEEPEST = 48, ARGUMENTS = 8, MOST_NAMES = 10000 };

struct parser {
    const char *at;
    const struct ll_scopes *scopes;
    int depth;  /* of brackets and of names within names */
    int *names; /* looked up so far: names within names grow without bound */
    bool right;
};

static double sum(struct parser *p);

static bool accept(struct parser *p, const char *word)
{
    p->at += strspn(p->at, " \t\n");
    size_t length = strlen(word);
    if (strncmp(p->at, word, length) != 0)
        return false;
    p->at += length;
    return true;
}

static double wrong(struct parser *p)
{
    p->right = false;
    return 0;
}

static double call(struct parser *p, const char *name, size_t length)
{
    static const struct {
        const char *name;
        double (*of)(double);
    } functions[] = {{"ceil", ceil}, {"floor", floor}, {"round", nearbyint}, {"abs", fabs},  {"sqrt", sqrt},
                     {"log", log},   {"log2", log2},   {"log10", log10},     {"int", trunc}, {"float", NULL}};
    double value[ARGUMENTS];
    int count = 0;
    do
        value[count++] = sum(p);
    while (p->right && count < ARGUMENTS && accept(p, ","));
    if (!p->right || !accept(p, ")"))
        return wrong(p);
    bool least = length == 3 && !memcmp(name, "min", 3), most = length == 3 && !memcmp(name, "max", 3);
    for (int i = 1; (least || most) && i < count; i++)
        value[0] = least ? fmin(value[0], value[i]) : fmax(value[0], value[i]);
    if (least || most)
        return value[0];
    if (length == 3 && !memcmp(name, "pow", 3) && count == 2)
        return pow(value[0], value[1]);
    for (size_t i = 0; i < sizeof functions / sizeof *functions && count == 1; i++)
        if (strlen(functions[i].name) == length && !memcmp(functions[i].name, name, length))
            return functions[i].of ? functions[i].of(value[0]) : value[0];
    return wrong(p);
}

/* What a name stands for, in the innermost scope that has it. */
static double look_up(struct parser *p, const char *name, size_t length)
{
    char key[64];
    if (length >= sizeof key || ++*p->names > MOST_NAMES)
        return wrong(p);
    memcpy(key, name, length);
    key[length] = '\0';
    for (int i = p->scopes->count - 1; i >= 0; i--) {
        struct ll_node *node = ll_node_get(p->scopes->map[i], key);
        if (!node || !node->text)
            continue;
        struct parser inner = {node->text, p->scopes, p->depth + 1, p->names, p->depth < DEEPEST};
        double value = inner.right ? sum(&inner) : 0;
        inner.at += strspn(inner.at, " \t\n");
        node->taken = true;
        return inner.right && !*inner.at ? value : wrong(p);
    }
    return wrong(p);
}

static double atom(struct parser *p)
{
    p->at += strspn(p->at, " \t\n");
    if (++p->depth > DEEPEST)
        return wrong(p);
    double value = 0;
    size_t length = 0;
    if (accept(p, "(")) {
        value = sum(p);
        p->right &= accept(p, ")");
    } else if (isdigit((unsigned char)*p->at) || *p->at == '.') {
        char digits[64];
        while ((isalnum((unsigned char)p->at[length]) || strchr("._", p->at[length]) ||
                (length > 0 && strchr("+-", p->at[length]) && strchr("eE", p->at[length - 1]))) &&
               p->at[length] && length + 1 < sizeof digits)
            length++;
        memcpy(digits, p->at, length);
        digits[length] = '\0';
        p->at += length;
        p->right &= ll_is_number(digits, &value);
    } else {
        const char *name = p->at;
        while (isalnum((unsigned char)name[length]) || name[length] == '_')
            length++;
        p->at += length;
        value = length == 0 ? wrong(p) : accept(p, "(") ? call(p, name, length) : look_up(p, name, length);
    }
    p->depth--;
    return value;
}

static double power(struct parser *p)
{
    if (++p->depth > DEEPEST)
        return wrong(p);
    bool minus = accept(p, "-");
    double value = minus ? -power(p) : atom(p);
    if (!minus && p->right && accept(p, "**"))
        value = pow(value, power(p));
    p->depth--;
    return value;
}

static double term(struct parser *p)
{
    double value = power(p);
    while (p->right)
        if (accept(p, "//"))
            value = floor(value / power(p));
        else if (accept(p, "*"))
            value *= power(p);
        else if (accept(p, "/"))
            value /= power(p);
        else if (accept(p, "%"))
            value = fmod(value, power(p));
        else
            break;
    return value;
}

static double sum(struct parser *p)
{
    double value = term(p);
    while (p->right)
        if (accept(p, "+"))
            value += term(p);
        else if (accept(p, "-"))
            value -= term(p);
        else
            break;
    return value;
}

bool ll_expression(const char *text, const struct ll_scopes *scopes, double *value)
{
    int names = 0;
    struct parser p = {text, scopes, 0, &names, true};
    *value = sum(&p);
    p.at += strspn(p.at, " \t\n");
    return p.right && !*p.at && isfinite(*value);
}
