// What the device says: a log for those who ask for it, and why it cannot go on.
#pragma once
#include <cstdint>
#include <string>

namespace rocm_perf::softgpu::device {

__attribute__((format(printf, 1, 2))) void log(const char* format, ...);

// Says why in one line, leaves it in the folder for whoever started the program, and ends the program.
[[noreturn]] void fail(const std::string& reason);

// Nanoseconds of a clock that only goes forward.
std::uint64_t now_ns();

// The GPU's clock: 100 MHz, as the real ones of these chips.
std::uint64_t gpu_ticks();

std::string hexadecimal(std::uint64_t value);

}  // namespace rocm_perf::softgpu::device
