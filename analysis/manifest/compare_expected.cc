#include "analysis/manifest/compare_expected.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/manifest/fault_log.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace gx::analysis {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using gpuexec::v1::Mismatch;

constexpr char kAbsent[] = "absent";

// Derived holds 64-bit integers, doubles, bools, enums and strings.
std::string ScalarText(const Message& message, const FieldDescriptor* field) {
  const Reflection* reflection = message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(reflection->GetInt64(message, field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::StrFormat("%.17g", reflection->GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->GetBool(message, field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection->GetEnum(message, field)->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return Quoted(reflection->GetString(message, field));
    default:
      return "";
  }
}

bool SameScalar(const Message& a, const Message& b, const FieldDescriptor* field) {
  const Reflection* reflection = a.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->GetDouble(a, field) == reflection->GetDouble(b, field);
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection->GetString(a, field) == reflection->GetString(b, field);
    default:
      return ScalarText(a, field) == ScalarText(b, field);
  }
}

// The only repeated fields that are no messages are names.
std::vector<std::string> Names(const Message& message, const FieldDescriptor* field) {
  std::vector<std::string> names;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
    names.push_back(message.GetReflection()->GetRepeatedString(message, field, i));
  }
  return names;
}

std::string NamesText(const std::vector<std::string>& names) {
  constexpr size_t kMaxNames = 8;
  std::vector<std::string> quoted;
  for (const std::string& name : names) {
    if (quoted.size() == kMaxNames) break;
    quoted.push_back(Quoted(name));
  }
  return absl::StrCat("[", absl::StrJoin(quoted, ", "), names.size() > kMaxNames ? ", ..." : "", "]");
}

class Comparison {
 public:
  // `key`: a field that is not compared, because the messages were found by it; null: none.
  void Compare(const std::string& path, const Message& expected, const Message& derived,
               const FieldDescriptor* key = nullptr) {
    std::vector<const FieldDescriptor*> fields;
    expected.GetReflection()->ListFields(expected, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field == key) continue;
      const std::string name = absl::StrCat(path, ".", field->name());
      const bool message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
      if (message && field->is_repeated()) {
        CompareCases(name, field, expected, derived);
      } else if (message) {
        Compare(name, expected.GetReflection()->GetMessage(expected, field),
                derived.GetReflection()->GetMessage(derived, field));
      } else if (++result_.compared_count; field->is_repeated()) {
        const std::vector<std::string> want = Names(expected, field);
        const std::vector<std::string> got = Names(derived, field);
        if (want != got) Add(name, NamesText(want), NamesText(got));
      } else if (!derived.GetReflection()->HasField(derived, field)) {
        Add(name, ScalarText(expected, field), kAbsent);
      } else if (!SameScalar(expected, derived, field)) {
        Add(name, ScalarText(expected, field), ScalarText(derived, field));
      }
    }
  }

  ExpectedComparison Take() { return std::move(result_); }

 private:
  void Add(const std::string& field, std::string expected, std::string derived) {
    Mismatch& mismatch = result_.mismatches.emplace_back();
    mismatch.set_field(field);
    mismatch.set_expected(std::move(expected));
    mismatch.set_derived(std::move(derived));
  }

  // A case's first field is the name that it is found by.
  void CompareCases(const std::string& path, const FieldDescriptor* list, const Message& expected,
                    const Message& derived) {
    const FieldDescriptor* key = list->message_type()->FindFieldByNumber(1);
    const auto key_of = [key](const Message& item) { return item.GetReflection()->GetString(item, key); };
    std::map<std::string, const Message*> by_name;
    for (int i = 0; i < derived.GetReflection()->FieldSize(derived, list); ++i) {
      const Message& item = derived.GetReflection()->GetRepeatedMessage(derived, list, i);
      by_name.emplace(key_of(item), &item);
    }
    for (int i = 0; i < expected.GetReflection()->FieldSize(expected, list); ++i) {
      const Message& item = expected.GetReflection()->GetRepeatedMessage(expected, list, i);
      const std::string name = absl::StrCat(path, "[", Quoted(key_of(item)), "]");
      const auto found = by_name.find(key_of(item));
      if (found == by_name.end()) {
        ++result_.compared_count;
        Add(name, "a case of this name", kAbsent);
      } else {
        Compare(name, item, *found->second, key);
      }
    }
  }

  ExpectedComparison result_;
};

}  // namespace

ExpectedComparison CompareExpected(const gpuexec::v1::Derived& expected, const gpuexec::v1::Derived& derived) {
  Comparison comparison;
  comparison.Compare("expected", expected, derived);
  return comparison.Take();
}

}  // namespace gx::analysis
