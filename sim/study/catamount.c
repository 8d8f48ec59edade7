/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/catamount.h"

#include "sim/memory/footprint.h"
#include "tracer/ir/profile.h"

#include <math.h>

const struct ll_catamount_domain_row ll_catamount_domains[LL_CATAMOUNT_DOMAIN_COUNT] = {
#define X(word, name, model, batch, setting) {name, model, batch, setting},
    LL_CATAMOUNT_DOMAINS(X)
#undef X
};

/* Of the sweeps above 30 million parameters a few of each domain; of the residual networks all depths. */
const struct ll_catamount_size ll_catamount_sizes[LL_CATAMOUNT_SIZES] = {
    {LL_WORD_DOMAIN, "948", 33364438, 1469483762465, 48382449668, 2107717968},
    {LL_WORD_DOMAIN, "1510", 66715766, 3175562639945, 99869517668, 2494095216},
    {LL_WORD_DOMAIN, "2161", 117983318, 5929140256469, 184122448052, 3042737184},
    {LL_WORD_DOMAIN, "6628", 835562198, 47328230197985, 1474811209988, 11285400633},
    {LL_WORD_DOMAIN, "17186", 5069742518, 301331438603769, 9469727986852, 63447833113},
    {LL_WORD_DOMAIN, "38100", 23988379606, 1452394502586785, 45821545659908, 293052607273},
    {LL_CHAR_DOMAIN, "1202", 32045420, 2767500130011, 171496120996, 1226049526},
    {LL_CHAR_DOMAIN, "1611", 57445138, 4963836638019, 282411371684, 1759055054},
    {LL_CHAR_DOMAIN, "2476", 135407588, 11707310375559, 604945665524, 3080269894},
    {LL_CHAR_DOMAIN, "6869", 1039513346, 89937978363591, 4086593847316, 13855525726},
    {LL_CHAR_DOMAIN, "31953", 22468774546, 1944576932383695, 82982816832500, 217698628647},
    {LL_CHAR_DOMAIN, "81400", 145788702500, 12618034551353440, 532656162401684, 1327373764123},
    {LL_NMT_DOMAIN, "256", 30234625, 173506963880, 11394586352, 1191132467},
    {LL_NMT_DOMAIN, "1024", 146890753, 1082302284200, 44129130224, 1681362227},
    {LL_NMT_DOMAIN, "2560", 496988161, 4652070105512, 182075791088, 3567791411},
    {LL_NMT_DOMAIN, "4571", 1190740930, 12857419478945, 508765926512, 9104520989},
    {LL_NMT_DOMAIN, "10123", 4491726946, 56300559297089, 2270647733360, 39503097885},
    {LL_NMT_DOMAIN, "22350", 18935054101, 259603620745212, 10602807115248, 182968064397},
    {LL_SPEECH_DOMAIN, "768", 40141113, 1121097563404, 208528038679, 2440236957},
    {LL_SPEECH_DOMAIN, "1152", 89849721, 2500748430988, 420274660375, 3803925557},
    {LL_SPEECH_DOMAIN, "1548", 161806683, 4496021850424, 716039985439, 5400858917},
    {LL_SPEECH_DOMAIN, "1872", 236310321, 6560902297948, 1016486965495, 6848341877},
    {LL_SPEECH_DOMAIN, "2490", 417423564, 11578495540654, 1735443068515, 9960903821},
    {LL_SPEECH_DOMAIN, "3289", 727391309, 20163392789380, 2948505896519, 14668210709},
    {LL_IMAGE_DOMAIN, "18", 11689514, 349684163360, 7186222676, 758477036},
    {LL_IMAGE_DOMAIN, "34", 21797674, 705506994208, 11162578644, 1160543988},
    {LL_IMAGE_DOMAIN, "50", 25557034, 790954958112, 32896462028, 2928286768},
    {LL_IMAGE_DOMAIN, "101", 44549162, 1506507229472, 50026672916, 0},
    {LL_IMAGE_DOMAIN, "152", 60192810, 2222688328992, 70967716188, 0},
};

const struct ll_catamount_law ll_catamount_laws[LL_CATAMOUNT_DOMAIN_COUNT] = {
    [LL_WORD_DOMAIN] = {3.37, 2.48, 0.768e9, 13.0, -0.066, -0.066, 9.4e-4, 0.68, 100, 23, 23.8e3},
    [LL_CHAR_DOMAIN] = {1.30, 0.70, 3.48e9, 9.39, -0.092, -0.090, 1.2e-5, 0.89, 971, 456, 146e3},
    [LL_NMT_DOMAIN] = {0.28, 0.12, 0.13e9, 3.06, -0.128, -0.128, 6.4e-4, 0.68, 750, 90, 18.9e3},
    [LL_SPEECH_DOMAIN] = {0.095, 0.04, 0.425e9, 30.5, -0.291, -0.291, 2.4e-3, 0.54, 33, 6.6, 727},
    [LL_IMAGE_DOMAIN] = {0.194, 0.05, 1.3e6, 15, -0.309, -0.309, 2e-2, 0.57, 81, 12, 732},
};

const struct ll_catamount_size *ll_catamount_largest(enum ll_catamount_domain domain)
{
    size_t i = LL_CATAMOUNT_SIZES;
    while (ll_catamount_sizes[--i].domain != domain)
        ;
    return &ll_catamount_sizes[i];
}

void ll_catamount_plan(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < LL_CATAMOUNT_SIZES; i++) {
        const struct ll_catamount_domain_row *domain = &ll_catamount_domains[ll_catamount_sizes[i].domain];
        ll_study_plan_recording(
            plan, &(struct ll_recording){.row = domain->name,
                                         .variant = ll_catamount_sizes[i].value,
                                         .model = domain->model,
                                         .settings = {{domain->setting, ll_catamount_sizes[i].value}},
                                         .train = true,
                                         .dry_run = true,
                                         .batch = domain->batch,
                                         .steps = 1});
    }
}

struct ll_catamount_size ll_catamount_found(const struct ll_evidence *evidence, size_t i)
{
    struct ll_catamount_size size = ll_catamount_sizes[i];
    const struct ll_trace *trace =
        ll_evidence_trace(evidence, ll_catamount_domains[size.domain].name, size.value);
    struct ll_accounts accounts;
    uint64_t minimal_bytes;
    size.parameters = size.flops = size.bytes = size.minimal_bytes = NAN;
    if (!trace || !ll_catamount(trace, &accounts) || !ll_minimal_footprint(trace, &minimal_bytes))
        return size;
    size.parameters = (double)accounts.parameters;
    size.flops = (double)accounts.flops;
    size.bytes = (double)accounts.bytes;
    size.minimal_bytes = (double)minimal_bytes;
    return size;
}

double ll_catamount_sum_s(const struct ll_trace *trace, double flops_per_s, double bytes_per_s)
{
    const struct ll_step step = ll_trace_typical_step(trace);
    double time_s = 0;
    for (uint32_t i = 0; i < step.op_count; i++) {
        const struct ll_form *form = &trace->forms[trace->ops[step.first_op + i].form];
        const struct ll_account account = ll_catamount_op(&form->view, form->phase);
        time_s += fmax((double)account.flops / flops_per_s, (double)account.bytes / bytes_per_s);
    }
    return time_s;
}

struct ll_catamount_rates ll_catamount_rates(const struct ll_machine *machine)
{
    const struct ll_level *memory = &machine->levels[machine->level_count - 1];
    const struct ll_catamount_rates rates = {.peak_flops = ll_machine_peak_flops(machine, LL_F32),
                                             .peak_Bps = memory->bandwidth_Bps};
    return (struct ll_catamount_rates){rates.peak_flops, rates.peak_Bps,
                                       rates.peak_flops * machine->units[0].efficiency,
                                       rates.peak_Bps * memory->efficiency};
}

double ll_percent_off(double found, double expected)
{
    return 100 * (found / expected - 1);
}
