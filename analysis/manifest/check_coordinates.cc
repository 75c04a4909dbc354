#include "analysis/manifest/check_coordinates.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

class CoordinateCheck {
 public:
  CoordinateCheck(const v1::Manifest& manifest, FaultLog* log) : manifest_(manifest), log_(*log) {}

  void Check() {
    CheckTensors();
    const v1::Operation& operation = manifest_.operation();
    if (operation.has_dropout_ratio() && !(operation.dropout_ratio() >= 0 && operation.dropout_ratio() <= 1)) {
      log_.Fault("operation.dropout_ratio", absl::StrCat("got ", operation.dropout_ratio(), ", expected 0 to 1"));
    }
    const v1::NumericalReference& reference = operation.numerical_reference();
    if (reference.has_tolerance() && !(std::isfinite(reference.tolerance()) && reference.tolerance() >= 0)) {
      log_.Fault("operation.numerical_reference.tolerance",
                 absl::StrCat("got ", reference.tolerance(), ", expected a finite number, 0 or above"));
    }
    const v1::Dispatch& dispatch = manifest_.dispatch();
    Positive("dispatch.launch_count", dispatch.has_launch_count(), dispatch.launch_count());
    CheckMachine();
    const v1::Schedule& schedule = manifest_.schedule();
    Positive("schedule.stage_count", schedule.has_stage_count(), schedule.stage_count());
    // -1 is the default of the attribute.
    if (schedule.has_carveout_percent() && (schedule.carveout_percent() < -1 || schedule.carveout_percent() > 100)) {
      log_.Fault("schedule.carveout_percent",
                 absl::StrCat("got ", schedule.carveout_percent(), ", expected -1 to 100"));
    }
    CheckEnums(manifest_, "");
  }

 private:
  void Positive(absl::string_view where, bool stated, int64_t value) {
    if (stated && value < 1) log_.Fault(where, absl::StrCat("got ", value, ", expected 1 or more"));
  }

  void PositiveRate(absl::string_view where, bool stated, double value) {
    if (stated && !(std::isfinite(value) && value > 0)) {
      log_.Fault(where, absl::StrCat("got ", value, ", expected a finite number above 0"));
    }
  }

  void CheckTensors() {
    const auto& tensors = manifest_.operation().tensor();
    std::set<absl::string_view> names;
    for (const v1::Tensor& tensor : tensors) names.insert(tensor.name());
    std::set<absl::string_view> seen;
    for (int i = 0; i < tensors.size(); ++i) {
      const v1::Tensor& tensor = tensors.Get(i);
      const std::string where = absl::StrCat("operation.tensor[", i, "]",
                                             tensor.name().empty() ? "" : absl::StrCat(" ", Quoted(tensor.name())));
      if (!tensor.name().empty() && !seen.insert(tensor.name()).second) log_.Fault(where, "the name is given twice");
      for (const int64_t extent : tensor.shape()) {
        if (extent > 0) continue;
        log_.Fault(where, absl::StrCat("shape: got ", extent, ", expected 1 or more"));
        break;
      }
      if (!tensor.stride().empty() && tensor.stride_size() != tensor.shape_size()) {
        log_.Fault(where, absl::StrCat("stride: got ", tensor.stride_size(), ", expected one for each of ",
                                       tensor.shape_size(), " axes"));
      }
      if (!tensor.alias_of().empty() && names.count(tensor.alias_of()) == 0) {
        log_.Fault(where, absl::StrCat("alias_of: there is no tensor ", Quoted(tensor.alias_of())));
      }
    }
    const auto& intermediates = manifest_.schedule().materialized_intermediate();
    for (int i = 0; i < intermediates.size(); ++i) {
      if (names.count(intermediates.Get(i)) != 0) continue;
      log_.Fault(absl::StrCat("schedule.materialized_intermediate[", i, "]"),
                 absl::StrCat("there is no tensor ", Quoted(intermediates.Get(i))));
    }
  }

  void CheckMachine() {
    const v1::Machine& machine = manifest_.machine();
    Positive("machine.sm_count", machine.has_sm_count(), machine.sm_count());
    PositiveRate("machine.sm_clock_hz", machine.has_sm_clock_hz(), machine.sm_clock_hz());
    PositiveRate("machine.memory_clock_hz", machine.has_memory_clock_hz(), machine.memory_clock_hz());
    Roofs("machine.compute_roof", "path", machine.compute_roof(), [](const v1::ComputeRoof& roof) {
      return std::pair<absl::string_view, double>(roof.path(), roof.flops_per_second());
    });
    Roofs("machine.memory_roof", "level", machine.memory_roof(), [](const v1::MemoryRoof& roof) {
      return std::pair<absl::string_view, double>(roof.level(), roof.bytes_per_second());
    });
  }

  // Which of two roofs with the same name and kind is meant, nobody could say.
  template <typename RoofList, typename NameAndRate>
  void Roofs(absl::string_view list, absl::string_view name_field, const RoofList& roofs, const NameAndRate& parts_of) {
    std::set<std::pair<absl::string_view, int>> seen;
    for (int i = 0; i < roofs.size(); ++i) {
      const auto [name, rate] = parts_of(roofs.Get(i));
      const std::string where = absl::StrCat(list, "[", i, "]", name.empty() ? "" : absl::StrCat(" ", Quoted(name)));
      if (name.empty()) log_.Fault(where, absl::StrCat("has no ", name_field));
      PositiveRate(where, true, rate);
      if (!seen.emplace(name, static_cast<int>(roofs.Get(i).kind())).second) {
        log_.Fault(where, absl::StrCat("the same ", name_field, " and kind is given twice"));
      }
    }
  }

  // proto3 keeps numbers that an enum does not have. The manifest's own label is a claim and checked as one.
  void CheckEnums(const google::protobuf::Message& message, const std::string& path) {
    using google::protobuf::FieldDescriptor;
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const bool is_enum = field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM;
      if (!is_enum && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      const std::string where = path.empty() ? field->name() : absl::StrCat(path, ".", field->name());
      if (is_enum) {
        // No enum of a manifest is repeated.
        if (field->is_repeated() || where == "label") continue;
        const int number = reflection.GetEnumValue(message, field);
        if (field->enum_type()->FindValueByNumber(number) == nullptr) {
          log_.Fault(where, absl::StrCat("got ", number, ", which is no ", field->enum_type()->name()));
        }
      } else if (field->is_repeated()) {
        for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
          CheckEnums(reflection.GetRepeatedMessage(message, field, i), absl::StrCat(where, "[", i, "]"));
        }
      } else {
        CheckEnums(reflection.GetMessage(message, field), where);
      }
    }
  }

  const v1::Manifest& manifest_;
  FaultLog& log_;
};

}  // namespace

void CheckCoordinates(const v1::Manifest& manifest, FaultLog* log) { CoordinateCheck(manifest, log).Check(); }

}  // namespace gx::analysis
