/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive descent by binding strength; the tree is walked to evaluate.
 *
 *     a + b * 2 <= 8        level 3: <=      level 4: +      level 5: *                                    */
#include "sim/explore/space.h"

#include "sim/machine/node.h"
#include "tracer/base/str.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_ARGUMENTS = 16, MOST_CHARACTERS = 1000, MOST_WORDS = 256 };

/* --- what can be computed --- */

static double add(double a, double b)
{
    return a + b;
}
static double subtract(double a, double b)
{
    return a - b;
}
static double multiply(double a, double b)
{
    return a * b;
}
static double divide(double a, double b)
{
    return a / b;
}
/* Of what is no number nobody knows whether it holds: that is no number either, unless the other side decides
 * (Kleene, 1938). */
static double truth(bool known, bool holds)
{
    return known ? holds : NAN;
}
static double both(double a, double b)
{
    return truth(a == 0 || b == 0 || !isunordered(a, b), a != 0 && b != 0);
}
static double negation(double a)
{
    return truth(!isnan(a), a == 0);
}
static double either(double a, double b)
{
    return negation(both(negation(a), negation(b)));
}
static double equal(double a, double b)
{
    return truth(!isunordered(a, b), a == b);
}
static double different(double a, double b)
{
    return negation(equal(a, b));
}
static double less(double a, double b)
{
    return truth(!isunordered(a, b), a < b);
}
static double at_most(double a, double b)
{
    return truth(!isunordered(a, b), a <= b);
}
static double more(double a, double b)
{
    return less(b, a);
}
static double at_least(double a, double b)
{
    return at_most(b, a);
}

/* Longer tokens before those that they begin with. Each level binds tighter than the one before; `not` stands
 * between `and` and the comparisons, the sign between products and powers. */
enum { LEVEL_OR = 0, LEVEL_AND = 1, LEVEL_COMPARISON = 2, LEVEL_SUM = 3, LEVEL_PRODUCT = 4, LEVEL_COUNT };
static const struct operator_row {
    const char *token;
    int level;
    double (*compute)(double a, double b);
} operators[] = {
    {"or", LEVEL_OR, either},
    {"and", LEVEL_AND, both},
    {"==", LEVEL_COMPARISON, equal},
    {"!=", LEVEL_COMPARISON, different},
    {"<=", LEVEL_COMPARISON, at_most},
    {">=", LEVEL_COMPARISON, at_least},
    {"<", LEVEL_COMPARISON, less},
    {">", LEVEL_COMPARISON, more},
    {"+", LEVEL_SUM, add},
    {"-", LEVEL_SUM, subtract},
    {"*", LEVEL_PRODUCT, multiply},
    {"/", LEVEL_PRODUCT, divide},
};
static const struct operator_row power = {"^", LEVEL_COUNT, pow};

static double negative(double a)
{
    return -a;
}

static const struct function_row {
    const char *name;
    double (*of_one)(double);         /* of exactly one argument */
    double (*of_two)(double, double); /* of two or more, from the left */
} functions[] = {
    {"min", NULL, fmin}, {"max", NULL, fmax},  {"log2", log2, NULL},   {"sqrt", sqrt, NULL},
    {"abs", fabs, NULL}, {"ceil", ceil, NULL}, {"floor", floor, NULL},
};

enum node_type { NODE_NUMBER, NODE_NAME, NODE_OPERATOR, NODE_ONE };

struct node {
    enum node_type type;
    enum ll_dimension dimension; /* NUMBER: of none, or not known */
    double number;
    uint32_t slot;
    const struct operator_row *row; /* NODE_OPERATOR, where it is written as one */
    double (*of_one)(double);
    double (*of_two)(double, double);
    const struct node *a, *b;
};

struct ll_expression {
    const struct node *root;
};

/* --- reading --- */

struct reader {
    struct ll_arena *arena;
    const char *text, *at;
    struct ll_place place;
    const struct ll_names *names;
    struct ll_diags *diags;
    int depth;
};

/* The place of a character, where the line of the file shows the text as it is. */
static struct ll_place place_of(const struct reader *r, const char *at)
{
    struct ll_place place = r->place;
    const char *line = place.source_line;
    size_t before = place.column ? place.column - 1 : 0;
    if (!line || strlen(line) < before)
        return place;
    const char *shown = strstr(line + before, r->text);
    if (!shown)
        return place;
    place.column = (uint64_t)(shown - line) + 1 + (uint64_t)(at - r->text);
    place.width = 1;
    return place;
}

static struct ll_place wide_place_of(const struct reader *r, const char *at, size_t width)
{
    struct ll_place place = place_of(r, at);
    if (place.width == 1)
        place.width = width;
    return place;
}

/* What stands for an operator elsewhere: the one that was meant, or NULL. */
static const char *operator_meant(const char *at)
{
    static const struct {
        const char *token, *meant;
    } others[] = {{"&", "and"}, {"|", "or"}, {"=>", ">="}, {"=<", "<="}, {"=", "=="}, {"!", "not"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strncmp(at, others[i].token, strlen(others[i].token)))
            return others[i].meant;
    return NULL;
}

static const struct node *complain(struct reader *r, const char *at, const char *what)
{
    struct ll_shown shown = ll_shown_text(r->text);
    const char *meant = operator_meant(at);
    if (*at)
        ll_complain(r->diags, place_of(r, at), "`%s`: expected %s before `%s`%s%s%s", shown.text, what,
                    ll_shown_text(at).text, meant ? "; did you mean `" : "", meant ? meant : "",
                    meant ? "`?" : "");
    else
        ll_complain(r->diags, place_of(r, at), "`%s`: expected %s at the end", shown.text, what);
    return NULL;
}

static void skip_blanks(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Takes a token, which as a word must not go on. */
static bool take(struct reader *r, const char *token)
{
    size_t length = strlen(token);
    skip_blanks(r);
    if (strncmp(r->at, token, length) || (isalpha((unsigned char)*token) && in_name(r->at[length])))
        return false;
    r->at += length;
    return true;
}

static const struct node *node_of(struct reader *r, struct node node)
{
    const struct node *made = ll_copy(r->arena, &node, sizeof node);
    if (!made)
        ll_complain(r->diags, r->place, "memory ran out");
    return made;
}

static const struct node *read_level(struct reader *r, int level);

double ll_expression_scale(enum ll_dimension dimension)
{
    return dimension == LL_DIMENSION_AREA || dimension == LL_DIMENSION_AREA_PER_BYTE ? 1e6 : 1;
}

static bool is_quantity(const char *at, size_t length, struct ll_quantity *quantity)
{
    char text[64];
    const char *unit;
    if (length >= sizeof text)
        return false;
    memcpy(text, at, length);
    text[length] = 0;
    return ll_quantity_parse(text, quantity, &unit) == LL_QUANTITY_FINE;
}

static const struct node *unknown_unit(struct reader *r, const char *at)
{
    size_t length = 0;
    while (in_name(at[length]))
        length++;
    const char *unit = ll_copy_text(r->arena, at, length), *nearest = unit ? ll_unit_nearest(unit) : NULL;
    ll_complain(r->diags, wide_place_of(r, at, length), "`%s`: no unit `%s`%s%s%s",
                ll_shown_text(r->text).text, unit ? ll_shown_text(unit).text : "",
                nearest ? "; did you mean `" : "", nearest ? nearest : "", nearest ? "`?" : "");
    return NULL;
}

/* A number and the unit behind it, which may hold a stroke: 8GB/s is one literal, 8/rows is none. */
static const struct node *read_literal(struct reader *r)
{
    struct ll_quantity quantity;
    size_t digits = strspn(r->at, "0123456789."), length = digits;
    if ((r->at[length] == 'e' || r->at[length] == 'E') &&
        isdigit((unsigned char)r->at[length + 1 + (r->at[length + 1] == '-' || r->at[length + 1] == '+')]))
        length += 2 + strspn(r->at + length + 2, "0123456789");
    while (isalnum((unsigned char)r->at[length]) || r->at[length] == '/' || r->at[length] == '.')
        length++;
    while (!is_quantity(r->at, length, &quantity)) {
        if (length <= digits)
            return complain(r, r->at, "a number, with a unit of machine files or none,");
        do /* what is behind the last stroke is no unit */
            length--;
        while (length > digits && r->at[length] != '/');
    }
    if (isalpha((unsigned char)r->at[length]))
        return unknown_unit(r, r->at + length);
    r->at += length;
    return node_of(r, (struct node){.type = NODE_NUMBER,
                                    .dimension = quantity.dimension,
                                    .number = quantity.value * ll_expression_scale(quantity.dimension)});
}

/* Complains of a name that stands for nothing, with the reason or the nearest name that does. Always NULL. */
static const struct node *unknown_name(struct reader *r, const char *at, const char *name)
{
    const char *words[MOST_WORDS];
    size_t count = 0;
    const char *hindrance = r->names->hindrance ? r->names->hindrance(r->names->context, name) : NULL;
    if (hindrance) {
        ll_complain(r->diags, wide_place_of(r, at, strlen(name)), "`%s`: `%s` %s",
                    ll_shown_text(r->text).text, name, hindrance);
        return NULL;
    }
    while (count < MOST_WORDS && (words[count] = r->names->at(r->names->context, count)))
        count++;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && count < MOST_WORDS; i++)
        words[count++] = functions[i].name;
    const char *nearest = ll_nearest(name, words, count);
    if (nearest && !strcmp(nearest, name)) {
        ll_complain(r->diags, wide_place_of(r, at, strlen(name)), "`%s`: `%s` is no number",
                    ll_shown_text(r->text).text, nearest);
        return NULL;
    }
    ll_complain(r->diags, wide_place_of(r, at, strlen(name)), "`%s`: nothing is called `%s` here%s%s%s",
                ll_shown_text(r->text).text, ll_shown_text(name).text, nearest ? "; did you mean `" : "",
                nearest ? nearest : "", nearest ? "`?" : "");
    return NULL;
}

static const struct node *name_node(struct reader *r, uint32_t slot)
{
    enum ll_dimension dimension =
        r->names->dimension ? r->names->dimension(r->names->context, slot) : LL_DIMENSION_NUMBER;
    return node_of(r, (struct node){.type = NODE_NAME, .dimension = dimension, .slot = slot});
}

/* Names may hold a minus: the longest that is known counts. */
static const struct node *read_name(struct reader *r)
{
    const char *at = r->at, *end = at;
    uint32_t slot;
    while (in_name(*end) || (*end == '-' && in_name(end[1])))
        end++;
    size_t whole = strcspn(at, "-");
    whole = whole < (size_t)(end - at) ? whole : (size_t)(end - at);
    for (const char *cut = end; cut >= at + whole; cut--) {
        char *name = *cut == '-' || cut == end ? ll_copy_text(r->arena, at, (size_t)(cut - at)) : NULL;
        if (!name || !r->names->find(r->names->context, name, &slot))
            continue;
        r->at = cut;
        return name_node(r, slot);
    }
    char *name = ll_copy_text(r->arena, at, whole);
    return name ? unknown_name(r, at, name) : NULL;
}

/* Of a sum, of the least of several. */
static enum ll_dimension shared(const struct node *a, const struct node *b)
{
    return a->dimension == b->dimension ? a->dimension : LL_DIMENSION_NUMBER;
}

static const struct node *read_arguments(struct reader *r, const struct function_row *function)
{
    const struct node *folded = read_level(r, LEVEL_OR);
    size_t count = 1;
    while (folded && take(r, ",")) {
        const struct node *argument = read_level(r, LEVEL_OR);
        if (!argument)
            return NULL;
        if (function->of_one || ++count > MOST_ARGUMENTS)
            return complain(r, r->at, function->of_one ? "one argument" : "fewer arguments");
        folded = node_of(r, (struct node){.type = NODE_OPERATOR,
                                          .dimension = shared(folded, argument),
                                          .of_two = function->of_two,
                                          .a = folded,
                                          .b = argument});
    }
    if (!folded)
        return NULL;
    if (!take(r, ")"))
        return complain(r, r->at, "`)`");
    return function->of_one
               ? node_of(r, (struct node){.type = NODE_ONE, .of_one = function->of_one, .a = folded})
               : folded;
}

static const struct function_row *find_function(struct reader *r)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char *before = r->at;
        if (take(r, functions[i].name) && take(r, "("))
            return &functions[i];
        r->at = before;
    }
    return NULL;
}

static const struct node *read_atom(struct reader *r)
{
    skip_blanks(r);
    const struct function_row *function = find_function(r);
    if (function)
        return read_arguments(r, function);
    if (take(r, "(")) {
        const struct node *inner = read_level(r, LEVEL_OR);
        return !inner || take(r, ")") ? inner : complain(r, r->at, "`)`");
    }
    if (isdigit((unsigned char)*r->at) || *r->at == '.')
        return read_literal(r);
    if (isalpha((unsigned char)*r->at) || *r->at == '_')
        return read_name(r);
    return complain(r, r->at, "a number or a name");
}

static const struct node *read_signed(struct reader *r);

static const struct node *read_power(struct reader *r)
{
    const struct node *base = read_atom(r);
    if (!base || !take(r, "^"))
        return base;
    const struct node *exponent = read_signed(r);
    return exponent
               ? node_of(r,
                         (struct node){
                             .type = NODE_OPERATOR, .row = &power, .of_two = pow, .a = base, .b = exponent})
               : NULL;
}

/* What opens a further level of nesting comes through here. */
static const struct node *read_signed(struct reader *r)
{
    if (++r->depth > MOST_DEPTH) {
        ll_complain(r->diags, r->place, "`%s` is nested deeper than %d", ll_shown_text(r->text).text,
                    MOST_DEPTH);
        return NULL;
    }
    bool minus = take(r, "-");
    const struct node *inner = minus ? read_signed(r) : read_power(r);
    r->depth--;
    return minus && inner
               ? node_of(r,
                         (struct node){
                             .type = NODE_ONE, .dimension = inner->dimension, .of_one = negative, .a = inner})
               : inner;
}

static const struct operator_row *take_operator(struct reader *r, int level)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].level == level && take(r, operators[i].token))
            return &operators[i];
    return NULL;
}

/* What `not` denies: a whole comparison. */
static const struct node *read_denied(struct reader *r)
{
    if (++r->depth > MOST_DEPTH)
        return complain(r, r->at, "fewer `not`");
    const struct node *inner = read_level(r, LEVEL_COMPARISON);
    r->depth--;
    return inner ? node_of(r, (struct node){.type = NODE_ONE, .of_one = negation, .a = inner}) : NULL;
}

/* Seconds are not compared with bytes. `at`: where the right side begins. */
static bool comparable(struct reader *r, const char *at, const struct node *left, const struct node *right)
{
    if (left->dimension == LL_DIMENSION_NUMBER || right->dimension == LL_DIMENSION_NUMBER ||
        left->dimension == right->dimension)
        return true;
    at += strspn(at, " ");
    return ll_complain(r->diags, wide_place_of(r, at, (size_t)(r->at - at)), "`%s` compares %s with %s",
                       ll_shown_text(r->text).text, ll_dimension_name(left->dimension),
                       ll_dimension_name(right->dimension));
}

static const struct node *read_level(struct reader *r, int level)
{
    if (level == LEVEL_COUNT)
        return read_signed(r);
    if (level == LEVEL_COMPARISON && take(r, "not"))
        return read_denied(r);
    const struct node *left = read_level(r, level + 1);
    const struct operator_row *row;
    for (bool second = false; left && (row = take_operator(r, level)); second = true) {
        if (second && level == LEVEL_COMPARISON)
            return complain(r, r->at, "one comparison, or `and` between two,");
        const char *at = r->at;
        const struct node *right = read_level(r, level + 1);
        if (right && level == LEVEL_COMPARISON && !comparable(r, at, left, right))
            return NULL;
        left = right ? node_of(r, (struct node){.type = NODE_OPERATOR,
                                                .dimension = level == LEVEL_SUM ? shared(left, right)
                                                                                : LL_DIMENSION_NUMBER,
                                                .row = row,
                                                .of_two = row->compute,
                                                .a = left,
                                                .b = right})
                     : NULL;
    }
    return left;
}

struct ll_expression *ll_expression_parse(struct ll_arena *arena, const char *text, struct ll_place place,
                                          const struct ll_names *names, struct ll_diags *diags)
{
    struct ll_expression *expression = ll_alloc(arena, 1, sizeof *expression);
    struct reader r = {arena, text, text, place, names, diags, 0};
    if (strlen(text) > MOST_CHARACTERS) {
        ll_complain(diags, place, "`%s` is longer than %d characters", ll_shown_text(text).text,
                    MOST_CHARACTERS);
        return NULL;
    }
    if (!expression) {
        ll_complain(diags, place, "memory ran out");
        return NULL;
    }
    expression->root = read_level(&r, LEVEL_OR);
    skip_blanks(&r);
    if (expression->root && *r.at) {
        complain(&r, r.at, "an operator");
        return NULL;
    }
    return expression->root ? expression : NULL;
}

/* --- computing --- */

struct ask {
    double (*value)(const void *context, uint32_t slot);
    const void *context;
};

static double compute(const struct node *node, const struct ask *ask)
{
    switch (node->type) {
    case NODE_NUMBER:
        return node->number;
    case NODE_NAME:
        return ask->value(ask->context, node->slot);
    case NODE_ONE:
        return node->of_one(compute(node->a, ask));
    case NODE_OPERATOR:
        break;
    }
    return node->of_two(compute(node->a, ask), compute(node->b, ask));
}

double ll_expression_value(const struct ll_expression *expression,
                           double (*value)(const void *context, uint32_t slot), const void *context)
{
    return compute(expression->root, &(struct ask){value, context});
}

static double violation(const struct node *node, const struct ask *ask)
{
    int level = node->type == NODE_OPERATOR && node->row ? node->row->level : LEVEL_COUNT;
    double truth = compute(node, ask);
    if (truth != 0 && !isnan(truth))
        return 0;
    if (level == LEVEL_AND)
        return violation(node->a, ask) + violation(node->b, ask);
    if (level == LEVEL_OR)
        return fmin(violation(node->a, ask), violation(node->b, ask));
    if (level != LEVEL_COMPARISON)
        return 1;
    double a = compute(node->a, ask), b = compute(node->b, ask), share = fabs(a - b) / fabs(b);
    return share > 0 && share < 1e6 ? share : 1; /* also where there is no number */
}

double ll_expression_violation(const struct ll_expression *expression,
                               double (*value)(const void *context, uint32_t slot), const void *context)
{
    double missed = violation(expression->root, &(struct ask){value, context});
    assert(missed >= 0);
    return missed;
}

/* `min` and `max` leave out what is no number. */
static bool has_none(const struct node *node, bool (*missing)(const void *context, uint32_t slot),
                     const void *context)
{
    if (node->type == NODE_NUMBER)
        return false;
    if (node->type == NODE_NAME)
        return missing(context, node->slot);
    bool left = has_none(node->a, missing, context);
    bool right = node->b && has_none(node->b, missing, context);
    bool any = node->row && node->row->level > LEVEL_AND && node->row->level < LEVEL_COUNT;
    return any || !node->b ? left || right : left && right;
}

static bool fails(const struct node *node, bool (*missing)(const void *context, uint32_t slot),
                  const void *context)
{
    int level = node->type == NODE_OPERATOR && node->row ? node->row->level : LEVEL_COUNT;
    if (level == LEVEL_AND)
        return fails(node->a, missing, context) || fails(node->b, missing, context);
    if (level == LEVEL_OR)
        return fails(node->a, missing, context) && fails(node->b, missing, context);
    return has_none(node, missing, context);
}

bool ll_expression_has_none(const struct ll_expression *expression,
                            bool (*missing)(const void *context, uint32_t slot), const void *context)
{
    return has_none(expression->root, missing, context);
}

bool ll_expression_fails(const struct ll_expression *expression,
                         bool (*missing)(const void *context, uint32_t slot), const void *context)
{
    return fails(expression->root, missing, context);
}

enum ll_dimension ll_expression_dimension(const struct ll_expression *expression)
{
    return expression->root->dimension;
}
