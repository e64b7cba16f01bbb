// Lanes and their exponential, random numbers, threads, checksums, the support set.
#define POCKETSVM_SET unit

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "../checksum.hpp"
#include "../kernel/support_set.hpp"
#include "../random.hpp"
#include "../threads.hpp"
#include "check.hpp"

using namespace pocketsvm;
using namespace pocketsvm::unit;

namespace {

template <class Real>
void exponential_is_exact_to_rounding() {
    using L = Lanes<Real>;
    const double unit = sizeof(Real) == 4 ? 0x1p-24 : 0x1p-53;
    double worst = 0, worst_complement = 0;
    for (double t = 1e-9; t < ExponentialPolynomial<Real>::largest; t = t * 1.01 + 1e-9) {
        const Real rounded = Real(t);
        const double value = exp2_minus(L::all(rounded)).part[0][0];
        const double complement = one_minus_exp2_minus(L::all(rounded)).part[0][0];
        const double exact = std::exp2(-double(rounded));
        const double exact_complement = -std::expm1(-double(rounded) * std::log(2.0));
        worst = std::fmax(worst, std::fabs(value / exact - 1));
        worst_complement =
            std::fmax(worst_complement, std::fabs(complement / exact_complement - 1));
    }
    CHECK(worst < 3 * unit);
    CHECK(worst_complement < 6 * unit);
    CHECK(exp2_minus(L::all(0)).part[0][0] == 1);
    CHECK(one_minus_exp2_minus(L::all(0)).part[0][0] == 0);
}

void sums_have_a_fixed_order() {
    alignas(lane_bytes) float values[16];
    for (int i = 0; i < 16; ++i) values[i] = float(i % 3 ? 1e8 : 1) * (i % 2 ? -1.0f : 1.0f);
    float folded[16];
    std::memcpy(folded, values, sizeof(values));
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) folded[i] += folded[i + half];
    CHECK(Lanes<float>::load(values).sum() == folded[0]);
}

void generator_shuffles_evenly() {
    Generator generator(7);
    std::vector<int> count(5);
    std::uint32_t order[5];
    for (int round = 0; round < 50000; ++round) {
        generator.shuffle(order, 5, [] {});
        ++count[order[0]];
    }
    for (int n : count) CHECK(std::abs(n - 10000) < 450);  // five standard deviations
    Generator a(1), b(2);
    CHECK(a.next() != b.next());
}

void parallel_runs_every_task_once() {
    std::vector<int> done(1000);
    check::NeverInterrupt never;
    CHECK(parallel(done.size(), 4, never, [&](std::size_t i, Interrupt&) {
        ++done[i];
        return true;
    }));
    for (int n : done) CHECK(n == 1);
    CHECK(!parallel(done.size(), 4, never, [&](std::size_t i, Interrupt&) { return i != 500; }));
    bool thrown = false;
    try {
        parallel(8, 2, never, [&](std::size_t i, Interrupt&) -> bool {
            if (i == 3) throw 1;
            return true;
        });
    } catch (int) {
        thrown = true;
    }
    CHECK(thrown);
}

void a_pool_serves_many_calls() {
    ThreadPool pool(3);
    own_pool = &pool;
    check::NeverInterrupt never;
    for (int round = 0; round < 200; ++round) {
        std::atomic<int> count{0};
        const std::size_t n_threads = 2 + std::size_t(round) % 5;  // some have fewer than they want
        CHECK(parallel(20, n_threads, never, [&](std::size_t, Interrupt& own) {
            ++count;
            return !own.requested();
        }));
        CHECK(count == 20 && own_pool == &pool);
    }
    // A call within another one has threads of its own.
    std::atomic<int> inner{0};
    CHECK(parallel(4, 4, never, [&](std::size_t, Interrupt& own) {
        return parallel(5, 2, own, [&](std::size_t, Interrupt&) {
            ++inner;
            return true;
        });
    }));
    CHECK(inner == 20);
    // After a call in which all threads throw, the next one is not affected.
    for (int round = 0; round < 20; ++round) {
        int caught = 0;
        try {
            parallel(8, 4, never, [](std::size_t, Interrupt&) -> bool { throw 1; });
        } catch (int) {
            ++caught;
        }
        CHECK(caught == 1);
        CHECK(parallel(8, 4, never, [](std::size_t, Interrupt&) { return true; }));
    }
    own_pool = nullptr;
}

std::uint64_t checksum_on(std::size_t n_threads, const std::vector<unsigned char>& bytes) {
    check::NeverInterrupt never;
    std::uint64_t sum = 0;
    CHECK(checksum(bytes.data(), bytes.size(), n_threads, never, sum));
    return sum;
}

void checksums_tell_bytes_apart() {
    std::set<std::uint64_t> sums;
    std::vector<unsigned char> bytes;
    for (std::size_t n = 0; n < 300; ++n, bytes.push_back(0)) sums.insert(checksum_on(1, bytes));
    CHECK(sums.size() == 300);
    for (int bit = 0; bit < 8 * 300; ++bit) {
        bytes[std::size_t(bit / 8)] ^= 1 << bit % 8;
        sums.insert(checksum_on(1, bytes));
        bytes[std::size_t(bit / 8)] ^= 1 << bit % 8;
    }
    CHECK(sums.size() == 300 + 8 * 300);
    // Several blocks, the last of which is short; two signs change places.
    for (std::size_t i = 0; i < 5000000; ++i) bytes.push_back((unsigned char)(i * i >> 7));
    const std::uint64_t sum = checksum_on(1, bytes);
    for (std::size_t n_threads = 2; n_threads < 9; n_threads += 3)
        CHECK(checksum_on(n_threads, bytes) == sum);
    for (std::size_t step = 8; step < 4000000; step *= 2) {
        bytes[7] ^= 0x80;
        bytes[7 + step] ^= 0x80;
        sums.insert(checksum_on(1, bytes));
        bytes[7] ^= 0x80;
        bytes[7 + step] ^= 0x80;
    }
    CHECK(sums.size() == 300 + 8 * 300 + 19 && sums.count(sum) == 0);
}

void support_set_keeps_its_slots() {
    SupportSet<float> set(20, 3);
    for (int i = 0; i < 20; ++i) {
        const float x[3] = {float(i), 0, float(-i)};
        const DenseRow<float> row{x, 3};
        set.add(row, squared_norm(row), i % 2 ? 1 : -1, i);
    }
    set.remove(3);  // 19 moves to the free slot
    float out[3];
    set.copy_vector(3, out);
    CHECK(set.size() == 19 && out[0] == 19 && set.birth(3) == 19);
    set.merge(0, 2, 0.25, -1.5, 99);  // 2 becomes 0.25 * 0 + 0.75 * 2, 18 moves to slot 0
    set.copy_vector(2, out);
    CHECK(set.size() == 18 && out[0] == 1.5f && out[2] == -1.5f);
    CHECK(set.coefficient(2) == -1.5 && set.birth(2) == 99 && set.norms()[2] == 4.5f);
    CHECK(set.birth(0) == 18);
    CHECK(set.squared_distance(0, 2) == 2 * 16.5 * 16.5);
}

}  // namespace

void shared_tests() {
    exponential_is_exact_to_rounding<float>();
    exponential_is_exact_to_rounding<double>();
    sums_have_a_fixed_order();
    generator_shuffles_evenly();
    support_set_keeps_its_slots();
    checksums_tell_bytes_apart();
    parallel_runs_every_task_once();
    a_pool_serves_many_calls();
    ThreadPool pool(3);
    own_pool = &pool;
    parallel_runs_every_task_once();
    own_pool = nullptr;
}
