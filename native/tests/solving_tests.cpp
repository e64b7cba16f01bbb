// Sums over rows of kernel values, with every instruction set that this CPU runs, against plain
// loops that take the terms in the same order, so that the bits are the same.
#define POCKETSVM_SET unit

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "../random.hpp"
#include "check.hpp"

using namespace pocketsvm;
using namespace pocketsvm::unit;

namespace {

using Numbers = std::vector<double>;

double fused_if(bool fused, double a, double b, double c) {
    return fused ? std::fma(a, b, c) : a * b + c;
}

template <class Real>
struct Problem {
    std::size_t n_rows, n_vectors, n_outputs;
    std::vector<Real> kernel;
    Numbers coefficients, intercepts, slopes;

    Problem(std::size_t rows, std::size_t vectors, std::size_t outputs, double share_of_slopes)
        : n_rows(rows), n_vectors(vectors), n_outputs(outputs) {
        Generator random(rows + 100 * vectors + 10000 * outputs);
        const auto uniform = [&] { return double(random.next() >> 11) * 0x1p-53; };
        for (std::size_t i = 0; i < rows * vectors; ++i) kernel.push_back(Real(uniform()));
        for (std::size_t i = 0; i < outputs * vectors; ++i) coefficients.push_back(uniform() - 0.5);
        for (std::size_t i = 0; i < outputs; ++i) intercepts.push_back(uniform() - 0.5);
        for (std::size_t i = 0; i < rows * outputs; ++i)
            slopes.push_back(uniform() < share_of_slopes ? uniform() - 0.5 : 0.0);
    }

    KernelView rows(std::size_t begin, std::size_t end) const {
        return {sizeof(Real) == 4 ? Precision::float32 : Precision::float64, end - begin, n_vectors,
                kernel.data() + begin * n_vectors};
    }

    // Eight partial sums, then halves are added.
    Numbers expected_decisions(bool fused) const {
        Numbers out(n_rows * n_outputs);
        for (std::size_t i = 0; i < n_rows; ++i)
            for (std::size_t o = 0; o < n_outputs; ++o) {
                double part[8] = {};
                for (std::size_t j = 0; j < n_vectors; ++j)
                    part[j % 8] = fused_if(fused, coefficients[o * n_vectors + j],
                                           double(kernel[i * n_vectors + j]), part[j % 8]);
                for (int half = 4; half > 0; half /= 2)
                    for (int l = 0; l < half; ++l) part[l] += part[l + half];
                out[i * n_outputs + o] = intercepts[o] + part[0];
            }
        return out;
    }

    Numbers expected_pull(bool fused) const {
        Numbers out(n_outputs * n_vectors);
        for (std::size_t i = 0; i < n_rows; ++i)
            for (std::size_t o = 0; o < n_outputs; ++o)
                for (std::size_t j = 0; j < n_vectors; ++j)
                    out[o * n_vectors + j] =
                        fused_if(fused, slopes[i * n_outputs + o],
                                 double(kernel[i * n_vectors + j]), out[o * n_vectors + j]);
        return out;
    }
};

bool same_bits(const Numbers& a, const Numbers& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

template <class Real>
void sums_are_those_of_plain_loops(const Core& core, const Problem<Real>& problem) {
    const bool fused = std::strcmp(core.name, "baseline") != 0;
    const KernelView all = problem.rows(0, problem.n_rows);
    Numbers out(problem.n_rows * problem.n_outputs, NAN);
    core.kernel_decisions(all, problem.n_outputs, problem.coefficients.data(),
                          problem.intercepts.data(), out.data());
    CHECK(same_bits(out, problem.expected_decisions(fused)));
    Numbers pull(problem.n_outputs * problem.n_vectors, NAN);
    core.kernel_pull(all, problem.n_outputs, problem.slopes.data(), pull.data());
    CHECK(same_bits(pull, problem.expected_pull(fused)));
}

template <class Real>
void all_sizes(const Core& core) {
    for (std::size_t n_rows : {0, 1, 2, 7, 8, 13, 70})
        for (std::size_t n_vectors : {0, 1, 5, 8, 9, 16, 31, 67})
            for (std::size_t n_outputs : {0, 1, 2, 3, 4, 5, 7, 12, 26})
                for (double share : {0.0, 0.1, 1.0})
                    sums_are_those_of_plain_loops(
                        core, Problem<Real>(n_rows, n_vectors, n_outputs, share));
    // Blocks of rows are smaller if the rows are long.
    sums_are_those_of_plain_loops(core, Problem<Real>(37, 1203, 4, 0.5));
    sums_are_those_of_plain_loops(core, Problem<Real>(19, 5001, 1, 0.5));
}

template <class Real>
void decisions_do_not_depend_on_chunks(const Core& core) {
    const Problem<Real> problem(61, 45, 8, 1);
    const auto decide = [&](std::size_t begin, std::size_t end, double* out) {
        core.kernel_decisions(problem.rows(begin, end), 8, problem.coefficients.data(),
                              problem.intercepts.data(), out + begin * 8);
    };
    Numbers whole(61 * 8), chunks(61 * 8);
    decide(0, 61, whole.data());
    for (std::size_t step : {1, 3, 10, 60}) {
        for (std::size_t begin = 0; begin < 61; begin += step)
            decide(begin, begin + step < 61 ? begin + step : 61, chunks.data());
        CHECK(same_bits(whole, chunks));
    }
}

// A row without slopes does not affect the pull, whatever its kernel values are.
void rows_without_a_slope_are_skipped(const Core& core) {
    Problem<float> problem(20, 11, 2, 1);
    for (std::size_t i : {0, 9, 10, 19}) {
        problem.slopes[2 * i + 1] = i % 2 ? 0.0 : -0.0;
        for (std::size_t j = 0; j < 11; ++j) problem.kernel[11 * i + j] = NAN;
    }
    Numbers out(2 * 11);
    core.kernel_pull(problem.rows(0, 20), 2, problem.slopes.data(), out.data());
    for (std::size_t j = 0; j < 11; ++j) CHECK(std::isnan(out[j]) && std::isfinite(out[11 + j]));
}

// A reading of rows gives what kernel values, decision values and losses give one after the other.
template <class Real>
void readings_are_sums_of_all_parts(const Core& core, std::size_t n_rows, std::size_t n_vectors,
                                    std::size_t n_outputs, const SolverLoss& loss) {
    const Precision precision = sizeof(Real) == 4 ? Precision::float32 : Precision::float64;
    Problem<Real> problem(n_rows, n_vectors, 2 * n_outputs, 1);
    const std::size_t n_features = 3;
    std::vector<Real> rows(n_rows * n_features), vectors(n_vectors * n_features);
    Generator random(7);
    for (std::vector<Real>* values : {&rows, &vectors})
        for (Real& value : *values) value = Real(double(random.next() >> 11) * 0x1p-53);
    const RowsView view{precision, false, false, false, n_rows, n_features, rows.data(), {}, {}};
    Numbers weights(n_rows), lengths{0.5, 2.0};
    std::vector<std::int8_t> codes(n_rows);
    std::vector<std::int32_t> positives;
    for (std::size_t i = 0; i < n_rows; ++i) {
        weights[i] = 1 + double(i % 5);
        codes[i] = std::int8_t(i % (n_outputs + !loss.coupled));
    }
    for (std::size_t o = 0; o < n_outputs; ++o) positives.push_back(std::int32_t(o));
    const Numbers widths(n_outputs, 0.5), ones(n_outputs, 1.0);
    Losses of_rows{};
    check::choose_loss(loss.name, of_rows);
    of_rows.n_outputs = n_outputs;
    of_rows.widths = widths.data();
    of_rows.codes = codes.data();
    of_rows.positives = positives.data();
    of_rows.targets = weights.data();
    of_rows.n_targets = 1;
    of_rows.epsilon = 0.1;
    of_rows.down = of_rows.up = ones.data();
    const Chunk all{0, n_rows, weights.data(), 1.0};

    ModelView model{n_vectors,
                    n_features,
                    n_outputs,
                    vectors.data(),
                    problem.coefficients.data(),
                    problem.intercepts.data(),
                    2.0};
    const std::unique_ptr<Predictor> predictor(core.make_predictor(precision, model));
    predictor->kernel(view, 0, n_rows, problem.kernel.data());
    Numbers decisions(n_rows * n_outputs), slopes(n_rows * n_outputs), pull(n_outputs * n_vectors);
    const std::size_t n_losses = of_rows.n_losses();
    Numbers losses(n_losses);
    core.kernel_decisions(problem.rows(0, n_rows), n_outputs, problem.coefficients.data(),
                          problem.intercepts.data(), decisions.data());
    Numbers curvatures(n_rows * n_outputs);
    core.loss_derivatives(of_rows, all, decisions.data(), losses.data(), slopes.data(),
                          curvatures.data());
    core.kernel_pull(problem.rows(0, n_rows), n_outputs, slopes.data(), pull.data());

    const std::unique_ptr<Reader> reader(core.make_reader(precision, model, nullptr, 0));
    Numbers read_losses(n_losses), read_pull(n_outputs * (n_vectors + 1));
    const std::unique_ptr<bool[]> near(new bool[n_rows]);
    reader->read(view, of_rows, all, {read_losses.data(), read_pull.data(), near.get()});
    CHECK(same_bits(read_losses, losses));
    const std::unique_ptr<bool[]> near_alone(new bool[n_rows]);
    core.near_rows(of_rows, all, decisions.data(), near_alone.get());
    CHECK(std::equal(near.get(), near.get() + n_rows, near_alone.get()));
    bool same = true;
    for (std::size_t o = 0; o < n_outputs; ++o)
        for (std::size_t j = 0; j < n_vectors; ++j)
            same = same && read_pull[o * (n_vectors + 1) + j] == pull[o * n_vectors + j];
    CHECK(same);

    // Along a direction, a length of zero would give the point again.
    model.n_outputs = 2 * n_outputs;
    lengths[0] = 0;
    const std::unique_ptr<Reader> along(core.make_reader(precision, model, lengths.data(), 2));
    Numbers along_losses(2 * n_losses);
    along->read(view, of_rows, all, {along_losses.data(), nullptr, nullptr});
    for (std::size_t o = 0; o < n_losses; ++o) CHECK(along_losses[o] == losses[o]);
}

template <class Real>
void all_readings(const Core& core) {
    for (std::size_t n_rows : {1, 7, 64, 65, 200})
        for (std::size_t n_vectors : {1, 9, 40})
            for (std::size_t n_outputs : {1, 3})
                for (std::size_t k = 0; k < core.solver_losses.count; ++k)
                    readings_are_sums_of_all_parts<Real>(core, n_rows, n_vectors, n_outputs,
                                                         core.solver_losses.first[k]);
}

}  // namespace

void solving_tests() {
    std::size_t count;
    const Core* const* cores = available_cores(count);
    for (std::size_t c = 0; c < count; ++c) {
        all_sizes<float>(*cores[c]);
        all_sizes<double>(*cores[c]);
        decisions_do_not_depend_on_chunks<float>(*cores[c]);
        decisions_do_not_depend_on_chunks<double>(*cores[c]);
        rows_without_a_slope_are_skipped(*cores[c]);
        all_readings<float>(*cores[c]);
        all_readings<double>(*cores[c]);
    }
}
