// Which device memory the program holds: every live allocation by its address.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace rocm_perf {

struct Allocation {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  std::string kind;  // device, pool, mapped, global, managed, host, ipc
  int device = 0;
  std::string name;         // of a module's variable
  std::string uncovered;    // why it cannot be saved or restored; empty if it can
  std::uint64_t owner = 0;  // the context that it goes with; 0: none

  std::uint64_t end() const { return base + size; }
};

class Allocations {
 public:
  // What overlaps it gives way: of that, what lies before and behind stays.
  void add(Allocation one);

  // Says that something cannot be covered after all.
  void mark(std::uint64_t base, const std::string& uncovered);

  void remove_of(std::uint64_t owner);
  void remove(std::uint64_t base);

  // Those that begin in [base, base + size): one call may unmap several.
  void remove_within(std::uint64_t base, std::uint64_t size);

  // The allocation that holds the address.
  std::optional<Allocation> holding(std::uint64_t address) const;

  std::vector<Allocation> all() const;

 private:
  static Allocation part_of(const Allocation& whole, std::uint64_t from, std::uint64_t to);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Allocation> live_;
};

}  // namespace rocm_perf
