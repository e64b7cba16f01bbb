// The solvers that look up the table.
#pragma once

#include "table.hpp"

namespace pocketsvm::POCKETSVM_SET {

// `lookup-h`: h from the table, wd in closed form at that h.
class LookupH {
  public:
    static constexpr bool cancels = true;
    static constexpr double error = 0;
    explicit LookupH(const MergeTable& table) : table_(table) {}
    template <class L>
    L h(L m, L t) const {
        return table_.h(m, t);
    }
    double h(double m, double t) const { return table_.h(m, t); }
    template <class L>
    L wd(L m, L t) const {
        return degradation_at(table_.h(m, t), m, t);
    }

  protected:
    const MergeTable& table_;
};

// `lookup-wd`: wd from the table as it is; h only for the chosen pair.
class LookupWD : public LookupH {
  public:
    static constexpr bool cancels = false;
    using LookupH::LookupH;
    template <class L>
    L wd(L m, L t) const {
        return table_.wd(m, t);
    }
};

// `merge`: the same, but the closed form decides between candidates that the table cannot tell
// apart. Distant candidates differ in the eighth digit only, and the table has four and a half.
class CheckedLookup : public LookupWD {
  public:
    // Of the scaled standard table. (Ten times that near the cusp at m = 1/2, kappa = e^-2.)
    static constexpr double error = 4e-5;
    using LookupWD::LookupWD;
};

}  // namespace pocketsvm::POCKETSVM_SET
