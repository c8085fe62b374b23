// The plan of a replay: lines `word values...`, a file's name last. Python writes it, the runners read it.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace rocm_perf {

// Exit codes of a runner; Python turns each into a sentence.
enum Exit {
  kDone = 0,
  kNotReserved = 1,
  kRelocated = 2,
  kBadPlan = 10,
  kNoDevice = 11,
  kOtherIsa = 12,
  kNoKernel = 13,
  kDeviceError = 14,
  kNoMemory = 15,
  kUnreadable = 16,
  kUnwritable = 17,
};

class Failure : public std::runtime_error {
 public:
  Failure(Exit code, const std::string& what) : std::runtime_error(what), code(code) {}
  Exit code;
};

struct Range {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
};

struct Piece {  // bytes of a file, and where they belong
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
  std::string file;
};

struct Named {
  std::string name;
  std::uint64_t size = 0;
  std::string file;
};

struct Poison {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  unsigned byte = 0;
};

struct Sizes {  // of a launch, in work-items
  std::uint64_t grid[3] = {1, 1, 1}, workgroup[3] = {1, 1, 1};
};

struct Plan {
  std::string mode = "run", isa, kernel;
  int device = 0;
  std::vector<Range> reserve;
  std::vector<Piece> load, restore, dump;
  std::vector<Piece> swap;  // put in place before the last launch: other contents at the same addresses
  std::vector<Named> code, globals, dump_globals;
  std::vector<Poison> poison;
  Piece kernarg;
  bool kernarg_at_address = false;
  Sizes sizes;
  std::map<std::string, Sizes> own_sizes;  // by the label of the code that has them
  std::uint64_t cluster[3] = {1, 1, 1};
  std::uint64_t dynamic_lds = 0, group_segment = 0, private_segment = 0, cold_cache = 0;
  std::uint64_t warmup = 0, iterations = 1;
  bool cooperative = false, recopy = true, launch = true;

  const Sizes& sizes_of(const std::string& label) const;
};

Plan read_plan(const std::string& path);

}  // namespace rocm_perf
