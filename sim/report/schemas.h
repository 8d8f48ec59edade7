/* SPDX-License-Identifier: Apache-2.0 */
/* What the JSON documents of all commands hold (schemas.def), as JSON Schemas (draft 2020-12). */
#ifndef LL_SIM_REPORT_SCHEMAS_H
#define LL_SIM_REPORT_SCHEMAS_H

#include "tracer/base/json.h"

struct ll_schema {
    const char *name; /* key `schema` of the document */
    unsigned version;
    const char *command; /* what prints it with --json, without "leadline" */
    const char *members; /* in the language of schemas.def */
};

/* All of them, by name; one without name ends them. Static storage. */
const struct ll_schema *ll_schemas(void);

/* Writes the JSON Schema. Objects have no members but those that it names, unless it says so. `meaning` says
 * what a key means, NULL where nothing is known; it may be NULL. */
void ll_schema_json(const struct ll_schema *schema, const char *(*meaning)(const char *key),
                    struct ll_json *json);

#endif
