/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites of a recorded program as text: the files that it loaded are read when a call from them is first
 * seen. One thread at a time; {0} to begin with. */
#ifndef LL_SIM_CLI_FOREIGN_SITES_H
#define LL_SIM_CLI_FOREIGN_SITES_H

#include "tracer/base/arena.h"
#include "tracer/interpose/ring_reader.h"

struct ll_library_sites;
struct ll_foreign_sites {
    struct ll_arena arena;
    struct ll_library_sites *first;
};

/* As struct ll_session_settings wants it; the context is the sites. Lives until they are released. */
const char *ll_foreign_site(void *sites, const struct ll_ring_library *library, uint64_t address);

/* Frees what was read of the libraries; the struct is not used again. */
void ll_foreign_sites_release(struct ll_foreign_sites *sites);

#endif
