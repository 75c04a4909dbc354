// A protobuf message as a tree of values, written as wire bytes or as protobuf JSON, without libprotobuf: gx-kernels
// may be copied to a machine that has a driver and nothing else. Encoding: "Encoding" and "ProtoJSON Format" of
// protobuf.dev. Values only; which fields a message has is machine_fields.h. Any thread; a message belongs to one.
#ifndef GPUEXEC_KERNELS_CEILINGS_MESSAGE_H_
#define GPUEXEC_KERNELS_CEILINGS_MESSAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gx::kernels {

// A field's number and name, a value's number and name, as in the .proto file.
struct Field {
  uint32_t number;
  std::string_view name;
};
struct EnumValue {
  uint32_t number;
  std::string_view name;
};

class Message {
 public:
  // Fields are written in the order in which they are set, each once.
  void SetCount(Field field, uint64_t value) { entries_.push_back({field, value}); }
  // sint64.
  void SetSigned(Field field, int64_t value) { entries_.push_back({field, Signed{value}}); }
  void SetBool(Field field, bool value) { entries_.push_back({field, value}); }
  // Finite.
  void SetDouble(Field field, double value) { entries_.push_back({field, value}); }
  // Bytes that are no printable ASCII become '?': a string has to be UTF-8.
  void SetText(Field field, std::string_view value);
  void SetEnum(Field field, EnumValue value) { entries_.push_back({field, value}); }
  void SetMessage(Field field, Message value) { entries_.push_back({field, One{{std::move(value)}}}); }
  // Repeated fields; one without elements is not written.
  void SetDoubles(Field field, std::vector<double> values);
  void SetMessages(Field field, std::vector<Message> values);

  std::string Wire() const;
  // Field names as in the .proto file, two spaces a level, no newline at the end.
  std::string Json() const;

 private:
  struct Signed {
    int64_t value;
  };
  // A singular message; a vector because the type is not complete here.
  struct One {
    std::vector<Message> message;
  };
  using Value = std::variant<uint64_t, Signed, bool, double, std::string, EnumValue, One, std::vector<double>,
                             std::vector<Message>>;
  struct Entry {
    Field field;
    Value value;
  };

  void AppendWire(std::string* out) const;
  void AppendJson(int level, std::string* out) const;

  std::vector<Entry> entries_;
};

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CEILINGS_MESSAGE_H_
