/* SPDX-License-Identifier: Apache-2.0 */
/* A page of one study or of many. */
#include "sim/cli/study_page.h"

void ll_study_pages_add(struct ll_study_pages *all, const struct ll_study *study,
                        const struct ll_study_plan *plan, const struct ll_study_result *result,
                        const char *page)
{
    if (!all->document.out) {
        all->document = (struct ll_json){.out = &all->content.document};
        all->more = (struct ll_json){.out = &all->content.more};
        ll_json_open_document(&all->document, "study", 1);
        ll_json_key(&all->document, "studies");
        ll_json_open_list(&all->document);
        ll_json_open_object(&all->more);
        ll_json_key(&all->more, "studies");
        ll_json_open_list(&all->more);
    }
    ll_present_json(study, plan, result, &all->document);
    ll_present_more_json(study, result, page, &all->more);
    ll_present_text(study, plan, result, 100, &all->content.plain);
}

bool ll_study_pages_write(const struct ll_args *args, struct ll_study_pages *all, const char *title)
{
    ll_json_close_list(&all->document);
    ll_json_close_object(&all->document);
    ll_json_close_list(&all->more);
    ll_json_close_object(&all->more);
    bool written = all->path ? ll_write_page_to(args, all->path, "study", title, &all->content) == LL_DONE
                             : ll_cli_fail("memory ran out") == LL_DONE;
    ll_page_content_release(&all->content);
    return written;
}
