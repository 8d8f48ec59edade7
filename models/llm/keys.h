/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a model's configuration file, as a tree: values by their keys, several spellings of one key,
 * and the keys that nobody asked for. All lies in the arena that it was read into; one thread at a time. */
#ifndef LL_MODELS_LLM_KEYS_H
#define LL_MODELS_LLM_KEYS_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/json.h"

/* A value. Objects and lists have children; what has a key is an object's. */
struct ll_key {
    enum ll_json_token token;
    const char *key, *text; /* text: of texts, else NULL */
    double number;          /* of numbers; 1 of true */
    uint64_t line;
    struct ll_key *child, *next;
    bool asked; /* somebody looked it up by its key */
};

/* Keys of the decoder, `inner`, before those of the model as a whole, which may be the same. */
struct ll_keys {
    const char *file;
    struct ll_key *whole, *inner;
    const char *family; /* for complaints */
    struct ll_arena *arena;
    struct ll_diags *diags;
    bool failed; /* after the first complaint */
};

/* Reads a text; `inner` is that of the first object of `inner_keys` (ended by NULL) that is there, else the
 * whole. False after complaints. */
bool ll_keys_read(struct ll_keys *keys, const char *text, size_t length, const char *const *inner_keys);

/* The value of a key of an object; item i of a list. NULL where there is none, or null. */
struct ll_key *ll_key_in(struct ll_key *object, const char *key);
struct ll_key *ll_key_item(struct ll_key *list, uint64_t i);

/* The value of a key of the decoder or of the whole; of the first of several spellings, ended by NULL. */
struct ll_key *ll_key_find(const struct ll_keys *keys, const char *key);
struct ll_key *ll_key_find_any(const struct ll_keys *keys, const char *const *spellings);

/* A value as a whole number of at most 2^40; 0 after a complaint. */
uint64_t ll_key_as_count(struct ll_keys *keys, const struct ll_key *value, const char *key);

/* A whole number, or otherwise; the same where a model cannot do without, complains when it is missing or
 * 0. */
uint64_t ll_key_count(struct ll_keys *keys, uint64_t otherwise, const char *const *spellings);
uint64_t ll_key_needed(struct ll_keys *keys, const char *const *spellings);

/* A real number; a truth value; a text. */
double ll_key_real(const struct ll_keys *keys, const char *key, double otherwise);
bool ll_key_says(const struct ll_keys *keys, const char *key, bool otherwise);
const char *ll_key_text(const struct ll_keys *keys, const char *key, const char *otherwise);

/* Of item i of the list of this key: whether it is a text; its number. */
bool ll_key_item_says(const struct ll_keys *keys, const char *key, uint64_t i, const char *text);
double ll_key_item_number(const struct ll_keys *keys, const char *key, uint64_t i, double otherwise);

/* Complains once, at a key's line or, where it is NULL, of the file. Always false. */
bool ll_keys_complain(struct ll_keys *keys, const struct ll_key *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses keys of the decoder that nobody asked for, whose values say that something is there, and that
 * sound as if they changed layers; remarks on others that are not known to change nothing. False after
 * complaints. */
bool ll_keys_check_unasked(struct ll_keys *keys);

#endif
