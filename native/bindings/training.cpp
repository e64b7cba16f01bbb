// The Python bindings of training.
#include <algorithm>
#include <limits>

#include "rows.hpp"

namespace pocketsvm {
namespace {

class PyTrainer {
  public:
    using Births = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Words = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    PyTrainer(std::size_t n_features, std::size_t budget, double gamma, double alpha,
              const std::string& maintenance, bool fit_intercept, std::uint64_t seed,
              const std::string& dtype, double intercept_rate, double half_life,
              std::int64_t random_steps)
        : precision_(precision_named(dtype)), n_features_(n_features) {
        require(std::isfinite(intercept_rate) && intercept_rate >= 0,
                "intercept_rate must not be negative, got " + std::to_string(intercept_rate));
        require(
            random_steps >= 0 && random_steps <= std::numeric_limits<std::int32_t>::max(),
            "random_steps must be at least 0 and below 2^31, got " + std::to_string(random_steps));
        require(half_life >= 1,
                "half_life must be at least 1 row, got " + std::to_string(half_life));
        require(n_features >= 1 && n_features <= std::numeric_limits<std::int32_t>::max(),
                "n_features must be at least 1 and below 2^31, got " + std::to_string(n_features));
        require(budget >= 2 && budget <= max_budget,
                "budget must be at least 2 and at most 2^31, got " + std::to_string(budget));
        require_positive(gamma, "gamma");
        require_positive(alpha, "alpha");
        require_known("maintenance", maintenance, core->strategies);
        trainer_.reset(core->make_trainer(
            precision_, {n_features, budget, gamma, alpha, maintenance.c_str(), fit_intercept,
                         intercept_rate, half_life, seed, random_steps}));
    }

    nb::dict state() const {
        return precision_ == Precision::float32 ? state_of<float>() : state_of<double>();
    }

    void restore(AnyMatrix vectors, Vector coefficients, Births births, double bias,
                 std::int64_t steps, double weight, Words generator) {
        const std::size_t n = vectors.shape(0);
        require(precision_of(vectors.dtype(), "vectors") == precision_,
                std::string("vectors must be ") + name_of(precision_));
        require(vectors.shape(1) == n_features_,
                "vectors must have " + std::to_string(n_features_) + " columns, got " +
                    std::to_string(vectors.shape(1)));
        require(coefficients.shape(0) == n && births.shape(0) == n,
                "coefficients and births must have one entry for each of the " + std::to_string(n) +
                    " vectors");
        require(generator.shape(0) == 4, "generator must have 4 words");
        require(std::any_of(generator.data(), generator.data() + 4,
                            [](std::uint64_t word) { return word != 0; }),
                "generator must not be all zeros");
        require(std::isfinite(bias), "bias must be finite, got " + std::to_string(bias));
        require(steps >= 0 && steps <= max_steps,
                "steps must be from 0 to 2^62, got " + std::to_string(steps));
        require(steps == 0 ? weight == 0 : std::isfinite(weight) && weight > 0,
                "weight must be positive and finite, or 0 before the first step, got " +
                    std::to_string(weight));
        const double most = precision_ == Precision::float32 ? std::numeric_limits<float>::max()
                                                             : std::numeric_limits<double>::max();
        for (std::size_t i = 0; i < n; ++i)
            require(std::fabs(coefficients.data()[i]) <= most && coefficients.data()[i] != 0,
                    "coefficients must be finite and not zero; number " + std::to_string(i) +
                        " is " + std::to_string(coefficients.data()[i]));
        const StateView view{n,     vectors.data(), coefficients.data(), births.data(), bias,
                             steps, weight,         generator.data()};
        without_gil([&](Interrupt& interrupt) { return trainer_->restore(view, interrupt); });
    }

    nb::dict profile() const {
        const Profile& profile = trainer_->profile();
        nb::dict result;
        result["steps"] = profile.steps;
        result["violations"] = profile.violations;
        result["merges"] = profile.merges;
        result["removals"] = profile.removals;
        result["seconds_total"] = profile.seconds_total;
        result["seconds_margin"] = profile.seconds_margin;
        result["seconds_solve"] = profile.seconds_solve;
        result["seconds_rest"] = profile.seconds_rest;
        return result;
    }

    nb::dict audit() const {
        nb::dict result;
        for (std::size_t k = 0; k < asked_.size(); ++k) {
            const AuditCounts& counts = trainer_->audit(k);
            nb::dict entry, equal, tied;
            for (std::size_t l = 0; l < asked_.size(); ++l) {
                equal[asked_[l].c_str()] = trainer_->agreement(k, l).equal;
                tied[asked_[l].c_str()] = trainer_->agreement(k, l).tied;
            }
            entry["events"] = counts.events;
            entry["merges"] = counts.merges;
            entry["equal"] = equal;
            entry["tied"] = tied;
            entry["factors"] = counts.factors;
            entry["factor"] = counts.factor;
            entry["degradation"] = counts.degradation;
            entry["least_degradation"] = counts.least_degradation;
            result[asked_[k].c_str()] = entry;
        }
        return result;
    }

    nb::object order() const {
        std::size_t n;
        const std::uint32_t* order = trainer_->order(n);
        std::uint32_t* out;
        auto array = make_array<std::uint32_t>({n}, &out);
        for (std::size_t i = 0; i < n; ++i) out[i] = order[i];
        return nb::cast(array);
    }

    void observe(const std::vector<std::string>& strategies) {
        std::vector<const char*> names;
        bool precise = strategies.empty();
        for (const std::string& name : strategies) {
            require_known("strategy", name, core->strategies);
            precise = precise || name == "gss-precise";
            names.push_back(name.c_str());
        }
        require(precise, "strategies must include 'gss-precise', which all are compared with");
        trainer_->observe(names.data(), names.size());
        asked_ = strategies;
    }

    nb::dict events() const {
        nb::dict result;
        result["step"] = column(&Event::step);
        result["first"] = column(&Event::first);
        result["second"] = column(&Event::second);
        result["h"] = column(&Event::h);
        result["coefficient"] = column(&Event::coefficient);
        result["degradation"] = column(&Event::degradation);
        return result;
    }

    Trainer& trainer() { return *trainer_; }
    Precision precision() const { return precision_; }
    std::size_t n_features() const { return n_features_; }

  private:
    static constexpr std::size_t max_budget = std::size_t(1) << 31;  // sizes cannot overflow
    // Training can go on without an overflow.
    static constexpr std::int64_t max_steps = std::int64_t(1) << 62;

    static Precision precision_named(const std::string& name) {
        if (name == "float32") return Precision::float32;
        if (name == "float64") return Precision::float64;
        refuse("dtype must be 'float32' or 'float64', got '" + name + "'");
    }
    template <class Real>
    nb::dict state_of() const {
        const std::size_t n = trainer_->size();
        Real* vectors;
        double* coefficients;
        std::int64_t* births;
        std::uint64_t* generator;
        nb::dict state;
        state["vectors"] = make_array<Real>({n, n_features_}, &vectors);
        state["coefficients"] = make_array<double>({n}, &coefficients);
        state["births"] = make_array<std::int64_t>({n}, &births);
        state["bias"] = trainer_->bias();
        state["steps"] = trainer_->steps();
        state["weight"] = trainer_->weight();
        state["generator"] = make_array<std::uint64_t>({4}, &generator);
        trainer_->copy_state(vectors, coefficients, births, generator);
        return state;
    }
    template <class T>
    nb::object column(T Event::* member) const {
        std::size_t n;
        const Event* events = trainer_->events(n);
        T* out;
        auto array = make_array<T>({n}, &out);
        for (std::size_t i = 0; i < n; ++i) out[i] = events[i].*member;
        return nb::cast(array);
    }

    Precision precision_;
    std::size_t n_features_;
    std::vector<std::string> asked_;  // by the observer
    std::unique_ptr<Trainer> trainer_;
};

using Places = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

bool wide_codes(const AnyVector& codes) {
    if (codes.dtype() == nb::dtype<std::int32_t>()) return true;
    if (codes.dtype() == nb::dtype<std::int8_t>()) return false;
    throw nb::type_error("codes must be int8 or int32");
}

template <class Code>
void check_codes(const Code* codes, std::size_t n_rows, std::size_t n_classes) {
    for (std::size_t i = 0; i < n_rows; ++i)
        if (codes[i] < 0 || std::size_t(codes[i]) >= n_classes)
            refuse("codes must be in [0, " + std::to_string(n_classes) + "), got " +
                   std::to_string(codes[i]) + " in row " + std::to_string(i));
}

void check_length(const char* name, std::size_t length, std::size_t n_rows) {
    require(length == n_rows, std::string(name) + " must have one entry per row, " +
                                  std::to_string(n_rows) + ", got " + std::to_string(length));
}

void check_classes(std::size_t n_rows, const AnyVector& codes,
                   const std::vector<std::int32_t>& positives, const Vector& class_weight) {
    const std::size_t n_classes = class_weight.shape(0);
    check_length("codes", codes.shape(0), n_rows);
    if (wide_codes(codes))
        check_codes(static_cast<const std::int32_t*>(codes.data()), n_rows, n_classes);
    else
        check_codes(static_cast<const std::int8_t*>(codes.data()), n_rows, n_classes);
    for (std::int32_t positive : positives)
        require(positive >= 0 && std::size_t(positive) < n_classes,
                "positives must be in [0, " + std::to_string(n_classes) + "), got " +
                    std::to_string(positive));
    for (std::size_t k = 0; k < n_classes; ++k)
        require_positive(class_weight.data()[k], "class_weight");
}

// One value per row, each of which fits the rule.
template <class Fits>
void check_values(const char* name, const Vector& values, std::size_t n_rows, const char* rule,
                  Fits fits) {
    check_length(name, values.shape(0), n_rows);
    for (std::size_t i = 0; i < n_rows; ++i)
        if (!fits(values.data()[i]))
            refuse(std::string(name) + " must be " + rule + ", got " +
                   std::to_string(values.data()[i]) + " in row " + std::to_string(i));
}

const double* check_weights(std::size_t n_rows, const std::optional<Vector>& sample_weight) {
    if (!sample_weight) return nullptr;
    check_values("sample_weight", *sample_weight, n_rows, "positive and finite",
                 [](double weight) { return std::isfinite(weight) && weight > 0; });
    return sample_weight->data();
}

void check_trainers(const std::vector<PyTrainer*>& trainers, const RowsView& rows) {
    require(rows.n_rows > 0, "rows must not be empty");
    require(rows.n_rows < std::numeric_limits<std::uint32_t>::max(),
            "a pass takes fewer than 2^32 - 1 rows, got " + std::to_string(rows.n_rows));
    for (std::size_t k = 0; k < trainers.size(); ++k) {
        PyTrainer& trainer = *trainers[k];
        require(trainer.n_features() == rows.n_features,
                "rows must have " + std::to_string(trainer.n_features()) + " features, got " +
                    std::to_string(rows.n_features));
        require(trainer.precision() == rows.precision,
                std::string("rows must be ") + name_of(trainer.precision()));
        for (std::size_t j = 0; j < k; ++j)
            require(trainers[j] != trainers[k], "trainers must be distinct");
    }
}

void train_pass(const std::vector<PyTrainer*>& trainers, const Rows& rows, const std::string& loss,
                AnyVector codes, const std::vector<std::int32_t>& positives, Vector class_weight,
                std::optional<Vector> sample_weight, std::size_t n_threads,
                std::optional<std::int64_t> most_merges) {
    require_known("loss", loss, core->class_losses);
    require(positives.size() == trainers.size(), "positives must name one class for each trainer");
    check_trainers(trainers, rows.view());
    check_classes(rows.view().n_rows, codes, positives, class_weight);
    const double* weight = check_weights(rows.view().n_rows, sample_weight);
    const auto pass = [&](std::size_t k, Interrupt& interrupt) {
        const Classes data{loss.c_str(),        codes.data(), wide_codes(codes),
                           class_weight.data(), weight,       positives[k]};
        return trainers[k]->trainer().pass(rows.view(), data, interrupt,
                                           most_merges.value_or(no_limit));
    };
    without_gil([&](Interrupt& interrupt) {
        return parallel(trainers.size(), n_threads, interrupt, pass);
    });
}

void train_pass_on_targets(PyTrainer& trainer, const Rows& rows, const std::string& loss,
                           double parameter, Vector targets, std::optional<Vector> sample_weight,
                           std::optional<std::int64_t> most_merges) {
    require_known("loss", loss, core->target_losses);
    check_trainers({&trainer}, rows.view());
    check_values("targets", targets, rows.view().n_rows, "finite",
                 [](double target) { return std::isfinite(target); });
    require(std::isfinite(parameter) && parameter >= 0,
            "parameter must be finite and not negative, got " + std::to_string(parameter));
    const double* weight = check_weights(rows.view().n_rows, sample_weight);
    const Targets data{loss.c_str(), parameter, targets.data(), weight};
    without_gil([&](Interrupt& interrupt) {
        return trainer.trainer().pass(rows.view(), data, interrupt, most_merges.value_or(no_limit));
    });
}

void train_pass_on_pairs(PyTrainer& trainer, const Rows& rows, Places places, Vector row_weight,
                         std::optional<std::int64_t> most_merges) {
    const RowsView& view = rows.view();
    check_trainers({&trainer}, view);
    require(view.n_rows < std::size_t(1) << 31,
            "a pass over pairs takes fewer than 2^31 rows, got " + std::to_string(view.n_rows));
    check_length("places", places.shape(0), view.n_rows);
    require(places.shape(1) == 4, "places must have 4 columns");
    const double* weight = check_weights(view.n_rows, row_weight);
    const auto* place = reinterpret_cast<const PairPlace*>(places.data());
    for (std::size_t i = 0; i < view.n_rows; ++i) {
        const auto& [query_begin, level_begin, level_end, query_end] = place[i];
        const bool ordered = query_begin <= level_begin && level_begin <= i && i < level_end &&
                             level_end <= query_end && query_end <= view.n_rows;
        if (!ordered || query_end - query_begin == level_end - level_begin)
            refuse(
                "places must have the query and the level of each row, of several levels; they "
                "do not in row " +
                std::to_string(i));
    }
    const Pairs data{place, weight};
    without_gil([&](Interrupt& interrupt) {
        return trainer.trainer().pass(view, data, interrupt, most_merges.value_or(no_limit));
    });
}

}  // namespace

void bind_training(nb::module_& module) {
    module.def("strategies", [] { return as_list(core->strategies); });
    module.def("class_losses", [] { return as_list(core->class_losses); });
    module.def("target_losses", [] { return as_list(core->target_losses); });

    nb::class_<PyTrainer>(module, "Trainer")
        .def(nb::init<std::size_t, std::size_t, double, double, const std::string&, bool,
                      std::uint64_t, const std::string&, double, double, std::int64_t>(),
             nb::kw_only(), "n_features"_a, "budget"_a, "gamma"_a, "alpha"_a, "maintenance"_a,
             "fit_intercept"_a, "seed"_a, "dtype"_a, "intercept_rate"_a = 1.0,
             "half_life"_a = std::numeric_limits<double>::infinity(), "random_steps"_a = 0)
        .def("state", &PyTrainer::state)
        .def("restore", &PyTrainer::restore, nb::kw_only(), "vectors"_a.noconvert(),
             "coefficients"_a.noconvert(), "births"_a.noconvert(), "bias"_a, "steps"_a, "weight"_a,
             "generator"_a.noconvert())
        .def("profile", &PyTrainer::profile)
        .def("order", &PyTrainer::order)
        .def("observe", &PyTrainer::observe, "strategies"_a = std::vector<std::string>())
        .def("events", &PyTrainer::events)
        .def("audit", &PyTrainer::audit);

    module.def("train_pass", &train_pass, "trainers"_a, "rows"_a, "loss"_a, "codes"_a.noconvert(),
               "positives"_a, "class_weight"_a, "sample_weight"_a.none(), "n_threads"_a,
               "most_merges"_a = nb::none());
    module.def("train_pass_on_targets", &train_pass_on_targets, "trainer"_a, "rows"_a, "loss"_a,
               "parameter"_a, "targets"_a.noconvert(), "sample_weight"_a.none(),
               "most_merges"_a = nb::none());
    module.def("train_pass_on_pairs", &train_pass_on_pairs, "trainer"_a, "rows"_a,
               "places"_a.noconvert(), "row_weight"_a.noconvert(), "most_merges"_a = nb::none());
}

}  // namespace pocketsvm
