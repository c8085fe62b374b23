// The plan of a replay: lines `word values...`, a file's name last. Python writes it, the runners read it.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
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

struct Plan {
  std::string mode = "run", isa, kernel;
  int device = 0;
  std::vector<Range> reserve;
  std::vector<Piece> load, restore, dump;
  std::vector<Named> code, globals, dump_globals;
  std::vector<Poison> poison;
  Piece kernarg;
  bool kernarg_at_address = false;
  std::uint64_t grid[3] = {1, 1, 1}, workgroup[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
  std::uint64_t dynamic_lds = 0, group_segment = 0, private_segment = 0, cold_cache = 0;
  std::uint64_t warmup = 0, iterations = 1;
  bool cooperative = false, recopy = true, launch = true;
};

class PlanReader {
 public:
  static Plan read(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Failure(kUnreadable, "cannot read the plan " + path);
    PlanReader reader;
    std::string line;
    while (std::getline(file, line)) reader.take(line);
    return reader.plan_;
  }

 private:
  void take(const std::string& line) {
    in_ = std::istringstream(line);
    std::string word;
    if (!(in_ >> word)) return;
    if (word == "version") {
      if (number() != 1) throw Failure(kBadPlan, "the plan is of another version");
    } else if (word == "mode") in_ >> plan_.mode;
    else if (word == "device") plan_.device = static_cast<int>(number());
    else if (word == "isa") in_ >> plan_.isa;
    else if (word == "kernel") in_ >> plan_.kernel;
    else if (word == "reserve") plan_.reserve.push_back({number(), number()});
    else if (word == "load") plan_.load.push_back(piece());
    else if (word == "restore") plan_.restore.push_back(piece());
    else if (word == "dump") plan_.dump.push_back(target());
    else if (word == "code") plan_.code.push_back(labelled());
    else if (word == "global") plan_.globals.push_back(named());
    else if (word == "dump_global") plan_.dump_globals.push_back(named());
    else if (word == "poison") poison();
    else if (word == "kernarg") kernarg();
    else if (word == "grid") three(plan_.grid);
    else if (word == "workgroup") three(plan_.workgroup);
    else if (word == "cluster") three(plan_.cluster);
    else if (word == "dynamic_lds") plan_.dynamic_lds = number();
    else if (word == "group_segment") plan_.group_segment = number();
    else if (word == "private_segment") plan_.private_segment = number();
    else if (word == "cold_cache") plan_.cold_cache = number();
    else if (word == "warmup") plan_.warmup = number();
    else if (word == "iterations") plan_.iterations = number();
    else if (word == "cooperative") plan_.cooperative = number() != 0;
    else if (word == "recopy") plan_.recopy = number() != 0;
    else if (word == "launch") plan_.launch = number() != 0;
    else if (word != "parameters") throw Failure(kBadPlan, "the plan has an unknown line: " + line.substr(0, 80));
  }

  std::uint64_t number() {
    std::string text;
    in_ >> text;
    return number(text);
  }

  static std::uint64_t number(const std::string& text) {
    std::size_t used = 0;
    try {
      std::uint64_t value = std::stoull(text, &used, 0);
      if (used == text.size()) return value;
    } catch (const std::exception&) {
    }
    throw Failure(kBadPlan, "the plan has '" + text + "' where a number belongs");
  }

  std::string rest() {
    std::string text;
    std::getline(in_ >> std::ws, text);
    if (text.empty()) throw Failure(kBadPlan, "the plan lacks the name of a file");
    return text;
  }

  Piece piece() {
    Piece out;
    out.address = number();
    out.size = number();
    out.offset = number();
    out.file = rest();
    return out;
  }

  Piece target() {
    Piece out;
    out.address = number();
    out.size = number();
    out.file = rest();
    return out;
  }

  Named labelled() {
    Named out;
    in_ >> out.name;
    out.file = rest();
    return out;
  }

  Named named() {
    Named out;
    in_ >> out.name;
    out.size = number();
    out.file = rest();
    return out;
  }

  void poison() {
    Poison out;
    out.address = number();
    out.size = number();
    out.byte = static_cast<unsigned>(number());
    plan_.poison.push_back(out);
  }

  void kernarg() {
    std::string address;
    in_ >> address;
    plan_.kernarg_at_address = address != "-";
    if (plan_.kernarg_at_address) plan_.kernarg.address = number(address);
    plan_.kernarg.size = number();
    plan_.kernarg.file = rest();
  }

  void three(std::uint64_t (&into)[3]) {
    for (std::uint64_t& value : into) value = number();
  }

  Plan plan_;
  std::istringstream in_;
};

}  // namespace rocm_perf
