// The runtime may need a newer C library than this machine has. Then every program that is emulated is started by the
// loader that came with that library.
#pragma once
#include <string>
#include <vector>

namespace rocm_perf::softgpu::device {

// The command line that starts a program so. Empty if it is started as it is: where no loader is needed, and for
// scripts, whose interpreter then starts itself again.
std::vector<std::string> loader_command(const std::string& program, char* const* argv);

// What `execvp` would start.
std::string found_on_path(const char* name);

// The program of this process, also where /proc/self/exe is the loader; empty if that cannot be told.
std::string own_program();

// Whether this process was started by the loader.
bool is_under_loader();

}  // namespace rocm_perf::softgpu::device
