#include "analysis/model/gemm.h"

#include <utility>

#include "absl/status/status.h"
#include "analysis/model/check.h"
#include "analysis/model/checked_count.h"
#include "analysis/model/element.h"
#include "analysis/model/tile_grid.h"

namespace gx::model {
namespace {

absl::Status CheckGemm(const Gemm& gemm) {
  for (const auto& [field, value] : {std::pair{"m", gemm.m}, std::pair{"n", gemm.n}, std::pair{"k", gemm.k}}) {
    if (absl::Status status = CheckPositive(field, value); !status.ok()) return status;
  }
  for (const auto& [field, value] :
       {std::pair{"a_element_bits", gemm.a_element_bits}, std::pair{"b_element_bits", gemm.b_element_bits},
        std::pair{"c_element_bits", gemm.c_element_bits}}) {
    if (absl::Status status = CheckElementBits(field, value); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GemmWork> EvaluateGemm(const Gemm& gemm) {
  if (absl::Status status = CheckGemm(gemm); !status.ok()) return status;
  const absl::StatusOr<int64_t> flops = (CheckedCount(2) * gemm.m * gemm.k * gemm.n).Value("gemm_flops");
  if (!flops.ok()) return flops.status();
  // No more elements than operations.
  const CheckedCount a = PackedBytes(gemm.m * gemm.k, gemm.a_element_bits);
  const CheckedCount b = PackedBytes(gemm.k * gemm.n, gemm.b_element_bits);
  const CheckedCount c = PackedBytes(gemm.m * gemm.n, gemm.c_element_bits);
  const absl::StatusOr<int64_t> bytes = (a + b + c).Value("compulsory_bytes");
  if (!bytes.ok()) return bytes.status();
  GemmWork work;
  work.flops = *flops;
  // Parts of a sum that fits.
  work.a_bytes = *a.Value("a_bytes");
  work.b_bytes = *b.Value("b_bytes");
  work.c_bytes = *c.Value("c_bytes");
  work.compulsory_bytes = *bytes;
  work.flops_per_byte = static_cast<double>(work.flops) / static_cast<double>(work.compulsory_bytes);
  return work;
}

absl::StatusOr<TiledGemmTraffic> EvaluateTiledGemm(const Gemm& gemm, int64_t block_m, int64_t block_n) {
  const absl::StatusOr<GemmWork> work = EvaluateGemm(gemm);
  if (!work.ok()) return work.status();
  const absl::StatusOr<TileGrid> grid =
      MakeTileGrid({.m = gemm.m, .n = gemm.n, .block_m = block_m, .block_n = block_n});
  if (!grid.ok()) return grid.status();
  const CheckedCount a = CheckedCount(work->a_bytes) * grid->tile_n_count;
  const CheckedCount b = CheckedCount(work->b_bytes) * grid->tile_m_count;
  const absl::StatusOr<int64_t> total = (a + b + work->c_bytes).Value("tiled_total_bytes");
  if (!total.ok()) return total.status();
  const absl::StatusOr<int64_t> issued_a = (CheckedCount(grid->issued_m) * gemm.k).Value("issued elements of A");
  if (!issued_a.ok()) return issued_a.status();
  const absl::StatusOr<int64_t> issued_b = (CheckedCount(grid->issued_n) * gemm.k).Value("issued elements of B");
  if (!issued_b.ok()) return issued_b.status();
  const CheckedCount issued = PackedBytes(*issued_a, gemm.a_element_bits) * grid->tile_n_count +
                              PackedBytes(*issued_b, gemm.b_element_bits) * grid->tile_m_count;
  const absl::StatusOr<int64_t> issued_reads = issued.Value("issued_read_bytes");
  if (!issued_reads.ok()) return issued_reads.status();
  TiledGemmTraffic traffic;
  traffic.a_read_bytes = work->a_bytes * grid->tile_n_count;
  traffic.b_read_bytes = work->b_bytes * grid->tile_m_count;
  traffic.read_bytes = traffic.a_read_bytes + traffic.b_read_bytes;
  traffic.write_bytes = work->c_bytes;
  traffic.total_bytes = *total;
  traffic.issued_read_bytes = *issued_reads;
  traffic.flops_per_byte = static_cast<double>(work->flops) / static_cast<double>(traffic.total_bytes);
  return traffic;
}

}  // namespace gx::model
