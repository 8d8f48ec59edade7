/* SPDX-License-Identifier: Apache-2.0 */
/* Towers that look, beside language models. Pure functions. */
#ifndef LL_MODELS_LLM_TOWER_H
#define LL_MODELS_LLM_TOWER_H

#include "models/llm/keys.h"

/* Parameters of a tower by the keys of its `vision_config`, with what leads to the `hidden` features of
 * tokens; buffers do not count. LL_NO_FIT where the family's tower is not known here, or a key is missing.
 * Llama 4, Gemma 4, Qwen3-VL, Qwen3.5; structure as in the reference models of the transformers library. */
uint64_t ll_llm_tower_parameters(const char *family, struct ll_key *tower, uint64_t hidden);

#endif
