// Interruption of long loops: they count their work, and ask for an interrupt from time to time.
#pragma once

#include "core.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Thrown out of a long loop. What it worked on is in no usable state.
struct Interrupted {};

class Interruption {
  public:
    // The loops ask this interrupt from now on.
    void begin(Interrupt& interrupt) { interrupt_ = &interrupt; }
    // To be called with the work since the last call, roughly, in multiply-adds.
    void check(std::size_t work) {
        work_ += work;
        if (work_ < work_between_requests) return;
        work_ = 0;
        if (interrupt_ != nullptr && interrupt_->requested()) throw Interrupted();
    }

  private:
    static constexpr std::size_t work_between_requests = 1 << 20;  // about 1 millisecond

    Interrupt* interrupt_ = nullptr;
    std::size_t work_ = 0;
};

}  // namespace pocketsvm::POCKETSVM_SET
