/* SPDX-License-Identifier: Apache-2.0 */
/* Problems, constraints and mappings of Timeloop.
 *
 * A constraint names a node and says which operands it keeps, which loops run there (`factors`), in which
 * order (`permutation`, innermost first), and which loops run side by side along x and y. Those that hold
 * for any problem become limits of the search: kept operands, factors of 1, orders, loops that may run
 * along an axis. A factor larger than 1 is of one problem. Loops are called by our names: a convolution's
 * N M C P Q R S are B K C OX OY FX FY, and constraints of convolutions are those of GEMMs as well, whose M
 * N K are their pixels, filters and channels. A mapping with its problem becomes a given mapping. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/interchange/timeloop.h"

/* --- problems --- */

static const struct ll_timeloop_dim conv_dims[] = {
    {"N", "B", "M", 0},  {"C", "C", "K", 0}, {"M", "K", "N", 0}, {"K", "K", "N", 0}, {"P", "OX", "M", 0},
    {"Q", "OY", "M", 0}, {"R", "FX", "", 0}, {"S", "FY", "", 0}, {"G", "G", "B", 0}};
static const struct ll_timeloop_dim gemm_dims[] = {
    {"M", "", "M", 0}, {"N", "", "N", 0}, {"K", "", "K", 0}, {"B", "", "B", 0}, {"H", "", "B", 0}};

static bool is_window(const char *name)
{
    return strlen(name) == 1 && strchr("PQRSC", *name);
}

static void set_dims(struct ll_timeloop *t, bool gemms)
{
    const struct ll_timeloop_dim *dims = gemms ? gemm_dims : conv_dims;
    size_t count = gemms ? sizeof gemm_dims / sizeof *gemm_dims : sizeof conv_dims / sizeof *conv_dims;
    t->gemms = gemms;
    t->dims = (int)count;
    memcpy(t->dim, dims, count * sizeof *dims);
}

static int find_dim(const struct ll_timeloop *t, const char *name, size_t length)
{
    for (int d = 0; d < t->dims; d++)
        if (strlen(t->dim[d].name) == length && !memcmp(t->dim[d].name, name, length))
            return d;
    return -1;
}

/* Whether a text of factors or a permutation has a loop of convolutions: `P=1`, `NCPQRS`. */
static bool mentions_windows(const struct ll_node *node)
{
    if (node->key && strcmp(node->key, "factors") && strcmp(node->key, "permutation") &&
        strcmp(node->key, "factors_only") && node->type == LL_NODE_SCALAR)
        return false;
    for (const char *c = node->text; c && *c; c++)
        if (strchr("PQRSC", *c))
            return true;
    for (const struct ll_node *child = node->first; child; child = child->next)
        if (mentions_windows(child))
            return true;
    return false;
}

/* What reads and writes is the result; of the other two the name decides, or the order. */
static bool take_spaces(struct ll_timeloop *t, const struct ll_node *spaces)
{
    static const char *const words[][6] = {{"Inputs", "Input", "I", "A", "inputs", "ifmap"},
                                           {"Weights", "Weight", "W", "B", "weights", "filter"}};
    const struct ll_node *other[2] = {NULL, NULL};
    int count = 0;
    for (const struct ll_node *s = spaces->first; s; s = s->next) {
        const char *name = ll_node_get_text(s, "name");
        if (!name)
            return ll_complain(t->x->diags, s->place, "expected a data space with a `name`");
        if (ll_take_bool(s, "read_write", false) || ll_take_bool(s, "read-write", false))
            t->space[LL_OPERAND_C] = name;
        else if (count < 2)
            other[count++] = s;
        else
            return ll_complain(t->x->diags, s->place,
                               "expected two data spaces that are read and one that is written");
    }
    if (!t->space[LL_OPERAND_C] || count < 2)
        return ll_complain(t->x->diags, spaces->place,
                           "expected two data spaces that are read and one with `read_write: true`");
    const char *first = ll_node_get_text(other[0], "name"), *second = ll_node_get_text(other[1], "name");
    bool turned = false;
    for (int i = 0; i < 6; i++)
        turned |= !strcmp(first, words[1][i]) || !strcmp(second, words[0][i]);
    t->space[LL_OPERAND_A] = turned ? second : first;
    t->space[LL_OPERAND_B] = turned ? first : second;
    return true;
}

bool ll_timeloop_take_problem(struct ll_timeloop *t, struct ll_node *problem)
{
    struct ll_node *shape = ll_node_get(problem, "shape"), *dimensions = ll_node_get(shape, "dimensions"),
                   *spaces = ll_node_get(shape, "data_spaces"), *instance = ll_node_get(problem, "instance");
    bool windows = !problem;
    spaces = spaces ? spaces : ll_node_get(shape, "data-spaces");
    for (const struct ll_node *d = dimensions ? dimensions->first : NULL; d; d = d->next)
        windows |= d->text && is_window(d->text);
    set_dims(t, !windows && dimensions);
    for (const struct ll_node *d = dimensions ? dimensions->first : NULL; d; d = d->next)
        if (!d->text || find_dim(t, d->text, strlen(d->text)) < 0)
            return ll_complain(
                t->x->diags, d->place,
                "`%s`: expected a dimension of a convolution (N C M K P Q R S G) or a GEMM (M N K)",
                ll_node_shown(d).text);
    for (int d = 0; d < t->dims; d++)
        if (!ll_take_number(t->x, instance ? instance : problem, t->dim[d].name, 1, 4294967295.0, 0,
                            &t->dim[d].of))
            return false;
    return !spaces || take_spaces(t, spaces);
}

/* --- words of constraints --- */

/* The operand that a word of `keep` or `bypass` is; -1: none. */
static int operand_of(const struct ll_timeloop *t, const char *word)
{
    static const char *const usual[LL_OPERAND_COUNT][3] = {
        {"Inputs", "Input", "A"}, {"Weights", "Weight", "B"}, {"Outputs", "Output", "Z"}};
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        if (t->space[o] && !strcmp(t->space[o], word))
            return o;
    for (int o = 0; o < LL_OPERAND_COUNT && !t->space[0]; o++)
        for (int i = 0; i < 3; i++)
            if (!strcmp(usual[o][i], word))
                return o;
    return -1;
}

static bool take_operands(struct ll_timeloop *t, const struct ll_node *map, const char *key,
                          bool listed[LL_OPERAND_COUNT], bool *given)
{
    struct ll_node *list = ll_take(map, key);
    if (!list)
        return true;
    *given = true;
    ll_take_all(list);
    const struct ll_node *item = list->type == LL_NODE_LIST ? list->first : list;
    for (; item; item = list->type == LL_NODE_LIST ? item->next : NULL) {
        int o = item->text ? operand_of(t, item->text) : -1;
        if (o < 0)
            return ll_complain(t->x->diags, item->place, "`%s`: expected a data space of the problem",
                               ll_node_shown(item).text);
        listed[o] = true;
    }
    return true;
}

/* "R=3", "R3", "P<=4", "X=7,3": a loop, how it is bound, a number. */
struct factor {
    int dim;
    char sign; /* '=', '<', '>', '!' of what is read as no number */
    double by;
};

/* The next factor of a text. False at its end. */
static bool next_factor(const struct ll_timeloop *t, const char **text, struct factor *f)
{
    const char *at = *text + strspn(*text, " ,;\t\n[]");
    size_t length = 0;
    char *end;
    while (isalpha((unsigned char)at[length]) || at[length] == '_')
        length++;
    if (!*at)
        return false;
    f->dim = find_dim(t, at, length);
    at += length;
    f->sign = *at == '<' || *at == '>' ? *at : '=';
    at += strspn(at, "<>=");
    f->by = (double)strtoul(at, &end, 10);
    if (length == 0 || end == at)
        f->sign = '!';
    if (*end == ',' && isdigit((unsigned char)end[1])) { /* a last pass of fewer */
        f->sign = '!';
        strtoul(end + 1, &end, 10);
    }
    *text = end == at ? at + (*at != '\0') : end;
    return true;
}

/* Calls back for each factor of a text or a list of texts. */
static bool each_factor(struct ll_timeloop *t, const struct ll_node *node,
                        bool (*found)(struct ll_timeloop *t, const struct ll_node *at, const struct factor *f,
                                      void *context),
                        void *context)
{
    const struct ll_node *item = node->type == LL_NODE_LIST ? node->first : node;
    for (; item; item = node->type == LL_NODE_LIST ? item->next : NULL) {
        struct factor f;
        for (const char *text = item->text ? item->text : ""; next_factor(t, &text, &f);)
            if (f.dim < 0)
                return ll_complain(t->x->diags, item->place,
                                   "`%s`: expected loops of the problem and their factors, as R=3 P=1",
                                   ll_node_shown(item).text);
            else if (!found(t, item, &f, context))
                return false;
    }
    return true;
}

/* Loops of a permutation, innermost first: "PRKC", "P R K C", [P, R]. A blank within ("SC QRU") means
 * nothing. */
static bool take_order(struct ll_timeloop *t, struct ll_node *node, int order[LL_TIMELOOP_DIMS], int *count)
{
    *count = 0;
    if (!node)
        return true;
    ll_take_all(node);
    const struct ll_node *item = node->type == LL_NODE_LIST ? node->first : node;
    for (; item; item = node->type == LL_NODE_LIST ? item->next : NULL)
        for (const char *c = item->text ? item->text : ""; *c; c++) {
            if (strchr(" ,[]", *c))
                continue;
            int d = find_dim(t, c, 1);
            bool again = false;
            for (int i = 0; i < *count; i++)
                again |= order[i] == d;
            if (d < 0 || again)
                return ll_complain(t->x->diags, item->place,
                                   "`%s`: expected loops of the problem, each once, as PRKC",
                                   ll_node_shown(item).text);
            order[(*count)++] = d;
        }
    return true;
}

/* The name of a loop in convolutions (0) or GEMMs (1). */
static const char *our_name(const struct ll_timeloop *t, int d, int gemm)
{
    return gemm ? t->dim[d].gemm : t->dim[d].conv;
}

/* --- constraints --- */

/* Whether two names are of one loop: M and K are, of convolutions. */
static bool is_same_loop(const struct ll_timeloop *t, int one, int other)
{
    return one == other || (!t->gemms && !strcmp(t->dim[one].conv, t->dim[other].conv));
}

/* Factors of 1 by loop, for which the others are left out. */
struct ones {
    bool one[LL_TIMELOOP_DIMS];
    const char *where;
};

static bool take_one(struct ll_timeloop *t, const struct ll_node *at, const struct factor *f, void *context)
{
    struct ones *ones = context;
    bool one = f->sign == '=' && f->by == 1;
    for (int d = 0; one && d < t->dims; d++)
        ones->one[d] |= is_same_loop(t, d, f->dim);
    if (!one)
        ll_leave(t->x, ll_said(t->x, "%s.factors.%s", ones->where, t->dim[f->dim].name), at->place,
                 "a factor other than 1 is of one problem; the search takes the best one");
    return true;
}

/* Loops that may not run: those all of whose loops there may not. */
static void put_ones(struct ll_timeloop *t, const bool one[LL_TIMELOOP_DIMS], int gemm, struct ll_str *out)
{
    const char *gap = " factors ";
    for (int d = 0; d < t->dims; d++) {
        const char *name = our_name(t, d, gemm);
        bool all = *name != '\0', first = true;
        for (int e = 0; e < t->dims; e++)
            if (!strcmp(our_name(t, e, gemm), name)) {
                all &= one[e];
                first &= e >= d;
            }
        if (all && first) {
            ll_str_addf(out, "%s%s=1", gap, name);
            gap = " ";
        }
    }
}

static void put_order(const struct ll_timeloop *t, const int *order, int count, int gemm, struct ll_str *out)
{
    const char *gap = "; order ";
    for (int i = 0; i < count; i++) {
        const char *name = our_name(t, order[i], gemm);
        bool batch = gemm && !t->gemms && !strcmp(t->dim[order[i]].name, "N"); /* pixels are more */
        bool again = !*name || batch;
        for (int k = 0; k < i; k++)
            again |= !strcmp(our_name(t, order[k], gemm), name) && strcmp(t->dim[order[k]].name, "N") != 0;
        if (!again) {
            ll_str_addf(out, "%s%s", out->length ? gap : " order ", name);
            gap = " ";
        }
    }
}

static bool take_temporal(struct ll_timeloop *t, struct ll_node *node, const struct ll_timeloop_level *level)
{
    struct ll_node *factors = ll_take(node, "factors"), *only = ll_take(node, "factors_only");
    struct ones ones = {.where = level->name};
    int order[LL_TIMELOOP_DIMS], count;
    factors = factors ? factors : only;
    if (factors)
        ll_take_all(factors);
    if ((factors && !each_factor(t, factors, take_one, &ones)) ||
        !take_order(t, ll_take(node, "permutation"), order, &count))
        return false;
    for (int gemm = t->gemms; gemm < 2 && level->store >= 0; gemm++) {
        struct ll_str text = {0};
        put_ones(t, ones.one, gemm, &text);
        if (count > 0)
            put_order(t, order, count, gemm, &text);
        bool right = text.length == 0 || ll_chain_say(t->x, &t->chain->limits, node,
                                                      ll_said(t->x, "%s %s:%s", gemm ? "gemm" : "conv",
                                                              t->chain->store[level->store].name, text.text));
        ll_str_release(&text);
        if (!right)
            return false;
    }
    return true;
}

/* Which loops may run along each axis: all but those of factor 1; along x those of the permutation before
 * `split`, along y the others. */
struct side_by_side {
    bool limited[LL_CHAIN_AXES];
    bool may[LL_CHAIN_AXES][LL_TIMELOOP_DIMS];
};

static bool take_spatial(struct ll_timeloop *t, struct ll_node *node, const int axis[2], const char *name,
                         struct side_by_side *side)
{
    struct ll_node *factors = ll_take(node, "factors"), *only = ll_take(node, "factors_only");
    struct ones ones = {.where = name};
    int order[LL_TIMELOOP_DIMS], count;
    double split;
    factors = factors ? factors : only;
    if (factors)
        ll_take_all(factors);
    if ((factors && !each_factor(t, factors, take_one, &ones)) ||
        !take_order(t, ll_take(node, "permutation"), order, &count) ||
        !ll_take_number(t->x, node, "split", 0, 1e6, -1, &split))
        return false;
    bool both = axis[0] >= 0 && axis[1] >= 0;
    for (int i = 0; i < 2; i++) {
        if (axis[i] < 0)
            continue;
        side->limited[axis[i]] = true;
        for (int d = 0; d < t->dims; d++) {
            int at = 0;
            while (at < count && !is_same_loop(t, order[at], d))
                at++;
            bool here = !both || split < 0 || at == count || (at < split) == (i == 0);
            side->may[axis[i]][d] = !ones.one[d] && here;
        }
    }
    return true;
}

static bool put_unroll(struct ll_timeloop *t, const struct side_by_side *side, const struct ll_node *node)
{
    bool limited = false;
    for (int a = 0; a < t->chain->axes; a++)
        limited |= side->limited[a];
    for (int gemm = t->gemms; gemm < 2 && limited; gemm++) {
        struct ll_str text = {0};
        for (int a = 0; a < t->chain->axes; a++) {
            size_t begin = text.length;
            for (int d = 0; d < t->dims; d++) {
                const char *name = our_name(t, d, gemm);
                bool may = !side->limited[a] || side->may[a][d], again = !*name;
                for (int e = 0; e < d; e++)
                    again |= !strcmp(our_name(t, e, gemm), name) && (!side->limited[a] || side->may[a][e]);
                if (!may || again)
                    continue;
                if (text.length == begin)
                    ll_str_addf(&text, " D%d:%s", a + 1, name);
                else
                    ll_str_addf(&text, ",%s", name);
            }
        }
        bool right =
            text.length == 0 || ll_chain_say(t->x, &t->chain->unroll, node,
                                             ll_said(t->x, "%s%s", gemm ? "gemm" : "conv", text.text));
        ll_str_release(&text);
        if (!right)
            return false;
    }
    return true;
}

static bool take_kept(struct ll_timeloop *t, struct ll_node *node, const struct ll_timeloop_level *level)
{
    static const char *const names[] = {"input", "weight", "output"};
    bool keeps[LL_OPERAND_COUNT] = {false}, passes[LL_OPERAND_COUNT] = {false};
    bool kept = false, only = false, passed = false;
    struct ll_str text = {0};
    if (!take_operands(t, node, "keep", keeps, &kept) || !take_operands(t, node, "keep_only", keeps, &only) ||
        !take_operands(t, node, "bypass", passes, &passed))
        return false;
    if (level->store < 0)
        return true;
    struct ll_chain_store *store = &t->chain->store[level->store];
    for (int o = 0; o < LL_OPERAND_COUNT; o++) {
        bool out = passes[o] || ((only || (level->only_kept && kept)) && !keeps[o]);
        store->holds[o] = store->holds[o] && !out;
        if (keeps[o] && !passes[o])
            ll_str_addf(&text, "%s%s", text.length ? " " : ": keep ", names[o]);
    }
    bool right = text.length == 0 ||
                 ll_chain_say(t->x, &t->chain->limits, node, ll_said(t->x, "%s%s", store->name, text.text));
    ll_str_release(&text);
    return right;
}

/* The level that a target names: its own name, or `inter_NAME_spatial` for a container. */
static int find_level(const struct ll_timeloop *t, const char *target)
{
    size_t length = strlen(target), inner = length > 14 ? length - 14 : 0;
    for (int l = 0; l < t->levels; l++)
        if (!strcmp(t->level[l].name, target))
            return l;
    for (int l = 0; l < t->levels; l++)
        if (inner > 0 && !strncmp(target, "inter_", 6) && !strcmp(target + length - 8, "_spatial") &&
            strlen(t->level[l].name) == inner && !memcmp(t->level[l].name, target + 6, inner))
            return l;
    return -1;
}

/* The axes that a spatial constraint or mapping of a level is of. */
static void axes_of(const struct ll_timeloop *t, int l, int axis[2])
{
    axis[0] = t->level[l].axis[0];
    axis[1] = t->level[l].axis[1];
    for (int i = l + 1; t->level[l].fans_out_inside && i < t->levels; i++) {
        axis[0] = t->level[i].axis[0];
        axis[1] = t->level[i].axis[1];
        if (axis[0] >= 0 || axis[1] >= 0 || t->level[i].store >= 0)
            break;
    }
}

static bool take_target(struct ll_timeloop *t, struct ll_node *node, struct side_by_side *side)
{
    const char *target = ll_take_text(node, "target"), *type = ll_take_text(node, "type");
    int l = target ? find_level(t, target) : -1, axis[2];
    if (!target || !type || l < 0)
        return ll_complain(t->x->diags, node->place,
                           "expected a `target` that is a node of the architecture, and a `type`");
    axes_of(t, l, axis);
    node->taken = true;
    if (!strcmp(type, "temporal"))
        return take_temporal(t, node, &t->level[l]);
    if (!strcmp(type, "spatial"))
        return take_spatial(t, node, axis, target, side);
    return take_kept(t, node, &t->level[l]);
}

static const struct ll_why reasons[] = {
    {"no_reuse", "tiles stay as long as the loops that index them allow"},
    {"no_coalesce", "accesses of one piece of data meet where they can"},
    {"no_link_transfer", "elements do not pass words on to each other"},
    {"no_multicast_no_reduction", "what elements share is read once"},
    {"rmw_first_update", "the first partial sum is written, not added"},
    {"no_iteration_over_dataspaces", "no constraint of the search"},
    {"must_iterate_over_dataspaces", "no constraint of the search"},
    {"maximize_dims", "the search takes what is best"},
    {"maximize_dims_capacity", "the search takes what is best"},
    {NULL, "no constraint of Timeloop that is known here"},
};

bool ll_timeloop_take_constraints(struct ll_timeloop *t, struct ll_node *targets)
{
    struct side_by_side side = {.limited = {false}};
    bool right = true, windows = t->space[0] != NULL;
    const struct ll_node *place = targets;
    for (int l = 0; l < t->levels; l++)
        windows |= t->level[l].constraints && mentions_windows(t->level[l].constraints);
    windows |= targets && mentions_windows(targets);
    if (!windows && t->space[0] == NULL)
        set_dims(t, true); /* M, N and K alone */
    for (int l = 0; right && l < t->levels; l++) {
        struct ll_node *c = t->level[l].constraints, *space = ll_take(c, "dataspace"),
                       *temporal = ll_take(c, "temporal"), *spatial = ll_take(c, "spatial");
        place = c ? c : place;
        right = (!space || take_kept(t, space, &t->level[l])) &&
                (!temporal || take_temporal(t, temporal, &t->level[l])) &&
                (!spatial || take_spatial(t, spatial, t->level[l].axis, t->level[l].name, &side));
        if (c)
            ll_leave_rest(t->x, c, ll_said(t->x, "%s.constraints", t->level[l].name), reasons);
        if (c)
            ll_take_all(c);
    }
    for (struct ll_node *node = targets ? targets->first : NULL; right && node; node = node->next) {
        right = take_target(t, node, &side);
        ll_leave_rest(t->x, node, "constraints", reasons);
        ll_take_all(node);
    }
    return right && (!place || put_unroll(t, &side, place));
}

/* --- mappings --- */

/* What a mapping says of one level. */
struct at_level {
    double by[LL_TIMELOOP_DIMS], across[LL_TIMELOOP_DIMS]; /* 1: not said, 0: the rest */
    int order[LL_TIMELOOP_DIMS], count;                    /* innermost first */
    int beside[LL_TIMELOOP_DIMS], beside_count;            /* of loops side by side */
    double split;
    bool keeps[LL_OPERAND_COUNT], kept, passes[LL_OPERAND_COUNT];
};

struct mapping {
    struct at_level at[LL_TIMELOOP_LEVELS];
    bool exact;
};

static bool take_by(struct ll_timeloop *t, const struct ll_node *at, const struct factor *f, void *context)
{
    double *by = context;
    if (f->sign != '=')
        return ll_complain(t->x->diags, at->place,
                           "`%s`: expected whole factors, as R=3; a last pass of fewer is not read",
                           ll_node_shown(at).text);
    by[f->dim] = f->by;
    return true;
}

static bool take_step(struct ll_timeloop *t, struct ll_node *node, struct mapping *m)
{
    const char *target = ll_take_text(node, "target"), *type = ll_take_text(node, "type");
    struct ll_node *factors = ll_take(node, "factors");
    int l = target ? find_level(t, target) : -1;
    bool ignored = false;
    if (!target || !type || l < 0)
        return ll_complain(t->x->diags, node->place,
                           "expected a `target` that is a node of the architecture, and a `type`");
    struct at_level *at = &m->at[l];
    if (factors)
        ll_take_all(factors);
    if (!strcmp(type, "temporal"))
        return (!factors || each_factor(t, factors, take_by, at->by)) &&
               take_order(t, ll_take(node, "permutation"), at->order, &at->count);
    if (!strcmp(type, "spatial"))
        return (!factors || each_factor(t, factors, take_by, at->across)) &&
               take_order(t, ll_take(node, "permutation"), at->beside, &at->beside_count) &&
               ll_take_number(t->x, node, "split", 0, 1e6, -1, &at->split);
    return take_operands(t, node, "keep", at->keeps, &at->kept) &&
           take_operands(t, node, "bypass", at->passes, &ignored);
}

/* A factor of 0 is what the others leave. */
static bool settle_rest(struct ll_timeloop *t, struct mapping *m, const struct ll_node *node)
{
    for (int d = 0; d < t->dims; d++) {
        double others = 1, *rest = NULL, of = t->dim[d].of > 0 ? t->dim[d].of : 1;
        for (int l = 0; l < t->levels; l++) {
            double *by[2] = {&m->at[l].by[d], &m->at[l].across[d]};
            for (int i = 0; i < 2; i++)
                if (*by[i] > 0)
                    others *= *by[i];
                else
                    rest = by[i];
        }
        if (rest)
            *rest = fmax(1, floor(of / others));
        if ((rest ? others * *rest : others) != of)
            return ll_complain(t->x->diags, node->place,
                               "factors of `%s` make %.10g; expected those that make %.10g", t->dim[d].name,
                               rest ? others * *rest : others, of);
    }
    return true;
}

static void put_loops(const struct ll_timeloop *t, const struct at_level *at, struct ll_str *out)
{
    int order[2 * LL_TIMELOOP_DIMS], count = 0;
    for (int i = 0; i < at->count; i++)
        order[count++] = at->order[i];
    for (int d = 0; d < t->dims; d++) { /* what the permutation does not name comes behind */
        bool named = false;
        for (int i = 0; i < at->count; i++)
            named |= at->order[i] == d;
        if (!named)
            order[count++] = d;
    }
    for (int i = count - 1; i >= 0; i--)
        if (at->by[order[i]] > 1)
            ll_str_addf(out, " %s%.0f", our_name(t, order[i], t->gemms), at->by[order[i]]);
}

static void put_sides(const struct ll_timeloop *t, const struct at_level *at, const int axis[2],
                      struct ll_str *out)
{
    for (int d = 0; d < t->dims; d++) {
        int place = 0;
        while (place < at->beside_count && at->beside[place] != d)
            place++;
        bool second = axis[0] < 0 || (axis[1] >= 0 && at->split >= 0 && place >= at->split);
        int chosen = axis[second];
        if (at->across[d] > 1 && chosen >= 0)
            ll_str_addf(out, " %s%.0f:D%d", our_name(t, d, t->gemms), at->across[d], chosen + 1);
    }
}

/* "B=1 K=32 ... Wstride=2 => @DRAM[input weight output] K4 OX16 @buffer[weight] C16:D1 ..." */
static void put_mapping(struct ll_timeloop *t, const struct mapping *m, const struct ll_node *problem,
                        struct ll_str *out)
{
    static const char *const coefficients[] = {"Wstride", "Hstride", "Wdilation", "Hdilation"};
    static const char *const names[] = {"input", "weight", "output"};
    const struct ll_node *instance = ll_node_get(problem, "instance");
    for (int d = 0; d < t->dims; d++) {
        bool twin = !strcmp(t->dim[d].name, "K") && !t->gemms,
             again = t->gemms && !strcmp(t->dim[d].name, "H");
        double of = t->dim[d].of > 0 ? t->dim[d].of : 1;
        if (twin && t->dim[d].of == 0)
            continue; /* M says it */
        if (!twin && !strcmp(t->dim[d].name, "M") && !t->gemms && t->dim[d].of == 0)
            continue; /* K says it */
        if (!again)
            ll_str_addf(out, "%s%s=%.0f", out->length ? " " : "", our_name(t, d, t->gemms), of);
    }
    for (size_t i = 0; i < sizeof coefficients / sizeof *coefficients; i++) {
        const char *text = ll_node_get_text(instance ? instance : problem, coefficients[i]);
        if (text && strcmp(text, "1") != 0)
            ll_str_addf(out, " %s=%s", coefficients[i], text);
    }
    ll_str_add(out, " =>");
    for (int l = 0; l < t->levels; l++) {
        const struct at_level *at = &m->at[l];
        int axis[2];
        axes_of(t, l, axis);
        if (t->level[l].store >= 0) {
            const struct ll_chain_store *store = &t->chain->store[t->level[l].store];
            const char *gap = "";
            ll_str_addf(out, " @%s[", store->name);
            for (int o = 0; o < LL_OPERAND_COUNT; o++)
                if (t->level[l].store == 0 || (store->holds[o] && !at->passes[o])) {
                    ll_str_addf(out, "%s%s", gap, names[o]);
                    gap = " ";
                }
            ll_str_add(out, "]");
        }
        put_loops(t, at, out);
        put_sides(t, at, axis, out);
    }
}

bool ll_timeloop_take_mapping(struct ll_timeloop *t, struct ll_node *mapping, struct ll_node *problem)
{
    struct mapping *m = ll_alloc(t->x->arena, 1, sizeof *m);
    struct ll_str text = {0};
    bool right = m != NULL;
    if (!problem || mapping->type != LL_NODE_LIST) {
        ll_leave(t->x, "mapping", mapping->place,
                 problem ? "a mapping is a list of targets" : "a mapping needs the problem that it is of");
        ll_take_all(mapping);
        return true;
    }
    for (int l = 0; right && l < t->levels; l++)
        for (int d = 0; d < LL_TIMELOOP_DIMS; d++)
            m->at[l].by[d] = m->at[l].across[d] = 1;
    for (int l = 0; right && l < t->levels; l++)
        m->at[l].split = -1;
    for (struct ll_node *node = mapping->first; right && node; node = node->next) {
        node->taken = true;
        right = take_step(t, node, m);
    }
    right = right && settle_rest(t, m, mapping);
    if (right)
        put_mapping(t, m, problem, &text);
    right = right && !text.failed &&
            ll_chain_say(t->x, &t->chain->given, mapping, ll_said(t->x, "%s", text.text));
    ll_str_release(&text);
    return right;
}
