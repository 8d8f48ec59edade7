/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine file may say, as rows: key, type, place in the struct, bounds, help.
 *
 * Reading, checking, "did you mean", --set paths, the key reference and the dumps are all walks over these
 * rows (schema_rows.c). A key is added by adding a row; a type of value by adding a row to LL_TYPE_LIST and
 * its verbs in schema_values.c. Rows are constant and may be shared by threads. */
#ifndef LL_SIM_MACHINE_SCHEMA_H
#define LL_SIM_MACHINE_SCHEMA_H

#include "sim/machine/machine.h"
#include "sim/machine/node.h"
#include "sim/machine/quantity.h"

#include <assert.h>

/* Types of value: word, what the key reference calls it, how to tell that there is something to write.
 * The C type at the row's offset is named behind. */
#define LL_TYPE_LIST(X)                                                                                      \
    X(TEXT, "text", not_null)                     /* const char *, one of `choices` where there are some */  \
    X(NAME, "name", not_null)                     /* const char *, of letters, digits, - and _ */            \
    X(CHOICE, "choice", always)                   /* an enum: the index in `choices` */                      \
    X(BOOL, "true or false", when_given)          /* bool; with given_offset, whether given */               \
    X(WHOLE, "whole number", not_zero_whole)      /* uint64_t */                                             \
    X(SIZE, "size", not_zero_whole)               /* uint64_t, whole bytes */                                \
    X(QUANTITY, "quantity", not_zero)             /* double, in the base unit of `dimension` */              \
    X(NUMBER, "number", not_zero)                 /* double; the text has no unit, `unit` is meant */        \
    X(DTYPES, "number for each dtype", any_dtype) /* double [LL_DTYPE_COUNT]; `unit` is meant */             \
    X(LEVELS, "number", always)                   /* double [LL_MAX_LEVELS]; one key a level */              \
    X(NUMBERS, "list of numbers", any_item)       /* double [LL_MAX_NUMBERS], the count at count_offset */   \
    X(TILES, "list of tiles", any_item)           /* struct ll_tile [LL_MAX_TILES], count at count_offset */ \
    X(TILE, "tile, as 128x64x32", any_tile)       /* struct ll_tile */                                       \
    X(UNROLLS, "list of loops, as C32 K32", any_item) /* struct ll_unroll [LL_MAX_UNROLLS], likewise */      \
    X(PORTS, "list of ports, as 64..512 input.read", any_item) /* struct ll_array_port [LL_ARRAY_PORTS] */   \
    X(RESIDUALS, "list of shapes, as 64x32x256=1.1/0.9",                                                     \
      any_item)                                         /* const struct ll_shape_ratio *, likewise */        \
    X(EXTENTS, "extents, as 4x4x4", any_extent)         /* struct ll_extents */                              \
    X(PATTERN, "pattern, as 2:4", any_pattern)          /* struct ll_pattern */                              \
    X(RUNS, "list of op classes and kinds", when_given) /* bool [LL_OP_NONE], given at given_offset */       \
    X(OPERANDS, "list of operands", when_given)         /* bool [LL_OPERAND_COUNT], given at given_offset */ \
    X(WORDS, "list of choices", not_zero_whole)         /* uint64_t, a bit for each of `choices` */          \
    X(TEXTS, "list of texts", any_item)                 /* const char **, the count at count_offset */       \
    X(SOURCES, "text for each path", any_item)          /* struct ll_source *, the count at count_offset */  \
    X(DATA_FILE, "file", not_null)                      /* struct ll_data_file */                            \
    X(OBJECT, "map", when_given) /* the struct of `table`, whether given at given_offset */                  \
    X(LIST, "list", any_item)    /* up to `max` structs of `table`, count at count_offset */

enum ll_field_type {
#define X(word, ...) LL_TYPE_##word,
    LL_TYPE_LIST(X)
#undef X
        LL_TYPE_INHERITS, /* taken out of the tree before it is read, never written */
    LL_TYPE_COUNT
};

/* The longest name of a unit, level or network. */
enum { LL_NAME_LENGTH = 40 };

struct ll_field_table;

struct ll_field {
    const char *key; /* LEVELS: "<level>_suffix", which stands for one key a level */
    enum ll_field_type type;
    size_t offset;       /* in the struct of the table */
    size_t count_offset; /* LIST, NUMBERS, TEXTS, ..., which have several: where the uint64_t count is */
    size_t given_offset; /* BOOL, OBJECT, RUNS, OPERANDS: where the bool is; 0: nobody asks */
    enum ll_dimension dimension;
    const char *unit; /* NUMBER, DTYPES, LEVELS: the unit that the key names; NULL: none */
    bool required;
    bool wording;                       /* for people: no result depends on it */
    double min, max;                    /* both included */
    const char *const *choices;         /* TEXT, CHOICE, WORDS: ends with NULL */
    const struct ll_field_table *table; /* OBJECT, LIST */
    const char *otherwise;              /* the default as one would write it; NULL: absent, which is zero */
    const char *help;
};

struct ll_field_table {
    const char *what; /* "unit": for complaints */
    const struct ll_field *fields;
    size_t count;
    size_t size; /* of its struct */
    /* Further keys by the value of a CHOICE field: unit models. NULL: none. */
    const struct ll_field_table *const *variants;
    size_t variant_count, variant_offset;
    /* Of a unit model: whether it computes GEMMs and convolutions only. */
    bool gemms_only;
};

extern const struct ll_field_table ll_machine_table;
extern const struct ll_field_table ll_attention_table, ll_expert_table, ll_linear_table,
    ll_server_table;                                  /* schema_kernels.c */
extern const struct ll_field_table ll_accesses_table; /* schema_array.c */
#define LL_UNIT_MODEL(word, ...) extern const struct ll_field_table ll_fields_##word;
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL

/* The keys of a unit's model. */
const struct ll_field_table *ll_unit_keys(const struct ll_unit *unit);

/* What the walks over the rows carry along. */
struct ll_reading {
    struct ll_arena *arena; /* of the machine */
    struct ll_diags *diags;
    const struct ll_node *root;
    struct ll_machine *machine;
    const char *const *folders; /* where files are looked for, NULL: only beside others */
    uint64_t failed;            /* rows of the machine's table that were not read well, a bit each */
};

/* Reads a map into the struct of a table: all rows in their order, then complains of the keys that no row
 * has. False after complaints; what could be read stands in the object all the same. */
bool ll_field_table_read(const struct ll_field_table *table, const struct ll_node *node, void *object,
                         struct ll_reading *reading);

/* Reads the i-th row of the machine's table anew into the machine, where it stood before. False after
 * complaints. */
bool ll_section_read(size_t i, struct ll_reading *reading);

/* Whether a key of the machine's table was read without complaint. */
bool ll_read_well(const struct ll_reading *reading, const char *key);

/* The JSON Schema of machine files, for editors (file_schema.c). */
void ll_machine_file_schema(struct ll_json *json);

/* The variant of an object (its unit model's keys), or NULL. */
const struct ll_field_table *ll_field_table_variant(const struct ll_field_table *table, const void *object);

/* The level that a key like `hbm_pj_per_byte` speaks of, for a row whose key is "<level>_pj_per_byte"; the
 * number of levels when it speaks of none. */
uint64_t ll_level_of_key(const struct ll_field *field, const char *key, const struct ll_machine *machine);

/* The row of a key in a table and all its variants, or NULL. */
const struct ll_field *ll_field_table_find(const struct ll_field_table *table, const char *key);

/* Whether a table had this key in version 0.1 and has it no more: *now is what it is called, NULL where it is
 * ignored (old_keys.def). */
bool ll_old_key(const struct ll_field_table *table, const char *key, const char **now);

/* What its numbers measure: its dimension, or that of the unit which its key says. */
enum ll_dimension ll_field_dimension(const struct ll_field *field);

/* Words for "did you mean": bounded, further ones are left out. There is room for all kinds and classes of
 * ops, and for as many machines. */
enum { LL_MAX_WORDS = 512 };
static_assert(LL_MAX_WORDS >= (int)LL_OP_NONE + (int)LL_CLASS_COUNT, "each kind is a word to be near to");
struct ll_near_words {
    const char *words[LL_MAX_WORDS];
    size_t count;
};
void ll_near_words_add(struct ll_near_words *words, const char *word);

/* "; did you mean `cols`?" or, when nothing is near, "; expected a, b or c", of many the nearest; in the
 * arena of the diags. Empty when no further complaint will be kept, so that a file full of mistakes costs no
 * search. */
const char *ll_suggest(struct ll_diags *diags, const char *wrong, const struct ll_near_words *words);

/* Where a machine is written to. The two faces, JSON and YAML, implement these verbs. */
struct ll_dump {
    const struct ll_dump_verbs *verbs;
    void *out;
    bool results_only; /* leaves out the rows that are wording */
};
struct ll_dump_verbs {
    void (*open)(void *out, enum ll_node_type type, bool short_one); /* short_one: fits on a line */
    void (*close)(void *out, enum ll_node_type type);
    void (*key)(void *out, const char *key);
    void (*text)(void *out, const char *text);
    void (*word)(void *out, const char *word); /* a text that needs no quotes */
    void (*truth)(void *out, bool value);
    void (*count)(void *out, uint64_t value);
    void (*quantity)(void *out, double value, enum ll_dimension dimension);
    void (*number)(void *out, double value, const char *unit); /* without unit, meant in this one */
};

/* Writes the rows that have a value, in their order. */
void ll_field_table_write(const struct ll_field_table *table, const void *object,
                          const struct ll_machine *machine, struct ll_dump *dump);

/* The verbs of a type. read complains and returns false; write is called when `given` says that there is
 * something. */
struct ll_type {
    const char *name; /* for the key reference */
    bool (*read)(const struct ll_field *field, const struct ll_node *node, void *object,
                 struct ll_reading *reading);
    bool (*given)(const struct ll_field *field, const void *object);
    void (*write)(const struct ll_field *field, const void *object, const struct ll_machine *machine,
                  struct ll_dump *dump);
};
extern const struct ll_type ll_types[LL_TYPE_COUNT];

#endif
