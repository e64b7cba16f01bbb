// The hot code, compiled once per instruction set; POCKETSVM_SET is its namespace and its name.
#include "prediction.hpp"
#include "training.hpp"

#define POCKETSVM_TEXT_OF(x) #x
#define POCKETSVM_TEXT(x) POCKETSVM_TEXT_OF(x)

namespace pocketsvm::POCKETSVM_SET {
namespace {

template <class Real>
Trainer* make_trainer_of(const TrainerOptions& options) {
    const Strategy<Real>* strategy = find_strategy<Real>(options.maintenance);
    return strategy == nullptr ? nullptr : new BudgetTrainer<Real>(options, *strategy);
}

Trainer* make_trainer(Precision precision, const TrainerOptions& options) {
    return precision == Precision::float32 ? make_trainer_of<float>(options)
                                           : make_trainer_of<double>(options);
}

Predictor* make_predictor(Precision precision, const ModelView& model) {
    if (precision == Precision::float32) return new BlockPredictor<float>(model);
    return new BlockPredictor<double>(model);
}

// m and kappa in [0, 1], eight pairs at a time, folded on the way in and unfolded on the way out.
template <class Function>
void in_lanes(std::size_t n, const double* m, const double* kappa, Function function) {
    using L = Lanes<double>;
    for (std::size_t begin = 0; begin < n; begin += L::count) {
        const std::size_t count = n - begin < L::count ? n - begin : L::count;
        alignas(lane_bytes) double folded[L::count] = {}, t[L::count] = {};
        for (std::size_t k = 0; k < count; ++k) {
            const double share = m[begin + k], exponent = -std::log2(kappa[begin + k]);
            folded[k] = share <= 0.5 ? share : 1 - share;
            const double largest = ExponentialPolynomial<double>::largest;
            t[k] = exponent < largest ? exponent : largest;
        }
        function(begin, count, L::load(folded), L::load(t));
    }
}

void write(std::size_t begin, std::size_t count, Lanes<double> values, double* out) {
    alignas(lane_bytes) double lanes[Lanes<double>::count];
    values.store(lanes);
    for (std::size_t k = 0; k < count; ++k) out[begin + k] = lanes[k];
}

void write_h(std::size_t begin, std::size_t count, Lanes<double> h, const double* m, double* out) {
    write(begin, count, h, out);
    for (std::size_t k = begin; k < begin + count; ++k)
        if (m[k] > 0.5) out[k] = 1 - out[k];
}

class LaneTable final : public Table {
  public:
    LaneTable(std::size_t size, bool scaled) : table_(size, scaled) {}
    void h(std::size_t n, const double* m, const double* kappa, double* out) const override {
        in_lanes(n, m, kappa, [&](std::size_t begin, std::size_t count, auto folded, auto t) {
            write_h(begin, count, table_.h(folded, t), m, out);
        });
    }
    void wd(std::size_t n, const double* m, const double* kappa, double* out) const override {
        in_lanes(n, m, kappa, [&](std::size_t begin, std::size_t count, auto folded, auto t) {
            write(begin, count, table_.wd(folded, t), out);
        });
    }

  private:
    MergeTable table_;
};

Table* make_table(std::size_t size, bool scaled) { return new LaneTable(size, scaled); }

void golden_section(std::size_t n, const double* m, const double* kappa, double eps, double* h,
                    double* wd) {
    const GoldenSection solver(eps);
    in_lanes(n, m, kappa, [&](std::size_t begin, std::size_t count, auto folded, auto t) {
        const auto best = solver.h(folded, t);
        write_h(begin, count, best, m, h);
        write(begin, count, degradation_at(best, folded, t), wd);
    });
}

const char* const* strategy_names(std::size_t& count) {
    static const char* names[n_strategies];
    for (std::size_t i = 0; i < n_strategies; ++i) names[i] = strategies<float>[i].name;
    count = n_strategies;
    return names;
}

}  // namespace

extern const Core core;
const Core core = {POCKETSVM_TEXT(POCKETSVM_SET),
                   make_trainer,
                   make_predictor,
                   make_table,
                   golden_section,
                   strategy_names};

}  // namespace pocketsvm::POCKETSVM_SET
