// Python's door to the core: checks shapes and sizes, releases the GIL, calls. No algorithm.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core.hpp"
#include "statistics.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace pocketsvm;

void bind_svmlight(nb::module_& module);  // bindings_svmlight.cpp

namespace {

// ----- which core ------------------------------------------------------------------------------

const Core& choose_core() {
    std::size_t count;
    const Core* const* cores = available_cores(count);
    const char* wish = std::getenv("POCKETSVM_INSTRUCTION_SET");
    if (wish == nullptr || *wish == '\0') return *cores[0];
    std::string names;
    for (std::size_t i = 0; i < count; ++i) {
        if (std::string(cores[i]->name) == wish) return *cores[i];
        names += (i ? ", " : "") + std::string(cores[i]->name);
    }
    throw nb::import_error(("POCKETSVM_INSTRUCTION_SET is '" + std::string(wish) +
                            "', which this build or this CPU does not have; it has: " + names)
                               .c_str());
}

const Core* core = nullptr;

std::vector<std::string> strategies() {
    std::size_t count;
    const char* const* names = core->strategies(count);
    return {names, names + count};
}

// ----- arrays ----------------------------------------------------------------------------------

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

[[noreturn]] void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }

void require(bool holds, const std::string& message) {
    if (!holds) refuse(message);
}

template <class T>
nb::ndarray<nb::numpy, T> make_array(std::vector<std::size_t> shape, T** data) {
    std::size_t size = 1;
    for (std::size_t n : shape) size *= n;
    *data = new T[size ? size : 1];
    nb::capsule owner(*data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(*data, shape.size(), shape.data(), owner);
}

Precision precision_of(nb::dlpack::dtype type, const char* name) {
    if (type == nb::dtype<float>()) return Precision::float32;
    if (type == nb::dtype<double>()) return Precision::float64;
    refuse(std::string(name) + " must be float32 or float64");
}

bool is_wide(nb::dlpack::dtype type, const char* name) {
    if (type == nb::dtype<std::int32_t>()) return false;
    if (type == nb::dtype<std::int64_t>()) return true;
    refuse(std::string(name) + " must be int32 or int64");
}

const char* name_of(Precision precision) {
    return precision == Precision::float32 ? "float32" : "float64";
}

Precision precision_named(const std::string& name) {
    if (name == "float32") return Precision::float32;
    if (name == "float64") return Precision::float64;
    refuse("dtype must be 'float32' or 'float64', got '" + name + "'");
}

// ----- interruption ----------------------------------------------------------------------------

// Asks Python for signals, at most every 20 ms. Only the main thread ever hears of one.
class PythonInterrupt final : public Interrupt {
  public:
    bool requested() override {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_) return raised_;
        next_ = now + std::chrono::milliseconds(20);
        nb::gil_scoped_acquire gil;
        raised_ = raised_ || PyErr_CheckSignals() != 0;
        return raised_;
    }

  private:
    std::chrono::steady_clock::time_point next_ =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    bool raised_ = false;
};

// ----- rows ------------------------------------------------------------------------------------

template <class Index>
void check_row_pointers(const Index* pointers, std::size_t n_rows, std::size_t n_values) {
    require(pointers[0] == 0, "indptr must begin with 0, got " + std::to_string(pointers[0]));
    for (std::size_t i = 0; i < n_rows; ++i)
        require(pointers[i + 1] >= pointers[i] && std::uint64_t(pointers[i + 1]) <= n_values,
                "indptr must not decrease and stay within the " + std::to_string(n_values) +
                    " stored values; row " + std::to_string(i) + " runs from " +
                    std::to_string(pointers[i]) + " to " + std::to_string(pointers[i + 1]));
}

template <class Pointer, class Index>
void check_columns(const Pointer* pointers, const Index* indices, std::size_t n_rows,
                   std::size_t n_features) {
    for (std::size_t i = 0; i < n_rows; ++i)
        for (Pointer k = pointers[i]; k < pointers[i + 1]; ++k) {
            const Index column = indices[k];
            if (column < 0 || std::uint64_t(column) >= n_features)
                refuse("row " + std::to_string(i) + " has column index " + std::to_string(column) +
                       "; it must be in [0, " + std::to_string(n_features) + ")");
            if (k > pointers[i] && column <= indices[k - 1])
                refuse("row " + std::to_string(i) + " has column indices that are not strictly " +
                       "increasing; sort them and sum duplicates first");
        }
}

class Rows {
  public:
    static Rows dense(AnyMatrix X) {
        Rows rows;
        rows.view_ = {precision_of(X.dtype(), "X"),
                      false,
                      false,
                      false,
                      X.shape(0),
                      X.shape(1),
                      X.data(),
                      nullptr,
                      nullptr};
        rows.owners_ = {nb::cast(X)};
        return rows;
    }

    static Rows csr(AnyVector data, AnyVector indices, AnyVector indptr, std::size_t n_features) {
        require(indptr.shape(0) > 0, "indptr must have n_rows + 1 entries, got none");
        require(data.shape(0) == indices.shape(0), "data and indices must be of one length, got " +
                                                       std::to_string(data.shape(0)) + " and " +
                                                       std::to_string(indices.shape(0)));
        require(n_features <= std::numeric_limits<std::int32_t>::max(),
                "n_features must be below 2^31, got " + std::to_string(n_features));
        Rows rows;
        rows.view_ = {precision_of(data.dtype(), "data"),
                      true,
                      is_wide(indices.dtype(), "indices"),
                      is_wide(indptr.dtype(), "indptr"),
                      indptr.shape(0) - 1,
                      n_features,
                      data.data(),
                      indices.data(),
                      indptr.data()};
        rows.owners_ = {nb::cast(data), nb::cast(indices), nb::cast(indptr)};
        rows.with_pointers([&](const auto* pointers) {
            check_row_pointers(pointers, rows.view_.n_rows, data.shape(0));
            rows.with_indices([&](const auto* columns) {
                check_columns(pointers, columns, rows.view_.n_rows, n_features);
            });
        });
        return rows;
    }

    const RowsView& view() const { return view_; }

  private:
    template <class Function>
    void with_pointers(Function function) const {
        if (view_.wide_pointers)
            function(static_cast<const std::int64_t*>(view_.pointers));
        else
            function(static_cast<const std::int32_t*>(view_.pointers));
    }
    template <class Function>
    void with_indices(Function function) const {
        if (view_.wide_indices)
            function(static_cast<const std::int64_t*>(view_.indices));
        else
            function(static_cast<const std::int32_t*>(view_.indices));
    }
    RowsView view_{};
    std::vector<nb::object> owners_;
};

// ----- training --------------------------------------------------------------------------------

class EventLog final : public Recorder {
  public:
    void add(const Event& event) override { events.push_back(event); }
    std::vector<Event> events;
};

class PyTrainer {
  public:
    PyTrainer(std::size_t n_features, std::size_t budget, double gamma, double alpha,
              const std::string& maintenance, bool fit_intercept, std::uint64_t seed,
              const std::string& dtype, double intercept_rate,
              const std::vector<std::string>& audit)
        : precision_(precision_named(dtype)), n_features_(n_features), audited_(audit) {
        require(std::isfinite(intercept_rate) && intercept_rate >= 0,
                "intercept_rate must not be negative, got " + std::to_string(intercept_rate));
        require(n_features >= 1 && n_features <= std::numeric_limits<std::int32_t>::max(),
                "n_features must be at least 1 and below 2^31, got " + std::to_string(n_features));
        require(budget >= 2 && budget <= std::size_t(1) << 31,
                "budget must be at least 2, got " + std::to_string(budget));
        require(std::isfinite(gamma) && gamma > 0,
                "gamma must be positive and finite, got " + std::to_string(gamma));
        require(std::isfinite(alpha) && alpha > 0,
                "alpha must be positive and finite, got " + std::to_string(alpha));
        const std::vector<std::string> known = strategies();
        const auto is_in = [](const std::string& name, const std::vector<std::string>& names) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        require(audit.empty() || is_in("gss-precise", audit), "audit must name 'gss-precise'");
        std::vector<const char*> audited;
        for (const std::string& name : audited_) {
            require(is_in(name, known), "audit names '" + name + "', which is not known");
            audited.push_back(name.c_str());
        }
        trainer_.reset(core->make_trainer(
            precision_, {n_features, budget, gamma, alpha, maintenance.c_str(), fit_intercept,
                         intercept_rate, seed, audited.data(), audited.size()}));
        require(trainer_ != nullptr, "maintenance '" + maintenance + "' is not known");
    }

    nb::dict state() const {
        nb::dict state;
        const std::size_t n = trainer_->size();
        if (precision_ == Precision::float32)
            state["vectors"] = vectors<float>(n);
        else
            state["vectors"] = vectors<double>(n);
        double* coefficients;
        std::int64_t* births;
        std::uint64_t* generator;
        auto coefficient_array = make_array<double>({n}, &coefficients);
        auto birth_array = make_array<std::int64_t>({n}, &births);
        auto generator_array = make_array<std::uint64_t>({4}, &generator);
        trainer_->copy_coefficients(coefficients);
        trainer_->copy_births(births);
        trainer_->copy_generator(generator);
        state["coefficients"] = coefficient_array;
        state["births"] = birth_array;
        state["bias"] = trainer_->bias();
        state["steps"] = trainer_->steps();
        state["generator"] = generator_array;
        return state;
    }

    void restore(nb::dict state) {
        const auto vectors = entry<AnyMatrix>(state, "vectors", "a C-contiguous matrix");
        const auto coefficients = entry<Vector>(state, "coefficients", "a vector of float64");
        const auto births = entry<Births>(state, "births", "a vector of int64");
        const auto generator = entry<Words>(state, "generator", "a vector of uint64");
        const auto bias = entry<double>(state, "bias", "a float");
        const auto steps = entry<std::int64_t>(state, "steps", "an integer");
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
        require(steps >= 0 && steps <= std::int64_t(1) << 62,
                "steps must be from 0 to 2^62, got " + std::to_string(steps));
        const double most = precision_ == Precision::float32 ? std::numeric_limits<float>::max()
                                                             : std::numeric_limits<double>::max();
        for (std::size_t i = 0; i < n; ++i)
            require(std::fabs(coefficients.data()[i]) <= most && coefficients.data()[i] != 0,
                    "coefficients must be finite and not zero; number " + std::to_string(i) +
                        " is " + std::to_string(coefficients.data()[i]));
        const StateView view{n,    vectors.data(), coefficients.data(), births.data(),
                             bias, steps,          generator.data()};
        nb::gil_scoped_release release;
        trainer_->restore(view);
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
        for (std::size_t k = 0; k < audited_.size(); ++k) {
            const AuditCounts& counts = trainer_->audit(k);
            nb::dict entry, equal, tied;
            for (std::size_t l = 0; l < audited_.size(); ++l) {
                equal[audited_[l].c_str()] = trainer_->agreement(k, l).equal;
                tied[audited_[l].c_str()] = trainer_->agreement(k, l).tied;
            }
            entry["events"] = counts.events;
            entry["merges"] = counts.merges;
            entry["equal"] = equal;
            entry["tied"] = tied;
            entry["factors"] = counts.factors;
            entry["factor"] = counts.factor;
            entry["degradation"] = counts.degradation;
            entry["least_degradation"] = counts.least_degradation;
            result[audited_[k].c_str()] = entry;
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

    void record(bool on) {
        if (on && log_ == nullptr) log_ = std::make_unique<EventLog>();
        trainer_->set_recorder(on ? log_.get() : nullptr);
    }

    nb::dict events() const {
        static const std::vector<Event> none;
        const std::vector<Event>& all = log_ == nullptr ? none : log_->events;
        nb::dict result;
        result["step"] = column<std::int64_t>(all, &Event::step);
        result["first"] = column<std::int64_t>(all, &Event::first);
        result["second"] = column<std::int64_t>(all, &Event::second);
        result["h"] = column<double>(all, &Event::h);
        result["coefficient"] = column<double>(all, &Event::coefficient);
        result["degradation"] = column<double>(all, &Event::degradation);
        return result;
    }

    Trainer& trainer() { return *trainer_; }
    Precision precision() const { return precision_; }
    std::size_t n_features() const { return n_features_; }

  private:
    using Births = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Words = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    template <class T>
    static T entry(const nb::dict& state, const char* name, const char* kind) {
        T value{};
        if (!state.contains(name) || !nb::try_cast(state[name], value, false))
            refuse("state must hold '" + std::string(name) + "', " + kind);
        return value;
    }
    template <class Real>
    nb::object vectors(std::size_t n) const {
        Real* out;
        auto array = make_array<Real>({n, n_features_}, &out);
        trainer_->copy_vectors(out);
        return nb::cast(array);
    }
    template <class T>
    static nb::object column(const std::vector<Event>& events, T Event::* member) {
        T* out;
        auto array = make_array<T>({events.size()}, &out);
        for (std::size_t i = 0; i < events.size(); ++i) out[i] = events[i].*member;
        return nb::cast(array);
    }

    Precision precision_;
    std::size_t n_features_;
    std::vector<std::string> audited_;
    std::unique_ptr<EventLog> log_;
    std::unique_ptr<Trainer> trainer_;
};

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
    require(length == n_rows, std::string(name) + " must have one entry a row, " +
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
        require(std::isfinite(class_weight.data()[k]) && class_weight.data()[k] > 0,
                "class_weight must be positive and finite, got " +
                    std::to_string(class_weight.data()[k]));
}

void check_targets(std::size_t n_rows, const Vector& targets, double epsilon) {
    check_length("targets", targets.shape(0), n_rows);
    for (std::size_t i = 0; i < n_rows; ++i)
        if (!std::isfinite(targets.data()[i]))
            refuse("targets must be finite, got " + std::to_string(targets.data()[i]) + " in row " +
                   std::to_string(i));
    require(std::isfinite(epsilon) && epsilon >= 0,
            "epsilon must be finite and not negative, got " + std::to_string(epsilon));
}

const double* check_weights(std::size_t n_rows, const std::optional<Vector>& sample_weight) {
    if (!sample_weight) return nullptr;
    check_length("sample_weight", sample_weight->shape(0), n_rows);
    for (std::size_t i = 0; i < n_rows; ++i)
        if (!(std::isfinite(sample_weight->data()[i]) && sample_weight->data()[i] > 0))
            refuse("sample_weight must be positive and finite, got " +
                   std::to_string(sample_weight->data()[i]) + " in row " + std::to_string(i));
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

// One pass of every trainer, side by side; targets_of(k) are those of the loss of trainer k.
template <class Function>
void run_passes(const std::vector<PyTrainer*>& trainers, const RowsView& rows,
                std::size_t n_threads, Function targets_of) {
    PythonInterrupt interrupt;
    bool finished;
    {
        nb::gil_scoped_release release;
        finished =
            parallel(trainers.size(), n_threads, interrupt, [&](std::size_t k, Interrupt& own) {
                const std::size_t each = n_threads / trainers.size();
                ThreadCrew helpers(each > 1 ? std::min(each - 1, Crew::enough) : 0);
                return trainers[k]->trainer().pass(rows, targets_of(k), own, helpers);
            });
    }
    if (!finished) throw nb::python_error();
}

void train_pass(const std::vector<PyTrainer*>& trainers, const Rows& rows, AnyVector codes,
                const std::vector<std::int32_t>& positives, Vector class_weight,
                std::optional<Vector> sample_weight, std::size_t n_threads) {
    require(positives.size() == trainers.size(), "positives must name one class for each trainer");
    check_trainers(trainers, rows.view());
    check_classes(rows.view().n_rows, codes, positives, class_weight);
    const double* weight = check_weights(rows.view().n_rows, sample_weight);
    run_passes(trainers, rows.view(), n_threads, [&](std::size_t k) {
        return Classes{codes.data(), wide_codes(codes), class_weight.data(), weight, positives[k]};
    });
}

void train_pass_on_targets(PyTrainer& trainer, const Rows& rows, Vector targets, double epsilon,
                           std::optional<Vector> sample_weight, std::size_t n_threads) {
    check_trainers({&trainer}, rows.view());
    check_targets(rows.view().n_rows, targets, epsilon);
    const double* weight = check_weights(rows.view().n_rows, sample_weight);
    run_passes({&trainer}, rows.view(), n_threads,
               [&](std::size_t) { return Targets{targets.data(), weight, epsilon}; });
}

// ----- prediction ------------------------------------------------------------------------------

void check_model(const AnyMatrix& vectors, double gamma, const RowsView& rows) {
    require(vectors.shape(1) == rows.n_features,
            "rows must have " + std::to_string(vectors.shape(1)) + " features, got " +
                std::to_string(rows.n_features));
    require(precision_of(vectors.dtype(), "vectors") == rows.precision,
            "vectors and rows must be of one dtype");
    require(std::isfinite(gamma) && gamma > 0,
            "gamma must be positive and finite, got " + std::to_string(gamma));
}

// Calls task(predictor, from, to) for pieces of [begin, end), side by side.
template <class Task>
void in_chunks(const RowsView& rows, const ModelView& model, std::size_t begin, std::size_t end,
               std::size_t n_threads, Task task) {
    PythonInterrupt interrupt;
    bool finished;
    {
        nb::gil_scoped_release release;
        const std::unique_ptr<Predictor> predictor(core->make_predictor(rows.precision, model));
        constexpr std::size_t chunk = 512;
        finished = parallel((end - begin + chunk - 1) / chunk, n_threads, interrupt,
                            [&](std::size_t k, Interrupt& own) {
                                if (own.requested()) return false;
                                const std::size_t from = begin + k * chunk;
                                task(*predictor, from, from + chunk < end ? from + chunk : end);
                                return true;
                            });
    }
    if (!finished) throw nb::python_error();
}

nb::object decide(AnyMatrix vectors, Matrix coefficients, Vector intercepts, double gamma,
                  const Rows& rows, std::size_t n_threads) {
    const RowsView& view = rows.view();
    const std::size_t n_outputs = coefficients.shape(0);
    check_model(vectors, gamma, view);
    require(coefficients.shape(1) == vectors.shape(0),
            "coefficients must have one column a vector, " + std::to_string(vectors.shape(0)) +
                ", got " + std::to_string(coefficients.shape(1)));
    require(intercepts.shape(0) == n_outputs, "intercepts must have one entry an output, " +
                                                  std::to_string(n_outputs) + ", got " +
                                                  std::to_string(intercepts.shape(0)));
    double* out;
    auto result = make_array<double>({view.n_rows, n_outputs}, &out);
    const ModelView model{vectors.shape(0),    vectors.shape(1),  n_outputs, vectors.data(),
                          coefficients.data(), intercepts.data(), gamma};
    in_chunks(view, model, 0, view.n_rows, n_threads,
              [&](const Predictor& predictor, std::size_t begin, std::size_t end) {
                  predictor.decide(view, begin, end, out);
              });
    return nb::cast(result);
}

template <class Real>
nb::object kernel_values(const RowsView& view, const ModelView& model, std::size_t begin,
                         std::size_t end, std::size_t n_threads) {
    Real* out;
    auto result = make_array<Real>({end - begin, model.n_vectors}, &out);
    in_chunks(view, model, begin, end, n_threads,
              [&](const Predictor& predictor, std::size_t from, std::size_t to) {
                  predictor.kernel(view, from, to, out + (from - begin) * model.n_vectors);
              });
    return nb::cast(result);
}

nb::object kernel_block(AnyMatrix vectors, double gamma, const Rows& rows, std::size_t begin,
                        std::size_t end, std::size_t n_threads) {
    const RowsView& view = rows.view();
    check_model(vectors, gamma, view);
    require(begin <= end && end <= view.n_rows,
            "begin and end must be in order and within the " + std::to_string(view.n_rows) +
                " rows, got " + std::to_string(begin) + " and " + std::to_string(end));
    const ModelView model{vectors.shape(0), vectors.shape(1), 0,    vectors.data(),
                          nullptr,          nullptr,          gamma};
    return view.precision == Precision::float32
               ? kernel_values<float>(view, model, begin, end, n_threads)
               : kernel_values<double>(view, model, begin, end, n_threads);
}

// ----- the merging problem ---------------------------------------------------------------------

void check_pairs(const Vector& m, const Vector& kappa) {
    require(m.shape(0) == kappa.shape(0), "m and kappa must be of one length, got " +
                                              std::to_string(m.shape(0)) + " and " +
                                              std::to_string(kappa.shape(0)));
    const auto is_share = [](double value) { return value >= 0 && value <= 1; };
    require(std::all_of(m.data(), m.data() + m.shape(0), is_share) &&
                std::all_of(kappa.data(), kappa.data() + kappa.shape(0), is_share),
            "m and kappa must be in [0, 1]");
}

nb::object golden_section(Vector m, Vector kappa, double eps) {
    check_pairs(m, kappa);
    require(eps > 0 && eps <= 1, "eps must be in (0, 1], got " + std::to_string(eps));
    double *h, *wd;
    auto h_array = make_array<double>({m.shape(0)}, &h);
    auto wd_array = make_array<double>({m.shape(0)}, &wd);
    {
        nb::gil_scoped_release release;
        core->golden_section(m.shape(0), m.data(), kappa.data(), eps, h, wd);
    }
    return nb::make_tuple(h_array, wd_array);
}

class PyTable {
  public:
    PyTable(std::size_t size, bool scaled) {
        require(size >= 2 && size <= 4096 && size % 2 == 0,
                "size must be even and in [2, 4096], got " + std::to_string(size));
        nb::gil_scoped_release release;
        table_.reset(core->make_table(size, scaled));
    }
    nb::object h(Vector m, Vector kappa) const { return look_up(m, kappa, &Table::h); }
    nb::object wd(Vector m, Vector kappa) const { return look_up(m, kappa, &Table::wd); }

  private:
    nb::object look_up(const Vector& m, const Vector& kappa,
                       void (Table::*function)(std::size_t, const double*, const double*, double*)
                           const) const {
        check_pairs(m, kappa);
        double* out;
        auto array = make_array<double>({m.shape(0)}, &out);
        {
            nb::gil_scoped_release release;
            (table_.get()->*function)(m.shape(0), m.data(), kappa.data(), out);
        }
        return nb::cast(array);
    }
    std::unique_ptr<Table> table_;
};

}  // namespace

NB_MODULE(_core, module) {
    core = &choose_core();
    nb::set_leak_warnings(false);

    module.def("instruction_set", [] { return std::string(core->name); });
    module.def("instruction_sets", [] {
        std::size_t count;
        const Core* const* cores = available_cores(count);
        std::vector<std::string> names;
        for (std::size_t i = 0; i < count; ++i) names.emplace_back(cores[i]->name);
        return names;
    });
    module.def("strategies", &strategies);

    module.def("golden_section", &golden_section, "m"_a, "kappa"_a, "eps"_a);
    nb::class_<PyTable>(module, "MergeTable")
        .def(nb::init<std::size_t, bool>(), "size"_a, "scaled"_a)
        .def("h", &PyTable::h, "m"_a, "kappa"_a)
        .def("wd", &PyTable::wd, "m"_a, "kappa"_a);

    nb::class_<Rows>(module, "Rows")
        .def_static("dense", &Rows::dense, "X"_a.noconvert())
        .def_static("csr", &Rows::csr, "data"_a.noconvert(), "indices"_a.noconvert(),
                    "indptr"_a.noconvert(), "n_features"_a)
        .def_prop_ro("n_rows", [](const Rows& rows) { return rows.view().n_rows; })
        .def_prop_ro("n_features", [](const Rows& rows) { return rows.view().n_features; })
        .def_prop_ro("dtype", [](const Rows& rows) { return name_of(rows.view().precision); })
        .def(
            "max_squared_norm", [](const Rows& rows) { return max_squared_norm(rows.view()); },
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "variance", [](const Rows& rows) { return variance(rows.view()); },
            nb::call_guard<nb::gil_scoped_release>());

    nb::class_<PyTrainer>(module, "Trainer")
        .def(nb::init<std::size_t, std::size_t, double, double, const std::string&, bool,
                      std::uint64_t, const std::string&, double, const std::vector<std::string>&>(),
             nb::kw_only(), "n_features"_a, "budget"_a, "gamma"_a, "alpha"_a, "maintenance"_a,
             "fit_intercept"_a, "seed"_a, "dtype"_a, "intercept_rate"_a = 1.0,
             "audit"_a = std::vector<std::string>())
        .def("state", &PyTrainer::state)
        .def("restore", &PyTrainer::restore, "state"_a)
        .def("profile", &PyTrainer::profile)
        .def("audit", &PyTrainer::audit)
        .def("order", &PyTrainer::order)
        .def("record", &PyTrainer::record, "on"_a)
        .def("events", &PyTrainer::events);

    module.def("train_pass", &train_pass, "trainers"_a, "rows"_a, "codes"_a.noconvert(),
               "positives"_a, "class_weight"_a, "sample_weight"_a.none(), "n_threads"_a);
    module.def("train_pass_on_targets", &train_pass_on_targets, "trainer"_a, "rows"_a,
               "targets"_a.noconvert(), "epsilon"_a, "sample_weight"_a.none(), "n_threads"_a);
    module.def("decide", &decide, "vectors"_a.noconvert(), "coefficients"_a, "intercepts"_a,
               "gamma"_a, "rows"_a, "n_threads"_a);
    module.def("kernel_block", &kernel_block, "vectors"_a.noconvert(), "gamma"_a, "rows"_a,
               "begin"_a, "end"_a, "n_threads"_a);
    bind_svmlight(module);
}
