// The Python bindings of the merging problem.
#include <algorithm>

#include "common.hpp"

namespace pocketsvm {
namespace {

void check_pairs(const Vector& m, const Vector& kappa) {
    require(m.shape(0) == kappa.shape(0), "m and kappa must have the same length, got " +
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
        const WithoutGil released;
        core->golden_section(m.shape(0), m.data(), kappa.data(), eps, h, wd);
    }
    return nb::make_tuple(h_array, wd_array);
}

class PyTable {
  public:
    PyTable(std::size_t size, bool scaled) {
        // A larger table gains no accuracy and takes seconds to build.
        constexpr std::size_t max_size = 4096;
        require(size >= 2 && size <= max_size && size % 2 == 0,
                "size must be even and in [2, 4096], got " + std::to_string(size));
        const WithoutGil released;
        table_.reset(core->make_table(size, scaled));
    }
    nb::object h(Vector m, Vector kappa) const { return look_up(m, kappa, true); }
    nb::object wd(Vector m, Vector kappa) const { return look_up(m, kappa, false); }

  private:
    nb::object look_up(const Vector& m, const Vector& kappa, bool h) const {
        check_pairs(m, kappa);
        double* out;
        auto array = make_array<double>({m.shape(0)}, &out);
        {
            const WithoutGil released;
            table_->look_up(m.shape(0), m.data(), kappa.data(), h ? out : nullptr,
                            h ? nullptr : out);
        }
        return nb::cast(array);
    }
    std::unique_ptr<Table> table_;
};

}  // namespace

void bind_merging(nb::module_& module) {
    module.def("golden_section", &golden_section, "m"_a, "kappa"_a, "eps"_a);
    nb::class_<PyTable>(module, "MergeTable")
        .def(nb::init<std::size_t, bool>(), "size"_a, "scaled"_a)
        .def("h", &PyTable::h, "m"_a, "kappa"_a)
        .def("wd", &PyTable::wd, "m"_a, "kappa"_a);
}

}  // namespace pocketsvm
