/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/speech.h"

#include "tracer/base/random.h"

#include <string.h>

void ll_speech_of_utterances(struct ll_speech *speech, const struct ll_utterances *spoken, uint64_t seed)
{
    *speech = (struct ll_speech){.seed = seed, .most_labels = spoken->most_labels, .spoken = spoken};
}

bool ll_speech_of_tones(struct ll_speech *speech, uint64_t kinds, uint64_t most_labels, uint64_t seed,
                        struct ll_arena *arena)
{
    *speech = (struct ll_speech){.seed = seed, .most_labels = most_labels};
    for (uint64_t part = 0; part < LL_PART_COUNT; part++)
        speech->tones[part] = (struct ll_tones){ll_random_key(seed, part), kinds, most_labels};
    speech->cepstra = ll_cepstra_new(arena, LL_TONES_RATE_HZ);
    if (speech->cepstra)
        speech->sound = ll_alloc(arena, ll_cepstra_samples(speech->cepstra, most_labels * LL_FRAMES_A_TONE),
                                 sizeof(float));
    return speech->sound != NULL;
}

static const struct ll_utterance *utterance_of(const struct ll_speech *speech, enum ll_data_part part,
                                               uint64_t i)
{
    return &speech->spoken->at[ll_data_part_choose(part, speech->spoken->count, speech->seed, i)];
}

uint64_t ll_speech_labels(const struct ll_speech *speech, enum ll_data_part part, uint64_t i, int32_t *labels)
{
    if (!speech->spoken)
        return ll_tones_labels(&speech->tones[part], i, labels);
    const struct ll_phonemes *said = &utterance_of(speech, part, i)->said;
    memcpy(labels, said->labels, said->count * sizeof *labels);
    return said->count;
}

uint64_t ll_speech_frames(const struct ll_speech *speech, enum ll_data_part part, uint64_t i)
{
    return speech->spoken ? utterance_of(speech, part, i)->frames : ll_tones_frames(&speech->tones[part], i);
}

void ll_speech_features(const struct ll_speech *speech, enum ll_data_part part, uint64_t i, float *features)
{
    if (!speech->spoken) {
        ll_tones_speak(&speech->tones[part], i, speech->cepstra, speech->sound, features);
        return;
    }
    const struct ll_utterance *utterance = utterance_of(speech, part, i);
    memcpy(features, utterance->features, utterance->frames * LL_FEATURES * sizeof *features);
}
