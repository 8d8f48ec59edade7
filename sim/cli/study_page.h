/* SPDX-License-Identifier: Apache-2.0 */
/* A page of one study or of many, which are added as they are judged. One thread. */
#ifndef LL_SIM_CLI_STUDY_PAGE_H
#define LL_SIM_CLI_STUDY_PAGE_H

#include "sim/cli/html.h"
#include "sim/study/study.h"
#include "tracer/base/json.h"

/* {.path} to begin with. */
struct ll_study_pages {
    const char *path; /* of the page; NULL: memory ran out */
    struct ll_page_content content;
    struct ll_json document, more;
};

/* page: the file of the study's own page, beside this one; NULL: this is it. */
void ll_study_pages_add(struct ll_study_pages *all, const struct ll_study *study,
                        const struct ll_study_plan *plan, const struct ll_study_result *result,
                        const char *page);

/* Writes what was added, and releases it; false after saying what is wrong. */
bool ll_study_pages_write(const struct ll_args *args, struct ll_study_pages *all, const char *title);

#endif
