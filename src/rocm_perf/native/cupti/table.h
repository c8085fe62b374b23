// Rows of whole numbers, kept as columns of which each is as wide as its values need.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace rocm_perf {

class Table {
 public:
  Table(char id, std::size_t columns) : id_(id), columns_(columns) {}
  void add(std::initializer_list<std::int64_t> row) { add(row.begin(), row.end()); }
  template <std::size_t Size>
  void add(const std::array<std::int64_t, Size>& row) {
    add(row.begin(), row.end());
  }
  std::size_t rows() const { return columns_[0].size(); }
  std::string taken();  // as the content of a block; the table is empty afterwards

 private:
  void add(const std::int64_t* first, const std::int64_t* last);

  char id_;
  std::vector<std::vector<std::int64_t>> columns_;
};

}  // namespace rocm_perf
