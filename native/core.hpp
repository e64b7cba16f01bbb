// The interface of the core: plain views of data and abstract classes.
//
// Everything behind this header is compiled once per instruction set, each time in its own
// namespace. This header only declares, so that no compiled code is shared between them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pocketsvm {

enum class Precision { float32, float64 };

// Rows, dense (C order) or compressed sparse. The caller has checked sizes and indices.
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

// A loss on classes, the class of each row, and the weights of classes and rows.
struct Classes {
    const char* loss;  // one of Core::class_losses
    const void* codes;
    bool wide_codes;  // int32, else int8
    const double* class_weight;
    const double* row_weight;  // null: all ones
    std::int32_t positive;     // the class that is +1; all others are -1
};

// A loss on target values, the target of each row, and the weights of rows.
struct Targets {
    const char* loss;  // one of Core::target_losses
    double parameter;  // of the loss
    const double* values;
    const double* row_weight;  // null: all ones
};

// Where a row's query and level, its rows of the same relevance, begin and end.
struct PairPlace {
    std::uint32_t query_begin, level_begin, level_end, query_end;
};

// Pairs of rows of the same query and of different relevance. Rows are sorted by query, and by
// relevance in each query, which has at least two levels.
struct Pairs {
    const PairPlace* places;   // of each row
    const double* row_weight;  // the weight of a query's pairs times its rows, over its pairs
};

// One maintenance event. Slots are those before the event.
struct Event {
    std::int64_t step;
    std::int64_t first;   // the vector that is merged or dropped
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

// What one strategy would have done at the events of a training run, compared with `gss-precise`.
struct AuditCounts {
    std::int64_t events = 0;
    std::int64_t merges = 0;       // events in which it would have merged
    std::int64_t factors = 0;      // events whose smallest degradation exceeds rounding errors
    double factor = 0;             // sum over those events: degradation / smallest degradation
    double degradation = 0;        // sum over all events
    double least_degradation = 0;  // the same for gss-precise
};

// Number of events in which two strategies would have merged with the same partner, or with
// different partners that are equally good.
struct Agreement {
    std::int64_t equal = 0;
    std::int64_t tied = 0;
};

// Long loops ask it from time to time whether to stop.
class Interrupt {
  public:
    virtual bool requested() = 0;

  protected:
    ~Interrupt() = default;
};

struct TrainerOptions {
    std::size_t n_features;
    std::size_t budget;
    double gamma;
    double alpha;
    const char* maintenance;
    bool fit_intercept;
    double intercept_rate;  // the square of the constant feature that the intercept multiplies
    double half_life;       // in rows; see StateView. Infinite: all rows count the same
    std::uint64_t seed;
    std::int64_t random_steps = 0;  // steps for each vector, see RandomThenNewest
};

// The state of training: the decision function is (sum_j c_j k(x_j, x) + bias) / (alpha weight).
// The weight is the sum over the rows seen so far, the newest of which counts 1, and a row that was
// seen half_life rows before another counts half as much.
struct StateView {
    std::size_t size;
    const void* vectors;  // size x n_features, C order, in the trainer's precision
    const double* coefficients;
    const std::int64_t* births;
    double bias;
    std::int64_t steps;
    double weight;
    const std::uint64_t* generator;  // four words
};

// More merges than a pass can make.
inline constexpr std::int64_t no_limit = INT64_MAX;

// A trainer that was interrupted is in no usable state.
class Trainer {
  public:
    virtual ~Trainer();
    // One pass over all rows in a new random order, which ends early after `most_merges`; returns
    // false if it was interrupted.
    virtual bool pass(const RowsView& rows, const Classes& classes, Interrupt& interrupt,
                      std::int64_t most_merges = no_limit) = 0;
    virtual bool pass(const RowsView& rows, const Targets& targets, Interrupt& interrupt,
                      std::int64_t most_merges = no_limit) = 0;
    // One step for each row, with a random partner.
    virtual bool pass(const RowsView& rows, const Pairs& pairs, Interrupt& interrupt,
                      std::int64_t most_merges = no_limit) = 0;
    // Continues from a state. If it exceeds the budget, maintenance runs at once; returns false if
    // that was interrupted.
    virtual bool restore(const StateView& state, Interrupt& interrupt) = 0;

    virtual std::size_t size() const = 0;
    virtual double bias() const = 0;
    virtual std::int64_t steps() const = 0;
    virtual double weight() const = 0;
    virtual void copy_state(void* vectors, double* coefficients, std::int64_t* births,
                            std::uint64_t* generator) const = 0;
    virtual const std::uint32_t* order(std::size_t& n_rows) const = 0;
    virtual const Profile& profile() const = 0;

    // Attaches a new observer, which records every maintenance event from now on and asks these
    // strategies (known names; gss-precise is one of them, unless there are none) for decisions.
    virtual void observe(const char* const* strategies, std::size_t count) = 0;
    // Null and zero without an observer.
    virtual const Event* events(std::size_t& count) const = 0;
    // k and l number the strategies that the observer asks.
    virtual const AuditCounts& audit(std::size_t k) const = 0;
    virtual const Agreement& agreement(std::size_t k, std::size_t l) const = 0;
};

class Predictor {
  public:
    virtual ~Predictor();
    // Writes the n_outputs decision values of rows [begin, end), from out[begin * n_outputs] on.
    virtual void decide(const RowsView& rows, std::size_t begin, std::size_t end,
                        double* out) const = 0;
    // Writes the kernel values of rows [begin, end) with all vectors, in the precision of the
    // rows, from out on.
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

// Kernel values of rows with vectors, C order.
struct KernelView {
    Precision precision;
    std::size_t n_rows;
    std::size_t n_vectors;
    const void* values;
};

// Some rows of a matrix, each times a scale.
struct ScaledRows {
    std::size_t n_rows;
    std::size_t n_columns;
    const std::int64_t* chosen;  // positions of the rows
    const double* scales;
};

// Panels of packed rows: [begin, end).
struct PanelRange {
    std::size_t begin, end;
};

// A loss that the solver knows.
struct SolverLoss {
    const char* name;
    bool on_classes;  // else on target values
    bool coupled;     // one loss of all outputs, else one of each output
};

struct SolverLossList {
    const SolverLoss* first;
    std::size_t count;
};

// Losses of rows, with y = +1 for the output's positive class and -1 for others, or a target y.
struct Losses {
    std::size_t loss;  // its position in Core::solver_losses
    bool coupled;      // as there
    std::size_t n_outputs;
    const double* widths;  // one for each output
    const void* codes;     // the class of each row
    bool wide_codes;       // int32, else int8
    const std::int32_t* positives;
    const double* targets;  // n_rows x n_targets
    std::size_t n_targets;  // n_outputs, or one that all outputs share
    double epsilon;
    const double* down;
    const double* up;

    // The number of losses of a row.
    std::size_t n_losses() const { return coupled ? 1 : n_outputs; }
};

// Rows to read: [begin, end) of all. A row is near if it would have a slope after a change of
// its decision value by `reach` widths.
struct Chunk {
    std::size_t begin, end;
    const double* c;  // the weight of each row, from the first row of all on
    double reach;
};

// What a reading of rows computes.
struct Sums {
    double* losses;  // of each length and loss
    double* pull;    // n_outputs x (n_vectors + 1): their derivative; not along a direction
    bool* near;      // of each row, from the first row of all on; not along a direction
};

// Sums over rows at a point, or at some lengths along a direction.
class Reader {
  public:
    virtual ~Reader();
    virtual void read(const RowsView& rows, const Losses& losses, const Chunk& chunk,
                      const Sums& sums) const = 0;
};

// A problem whose vectors are the rows themselves, for each output on its own:
// minimise 1/2 a' K a + sum_i c_i loss_i(k_i a + b) + tilt b over a and b.
struct RowProblem {
    KernelView kernel;  // K, symmetric
    Losses losses;      // no loss couples outputs, and they share the target of a row
    const double* c;    // not zero
    double tilt;
    bool fit_intercept;  // else b is 0
    double bound;        // on the curvature of a loss
    double least;        // the least curvature of the intercept
    std::size_t n_steps;
    double tolerance;  // ends if a step predicts a decrease below this share of the objective
};

// Points and gradients hold the intercepts last.
struct RowSolution {
    double* point;      // n_outputs x (n_rows + 1); zero where the loss of a row is flat
    double* gradient;   // likewise
    double* decisions;  // n_rows x n_outputs
    double* objective;  // of each output
    double* predicted;  // twice the decrease that one more step predicts
    std::int64_t* steps;
};

// Rows with priorities: the random number of a row over its weight.
struct Draw {
    const void* groups;  // of each row
    bool wide_groups;    // int32, else int8
    std::size_t n_groups;
    const double* weights;  // of each row; null: one
    std::uint64_t seed;
    std::uint64_t first = 0;  // the position of the first row among all rows
};

// Limits of the priorities in each group.
struct Bracket {
    const double* lower;
    const double* upper;
};

// The groups and priorities of some rows.
struct Candidates {
    std::int32_t* groups;
    double* priorities;
};

class Table {
  public:
    virtual ~Table();
    // Either output may be null.
    virtual void look_up(std::size_t n, const double* m, const double* kappa, double* h,
                         double* wd) const = 0;
};

struct Names {
    const char* const* first;
    std::size_t count;
};

// What one instruction set offers.
struct Core {
    const char* name;
    Names strategies;
    Names class_losses;
    Names target_losses;
    SolverLossList solver_losses;
    Trainer* (*make_trainer)(Precision, const TrainerOptions&);  // null: unknown strategy
    Predictor* (*make_predictor)(Precision, const ModelView&);
    Table* (*make_table)(std::size_t size, bool scaled);
    void (*golden_section)(std::size_t n, const double* m, const double* kappa, double eps,
                           double* h, double* wd);
    // out[i, o] = intercepts[o] + sum_j coefficients[o, j] kernel[i, j]
    void (*kernel_decisions)(const KernelView& kernel, std::size_t n_outputs,
                             const double* coefficients, const double* intercepts, double* out);
    // out[o, j] = sum_i slopes[i, o] kernel[i, j], without the terms whose slope is zero
    void (*kernel_pull)(const KernelView& kernel, std::size_t n_outputs, const double* slopes,
                        double* out);
    // The columns of a panel of packed rows. The last one is filled up with zeros.
    std::size_t panel;
    // Packs the rows [begin, end) of a matrix into panels (n_panels x n_rows x panel).
    void (*pack_rows)(const KernelView& matrix, const ScaledRows& rows, std::size_t begin,
                      std::size_t end, double* packed);
    // Adds the products of the columns of some panels with those of others, as far as these are not
    // before them, times a sign, to the upper triangle of a matrix (n_columns x n_columns).
    void (*add_products)(const double* packed, std::size_t n_rows, std::size_t n_columns,
                         const PanelRange& left, const PanelRange& right, double sign,
                         double* square);
    // The weighted losses of a chunk (n_losses), and the weighted slopes and curvatures of its
    // rows, from decision values (n_rows x n_outputs). All arrays start with the first row of all.
    void (*loss_derivatives)(const Losses& losses, const Chunk& chunk, const double* decisions,
                             double* sums, double* slopes, double* curvatures);
    // Whether the rows of a chunk are near.
    void (*near_rows)(const Losses& losses, const Chunk& chunk, const double* decisions,
                      bool* near);
    // The first and second derivative of the losses along a change of the decision values, at one
    // length for each loss.
    void (*losses_along)(const Losses& losses, const Chunk& chunk, const double* decisions,
                         const double* change, const double* lengths, double* first,
                         double* second);
    // Without lengths, the model holds a point, else a point and then a direction.
    Reader* (*make_reader)(Precision, const ModelView&, const double* lengths,
                           std::size_t n_lengths);
    // False if a matrix is not positive definite, because of rounding with a large c.
    bool (*solve_rows)(const RowProblem& problem, const RowSolution& solution);
    // The random numbers of n rows from a position on.
    void (*random_numbers)(std::uint64_t seed, std::uint64_t first, std::size_t n, double* out);
    // Counts the rows among [begin, end) below the bracket of their group, and writes those inside
    // it, whose number it returns. If a group does not exist, returns more rows than there are.
    std::size_t (*split_rows)(const Draw& draw, const Bracket& bracket, std::size_t begin,
                              std::size_t end, std::int64_t* below, const Candidates& inside);
    // Writes the rows among [begin, end) with priorities below the limits of their groups, and of
    // those equal to a limit the first `ties[group]`.
    void (*write_below)(const Draw& draw, const double* limits, std::int64_t* ties,
                        std::size_t begin, std::size_t end, std::int64_t* rows);
};

// The cores of this build that this CPU can run, best first.
const Core* const* available_cores(std::size_t& count);

}  // namespace pocketsvm
