/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/convert/chakra.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void chakra_add_tensor(struct ll_str *out, const struct chakra_tensor *tensor)
{
    const struct ll_shape *shape = &tensor->shape;
    bool plain = true;
    ll_str_addf(out, "%" PRIu64 " %s %s ", tensor->number, ll_memory_name(tensor->memory),
                ll_dtype_name((enum ll_dtype)shape->dtype));
    for (unsigned i = 0; i < shape->rank; i++) {
        ll_str_addf(out, "%s%" PRIu64, i ? "x" : "", shape->dim[i]);
        plain &= shape->role[i] == LL_ROLE_PLAIN;
    }
    ll_str_add(out, shape->rank == 0 ? "- " : " ");
    for (unsigned i = 0; !plain && i < shape->rank; i++)
        ll_str_addf(out, "%s%s", i ? "," : "", ll_role_name((enum ll_role)shape->role[i]));
    ll_str_addf(out, "%s %s", plain ? "-" : "", tensor->name);
}

/* The word here, moved behind it and the blank that follows; its length. */
static size_t take_word(const char **at, const char **word)
{
    size_t length = strcspn(*at, " ");
    *word = *at;
    *at += length + ((*at)[length] == ' ');
    return length;
}

static bool is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

static bool read_number(const char **at, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = **at >= '0' && **at <= '9' ? strtoull(*at, &end, 10) : 0;
    if (**at < '0' || **at > '9' || errno)
        return false;
    *at = end;
    return true;
}

static bool read_dims(const char *word, size_t length, struct ll_shape *shape)
{
    const char *end = word + length;
    if (is_word(word, length, "-"))
        return true;
    for (; shape->rank < LL_MAX_RANK; word++) {
        if (!read_number(&word, &shape->dim[shape->rank++]))
            return false;
        if (*word != 'x')
            return word == end;
    }
    return false;
}

static bool read_roles(const char *word, size_t length, struct ll_shape *shape)
{
    if (is_word(word, length, "-"))
        return true;
    for (unsigned i = 0; i < shape->rank; i++) {
        size_t part = strcspn(word, ", ");
        unsigned role = 0;
        while (role < LL_ROLE_COUNT && !is_word(word, part, ll_role_name((enum ll_role)role)))
            role++;
        if (role == LL_ROLE_COUNT || (word[part] == ',') != (i + 1u < shape->rank))
            return false;
        shape->role[i] = (uint8_t)role;
        word += part + 1;
    }
    return shape->rank > 0;
}

static bool read_class(const char *word, size_t length, enum ll_memory_class *memory)
{
    unsigned i = 0;
    while (i < LL_MEMORY_COUNT && !is_word(word, length, ll_memory_name((enum ll_memory_class)i)))
        i++;
    *memory = (enum ll_memory_class)i;
    return i < LL_MEMORY_COUNT;
}

static bool read_dtype(const char *word, size_t length, struct ll_shape *shape)
{
    while (shape->dtype < LL_DTYPE_COUNT &&
           !is_word(word, length, ll_dtype_name((enum ll_dtype)shape->dtype)))
        shape->dtype++;
    return shape->dtype < LL_DTYPE_COUNT;
}

bool chakra_read_tensor(const char *line, struct chakra_tensor *tensor)
{
    const char *word;
    *tensor = (struct chakra_tensor){0};
    if (!read_number(&line, &tensor->number) || *line++ != ' ')
        return false;
    size_t length = take_word(&line, &word);
    if (!read_class(word, length, &tensor->memory))
        return false;
    length = take_word(&line, &word);
    if (!read_dtype(word, length, &tensor->shape))
        return false;
    length = take_word(&line, &word);
    if (!read_dims(word, length, &tensor->shape))
        return false;
    length = take_word(&line, &word);
    tensor->name = line;
    return read_roles(word, length, &tensor->shape) && ll_fits(ll_size_bytes(&tensor->shape));
}
