// A list of types that are chosen by name at run time: strategies and losses.
#pragma once

#include <cstring>
#include <type_traits>

#include "core.hpp"
#include "simd.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Each type has a static `name`.
template <class... Types>
struct NamedTypes {
    static constexpr const char* names[] = {Types::name...};
    static constexpr Names all = {names, sizeof...(Types)};

    // Calls use(std::type_identity<Type>()) for the type of that name, if there is one.
    template <class Use>
    static void with(const char* name, Use use) {
        const auto try_one = [&](auto type) {
            if (std::strcmp(name, decltype(type)::type::name) == 0) use(type);
        };
        (try_one(std::type_identity<Types>()), ...);
    }
    // The same for the type at a position of the list.
    template <class Use>
    static void with(std::size_t position, Use use) {
        std::size_t next = 0;
        const auto try_one = [&](auto type) {
            if (next++ == position) use(type);
        };
        (try_one(std::type_identity<Types>()), ...);
    }
};

template <>
struct NamedTypes<> {};

// Both lists, one after the other.
template <class... First, class... Second>
NamedTypes<First..., Second...> operator+(NamedTypes<First...>, NamedTypes<Second...>);

}  // namespace pocketsvm::POCKETSVM_SET
