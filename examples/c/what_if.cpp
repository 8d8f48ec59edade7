// SPDX-License-Identifier: Apache-2.0
// What would a faster memory gain?   c++ what_if.cpp $(pkg-config --cflags --libs leadline) -o what_if
//     ./what_if h100_sxm memory.hbm3.bandwidth=6TB/s resnet50
#include <iostream>
#include <leadline.h>
#include <memory>

int main(int argc, char **argv)
{
    using machine = std::unique_ptr<leadline_machine, decltype(&leadline_machine_free)>;
    const char *const options[] = {"dry-run", "infer", nullptr};
    const char *const changes[] = {argc > 2 ? argv[2] : "", nullptr};
    std::unique_ptr<leadline_trace, decltype(&leadline_trace_free)> trace(
        leadline_trace_record(argc > 3 ? argv[3] : nullptr, options), leadline_trace_free);
    machine base(trace ? leadline_machine_read(argv[1], nullptr) : nullptr, leadline_machine_free);
    machine changed(base ? leadline_machine_with(base.get(), changes) : nullptr, leadline_machine_free);
    for (const auto *one : {&base, &changed}) {
        std::unique_ptr<leadline_result, decltype(&leadline_result_free)> result(
            *one ? leadline_simulate(one->get(), trace.get(), nullptr) : nullptr, leadline_result_free);
        double time_s;
        if (!leadline_number(result.get(), "time_s", &time_s))
            return std::cerr << leadline_messages(), LEADLINE_WRONG;
        std::cout << time_s << " s\n";
    }
}
