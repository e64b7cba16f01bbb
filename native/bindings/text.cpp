// The Python bindings of the parser of LIBSVM text.
#include "../text/svmlight.hpp"
#include "common.hpp"

namespace pocketsvm {
namespace {

void parse_text(SvmlightChunk& chunk, const std::vector<nb::bytes>& parts, std::size_t size) {
    std::vector<std::string_view> views;
    for (const nb::bytes& part : parts) {
        views.push_back(std::string_view(part.c_str(), part.size()).substr(0, size));
        size -= views.back().size();
    }
    const WithoutGil released;
    parse_svmlight(views, chunk);
}

void read_file(SvmlightChunk& chunk, int file, std::uint64_t begin, std::uint64_t end) {
    require(begin < end, "begin must be below end");
    int failure;
    try {
        const WithoutGil released;
        read_svmlight(file, begin, end, chunk);
        return;
    } catch (const std::system_error& error) {
        failure = error.code().value();
    }
    errno = failure;
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
}

nb::object as_tuple(const TextPlace& place) { return nb::make_tuple(place.line, place.column); }

nb::object error_of(const SvmlightChunk& chunk) {
    if (chunk.error.empty()) return nb::none();
    return nb::make_tuple(chunk.error_place.line, chunk.error_place.column, chunk.error);
}

// A NumPy array that owns the container.
template <class Container>
nb::object as_array(Container&& values) {
    auto* const owned = new Container(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Container*>(p); });
    return nb::cast(
        nb::ndarray<nb::numpy, std::remove_reference_t<decltype(*owned->data())>, nb::ndim<1>>(
            owned->data(), {owned->size()}, owner));
}

nb::object labels_of(const SvmlightChunk& chunk) {
    return as_array(std::vector<double>(chunk.labels));
}

nb::bytes spelling(const SvmlightChunk& chunk, std::size_t row) {
    if (row >= chunk.labels.size()) throw nb::index_error("no such row");
    const std::string_view text = label_spelling(chunk, row);
    return nb::bytes(text.data(), text.size());
}

void append(SvmlightRows& rows, const SvmlightChunk& chunk) {
    const WithoutGil released;
    rows.append(chunk);
}

nb::object finish(SvmlightRows& rows, bool written_from_0, bool float64) {
    require(!float64 || !rows.narrow_columns.all_are_wide(), "the values are kept in float32");
    {
        const WithoutGil released;
        rows.finish(written_from_0, float64);
    }
    return nb::make_tuple(
        as_array(std::move(rows.labels)), as_array(std::move(rows.queries)),
        as_array(std::move(rows.row_lengths)), as_array(std::move(rows.indices)),
        float64 ? as_array(std::move(rows.exact_values)) : as_array(std::move(rows.values)));
}

}  // namespace

void bind_text(nb::module_& module) {
    nb::class_<SvmlightChunk>(module, "SvmlightChunk")
        .def(nb::init<>())
        .def("parse", &parse_text, "parts"_a, "size"_a)
        .def("read", &read_file, "file"_a, "begin"_a, "end"_a)
        .def_prop_ro("labels", &labels_of)
        .def("spelling", &spelling, "row"_a)
        .def_ro("n_lines", &SvmlightChunk::n_lines)
        .def_ro("least_index", &SvmlightChunk::least_index)
        .def_ro("largest_index", &SvmlightChunk::largest_index)
        .def_prop_ro("largest_place",
                     [](const SvmlightChunk& chunk) { return as_tuple(chunk.largest_place); })
        .def_prop_ro("infinite_place",
                     [](const SvmlightChunk& chunk) {
                         const bool none = chunk.infinite_place.line == 0;
                         return none ? nb::object(nb::none()) : as_tuple(chunk.infinite_place);
                     })
        .def_prop_ro("unasked_place",
                     [](const SvmlightChunk& chunk) {
                         const bool none = chunk.unasked_place.line == 0;
                         return none ? nb::object(nb::none()) : as_tuple(chunk.unasked_place);
                     })
        .def_prop_ro("error", &error_of);
    nb::class_<NarrowColumns>(module, "NarrowColumns")
        .def(nb::init<>())
        .def("merge", &NarrowColumns::merge, "other"_a)
        .def_prop_ro("need_float64", &NarrowColumns::need_float64);
    nb::class_<SvmlightRows>(module, "SvmlightRows")
        .def(nb::init<std::size_t>(), "n_bytes"_a)
        .def("append", &append, "chunk"_a)
        .def_ro("narrow_columns", &SvmlightRows::narrow_columns)
        .def("finish", &finish, "written_from_0"_a, "float64"_a);
}

}  // namespace pocketsvm
