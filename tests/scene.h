/* SPDX-License-Identifier: Apache-2.0 */
/* A trace on a machine, with all that a test holds for the two. */
#ifndef LL_TESTS_SCENE_H
#define LL_TESTS_SCENE_H

#include "check.h"

#include "sim/replay/communication.h"
#include "sim/replay/replay.h"

#include <string.h>

struct scene {
    struct ll_arena arena;
    struct ll_diags diags;
    struct ll_trace *trace;
    struct ll_machine *machine;
    struct ll_remembered remembered; /* from step to step */
    const struct ll_result *result;  /* of play() */
};

/* Takes the trace. The machine's text inherits from no file and must be right; one value is set in it, where
 * there is a path. */
static inline struct scene open_scene_set(struct ll_trace *trace, const char *yaml, const char *path,
                                          const char *value)
{
    static const char *const no_folders[] = {NULL};
    const struct ll_override set = {path, value};
    struct scene scene = {.trace = trace};
    scene.machine =
        ll_machine_parse(yaml, strlen(yaml), "scene.yaml", no_folders, &set, path != NULL, &scene.diags);
    assert_non_null(scene.machine);
    return scene;
}

static inline struct scene open_scene(struct ll_trace *trace, const char *yaml)
{
    return open_scene_set(trace, yaml, NULL, NULL);
}

/* Replays it; the result lives as long as the scene, and is NULL where the machine complained. */
static inline void play(struct scene *scene)
{
    const struct ll_prepared *prepared = ll_prepare(scene->trace, &scene->arena, &scene->diags);
    assert_non_null(prepared);
    scene->result = ll_replay(prepared, scene->machine, &scene->arena, &scene->diags);
}

static inline void close_scene(struct scene *scene)
{
    ll_machine_free(scene->machine);
    ll_trace_free(scene->trace);
    ll_diags_release(&scene->diags);
    ll_remembered_release(&scene->remembered);
    ll_arena_release(&scene->arena);
}

#endif
