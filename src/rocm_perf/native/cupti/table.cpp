#include "cupti/table.h"

#include <algorithm>

namespace rocm_perf {
namespace {

template <typename Number>
void append(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Bytes for numbers from 0 to `most`: none where all are alike.
std::uint8_t width_for(std::uint64_t most) {
  if (most == 0) return 0;
  if (most <= UINT8_MAX) return 1;
  if (most <= UINT16_MAX) return 2;
  return most <= UINT32_MAX ? 4 : 8;
}

template <typename Number>
void append_all(std::string& out, const std::vector<std::int64_t>& values, std::uint64_t least) {
  for (const std::int64_t value : values) append(out, static_cast<Number>(static_cast<std::uint64_t>(value) - least));
}

void append_values(std::string& out, const std::vector<std::int64_t>& values, std::uint64_t least, std::uint8_t width) {
  if (width == 1) append_all<std::uint8_t>(out, values, least);
  if (width == 2) append_all<std::uint16_t>(out, values, least);
  if (width == 4) append_all<std::uint32_t>(out, values, least);
  if (width == 8) append_all<std::uint64_t>(out, values, least);
}

}  // namespace

void Table::add(const std::int64_t* first, const std::int64_t* last) {
  for (auto column = columns_.begin(); first != last; ++first, ++column) column->push_back(*first);
}

std::string Table::taken() {
  std::string head = "T", data;
  head += id_;
  append(head, static_cast<std::uint16_t>(columns_.size()));
  append(head, static_cast<std::uint32_t>(rows()));
  for (auto& values : columns_) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const auto base = static_cast<std::uint64_t>(*least);
    const std::uint8_t width = width_for(static_cast<std::uint64_t>(*most) - base);
    append(head, *least);
    append(head, width);
    append_values(data, values, base, width);
    values.clear();
  }
  return head + data;
}

}  // namespace rocm_perf
