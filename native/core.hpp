// The core as the rest of the program sees it: plain views of data, and two abstract machines.
//
// Everything behind this header is compiled once per instruction set, each time in a namespace of
// its own; nothing here is more than a declaration, so that no code is shared between them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pocketsvm {

enum class Precision { float32, float64 };

// Rows, dense (C order) or compressed sparse. Sizes and indices have been checked by the caller.
struct RowsView {
    Precision precision;
    bool sparse;
    bool wide_indices;   // int64 column indices, else int32
    bool wide_pointers;  // int64 row pointers, else int32
    std::size_t n_rows;
    std::size_t n_features;
    const void* values;
    const void* indices;
    const void* pointers;
};

// Targets of the hinge loss: the class of each row, and the weights of classes and rows.
struct Classes {
    const void* codes;
    bool wide_codes;  // int32, else int8
    const double* class_weight;
    const double* row_weight;  // null: all ones
    std::int32_t positive;     // the class that is +1; all others are -1
};

// Targets of the epsilon-insensitive loss: the value of each row, and the weights of rows.
struct Targets {
    const double* values;
    const double* row_weight;  // null: all ones
    double epsilon;
};

// One act of budget maintenance. Slots are those of before the act.
struct Event {
    std::int64_t step;
    std::int64_t first;   // the vector that goes
    std::int64_t second;  // its partner, or -1
    double h;             // the share of the first in the merged vector
    double coefficient;   // of the merged vector, signed
    double degradation;   // squared norm of the change of w, in units of the coefficients
};

struct Profile {
    std::int64_t steps = 0;
    std::int64_t violations = 0;
    std::int64_t merges = 0;
    std::int64_t removals = 0;
    double seconds_total = 0;
    double seconds_margin = 0;
    double seconds_solve = 0;
    double seconds_rest = 0;
};

// What one strategy would have done at the events of a training run, against `gss-precise`.
struct AuditCounts {
    std::int64_t events = 0;
    std::int64_t merges = 0;       // events in which it would have merged
    std::int64_t factors = 0;      // events whose least degradation is not zero but for rounding
    double factor = 0;             // sum over those: degradation over the least
    double degradation = 0;        // sum over all events
    double least_degradation = 0;  // the same, of gss-precise
};

// Events in which two strategies would have merged with the same partner, or with equally good
// ones.
struct Agreement {
    std::int64_t equal = 0;
    std::int64_t tied = 0;
};

// Asked now and then, from inside long loops, whether to give up.
class Interrupt {
  public:
    virtual bool requested() = 0;

  protected:
    ~Interrupt() = default;
};

// Told of every act of maintenance.
class Recorder {
  public:
    virtual void add(const Event& event) = 0;

  protected:
    ~Recorder() = default;
};

// Threads beside the caller's, lent for a call.
class Crew {
  public:
    // More of them find nothing to do: what only the caller can do is then the limit.
    static constexpr std::size_t enough = 3;
    class Task {
      public:
        virtual void work(std::size_t helper) = 0;

      protected:
        ~Task() = default;
    };
    virtual std::size_t size() const = 0;
    // Begins work(0), work(1), ... on threads of their own; returns how many there are.
    virtual std::size_t start(Task& task) = 0;
    // Returns when they have ended.
    virtual void join() = 0;

  protected:
    ~Crew() = default;
};

struct TrainerOptions {
    std::size_t n_features;
    std::size_t budget;
    double gamma;
    double alpha;
    const char* maintenance;
    bool fit_intercept;
    double intercept_rate;  // the square of the constant feature that the intercept multiplies
    std::uint64_t seed;
    const char* const* audited = nullptr;  // names of known strategies, gss-precise among them
    std::size_t n_audited = 0;
};

// The state of training, apart from the vectors: (sum_j c_j k(x_j, x) + bias) / (alpha steps).
struct StateView {
    std::size_t size;
    const void* vectors;  // size x n_features, C order, of the trainer's precision
    const double* coefficients;
    const std::int64_t* births;
    double bias;
    std::int64_t steps;
    const std::uint64_t* generator;  // four words
};

class Trainer {
  public:
    virtual ~Trainer();
    // One pass over all rows in a fresh random order; false if it was interrupted. The result does
    // not depend on the size of the crew.
    virtual bool pass(const RowsView& rows, const Classes& classes, Interrupt& interrupt,
                      Crew& crew) = 0;
    virtual bool pass(const RowsView& rows, const Targets& targets, Interrupt& interrupt,
                      Crew& crew) = 0;
    virtual void restore(const StateView& state) = 0;
    virtual void set_recorder(Recorder* recorder) = 0;

    virtual std::size_t size() const = 0;
    virtual double bias() const = 0;
    virtual std::int64_t steps() const = 0;
    virtual void copy_vectors(void* out) const = 0;
    virtual void copy_coefficients(double* out) const = 0;
    virtual void copy_births(std::int64_t* out) const = 0;
    virtual void copy_generator(std::uint64_t* out) const = 0;
    virtual const std::uint32_t* order(std::size_t& n_rows) const = 0;
    virtual const Profile& profile() const = 0;
    // Of the audited strategies number k and l.
    virtual const AuditCounts& audit(std::size_t k) const = 0;
    virtual const Agreement& agreement(std::size_t k, std::size_t l) const = 0;
};

class Predictor {
  public:
    virtual ~Predictor();
    // Decision values of rows [begin, end), n_outputs each, written from out[begin * n_outputs] on.
    virtual void decide(const RowsView& rows, std::size_t begin, std::size_t end,
                        double* out) const = 0;
    // Kernel values of rows [begin, end), one a vector, in the precision of the rows, from out on.
    virtual void kernel(const RowsView& rows, std::size_t begin, std::size_t end,
                        void* out) const = 0;
};

struct ModelView {
    std::size_t n_vectors;
    std::size_t n_features;
    std::size_t n_outputs;
    const void* vectors;         // n_vectors x n_features
    const double* coefficients;  // n_outputs x n_vectors
    const double* intercepts;
    double gamma;
};

class Table {
  public:
    virtual ~Table();
    virtual void h(std::size_t n, const double* m, const double* kappa, double* out) const = 0;
    virtual void wd(std::size_t n, const double* m, const double* kappa, double* out) const = 0;
};

// What one instruction set offers.
struct Core {
    const char* name;
    Trainer* (*make_trainer)(Precision, const TrainerOptions&);  // null: no such strategy
    Predictor* (*make_predictor)(Precision, const ModelView&);
    Table* (*make_table)(std::size_t size, bool scaled);
    void (*golden_section)(std::size_t n, const double* m, const double* kappa, double eps,
                           double* h, double* wd);
    const char* const* (*strategies)(std::size_t& count);
};

// The cores of this build that this CPU can run, best first.
const Core* const* available_cores(std::size_t& count);

}  // namespace pocketsvm
