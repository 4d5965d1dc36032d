#include "nearest.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>

namespace tabpe {
namespace {

constexpr int64_t kRowsAtOnce = 512;
constexpr int64_t kBlocksAProbe = 128, kMostProbes = 8;
constexpr int kManyCodes = 4, kManyNumbers = 64;
// Measured: time per counted instruction against that of the dense kernel, which never waits.
constexpr double kPruneEffort = 2.2, kFilterEffort = 1.75;
constexpr auto kPatience = std::chrono::milliseconds(50);

class Interruption {
public:
    explicit Interruption(const std::function<bool()>& ask) : ask_(ask) {}
    bool happened() const { return stop_.load(std::memory_order_relaxed); }
    void look() {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < kPatience) return;
        last_ = now;
        if (ask_()) stop_ = true;
    }

private:
    const std::function<bool()>& ask_;
    std::atomic<bool> stop_{false};
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Hands out chunks of rows to the calling thread and `threads` - 1 others.
Outcome in_chunks(Kernel kernel, const Job& whole, int threads, const std::function<bool()>& ask) {
    const int64_t piece = scratch_floats(*whole.candidates);
    const int64_t chunks = (whole.last - whole.first + kRowsAtOnce - 1) / kRowsAtOnce;
    const int workers = int(std::max<int64_t>(1, std::min<int64_t>(threads, chunks)));
    Lines<float> scratch(size_t(piece) * size_t(workers));
    std::atomic<int64_t> next{0};
    std::atomic<bool> fits{true};
    Interruption interruption(ask);
    const auto work = [&](int worker) {
        for (int64_t chunk; (chunk = next++) < chunks && !interruption.happened();) {
            Job job = whole;
            job.first = whole.first + chunk * kRowsAtOnce;
            job.last = std::min(job.first + kRowsAtOnce, whole.last);
            job.scratch = scratch.data() + piece * worker;
            if (!kernel(job).fits) fits = false;
            if (worker == 0) interruption.look();
        }
    };
    std::vector<std::thread> others;
    others.reserve(size_t(workers));
    try {
        for (int worker = 1; worker < workers; ++worker) others.emplace_back(work, worker);
    } catch (const std::system_error&) {
        // The system gives no more threads: those that there are do all the work.
    }
    work(0);
    for (std::thread& other : others) other.join();
    if (interruption.happened()) return Outcome::interrupted;
    return fits ? Outcome::done : Outcome::misfit;
}

Kernel named(const Kernels& kernels, Choice choice) {
    switch (choice) {
        case Choice::filter: return kernels.filter;
        case Choice::dense: return kernels.dense;
        case Choice::holes: return kernels.holes;
        default: return kernels.prune;
    }
}

// How many instructions a kernel takes for a few blocks of rows from all over the table.
int64_t probe(Kernel kernel, Job job, int64_t blocks, int64_t probes) {
    Lines<float> scratch(size_t(scratch_floats(*job.candidates)));
    job.scratch = scratch.data();
    const int64_t end = job.last;
    int64_t instructions = 0;
    for (int64_t i = 0; i < probes; ++i) {
        job.first = blocks * i / probes * kTile;
        job.last = std::min(job.first + kTile, end);
        instructions += kernel(job).instructions;
    }
    return instructions;
}

// Tries the kernels on a few rows and takes the one with the least work. They agree on every answer,
// so this may look at the rows.
Choice cheapest(const Kernels& kernels, const Job& job) {
    const Candidates& c = *job.candidates;
    const int64_t blocks = (job.last - job.first + kTile - 1) / kTile;
    const int64_t probes = std::min<int64_t>(blocks / kBlocksAProbe, kMostProbes);
    const bool filters = c.code_columns > 0 && c.code_columns <= kMostFilterColumns;
    if (c.number_columns > kManyNumbers) return Choice::dense;  // boxes rule nothing out there
    if (probes < 1) return filters && c.code_columns >= kManyCodes ? Choice::filter : Choice::prune;
    const auto cost = [&](Choice choice, double effort) {
        return effort * double(probe(named(kernels, choice), job, blocks, probes));
    };
    Choice best = Choice::prune;
    double least = cost(Choice::prune, kPruneEffort);
    if (const double dense = cost(Choice::dense, 1.0); dense < least) least = dense, best = Choice::dense;
    if (filters && cost(Choice::filter, kFilterEffort) < least) best = Choice::filter;
    return best;
}

}  // namespace

std::vector<const Kernels*> usable_kernels() {
    std::vector<const Kernels*> usable;
#if defined(TABPE_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        usable.push_back(&avx512::kernels);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) usable.push_back(&avx2::kernels);
#endif
    usable.push_back(&portable::kernels);
    return usable;
}

Outcome find_nearest(const Index& index, const Rows& rows, int nearest, int threads, Choice choice,
                  const Kernels& kernels, const std::function<bool()>& interrupted, int64_t* found) {
    const Job job{&index.candidates(), &rows, 0, rows.count, nearest, found, nullptr};
    const bool chooses = choice == Choice::automatic, can_miss = index.candidates().code_columns > 0;
    if (chooses) choice = index.candidates().holes ? Choice::holes : cheapest(kernels, job);
    const Outcome outcome = in_chunks(named(kernels, choice), job, threads, interrupted);
    // Whether a row has a hole in it, the others find out only on the way.
    if (outcome != Outcome::misfit || !chooses || !can_miss || choice == Choice::holes) return outcome;
    return in_chunks(kernels.holes, job, threads, interrupted);
}

}  // namespace tabpe
