/* SPDX-License-Identifier: Apache-2.0 */
/* A line of a *.case file: columns between bars, the last one says where the numbers come from.
 *
 *   kind of thing | what is given ... | what is expected ... | where the number comes from
 *
 * A number may be written as sums and products (2*64*9216 + 64), so that it shows how it came about. */
#ifndef LL_TESTS_CASES_CASE_H
#define LL_TESTS_CASES_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_CASE_COLUMNS = 8 };

struct ll_case {
    const char *file;
    unsigned line;
    char *column[LL_CASE_COLUMNS]; /* without blanks around */
    unsigned columns;
    bool failed;
};

/* Says what is wrong, with file and line; the case has failed. */
void ll_case_fail(struct ll_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The value of a sum of products of counts; fails the case where it is none. */
uint64_t ll_case_number(struct ll_case *c, const char *text);

/* What was got must be the number in text. */
void ll_case_expect(struct ll_case *c, const char *what, uint64_t got, const char *text);

/* Takes the next word off *rest, in place; NULL at the end. */
char *ll_case_word(char **rest);

/* The value behind `key=` among the words of a text; false when there is none. */
bool ll_case_value(const char *text, const char *key, char value[static 64]);

/* One line of each kind; the line's first word chooses. */
void ll_check_op_case(struct ll_case *c);
void ll_check_unit_case(struct ll_case *c);

/* Rows of the op table that no case looked at are named; how many there are. */
unsigned ll_ops_without_case(void);

#endif
