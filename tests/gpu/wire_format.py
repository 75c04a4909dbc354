"""Protobuf's wire format and the columns of a trace's batches (proto/README.md), as far as the readers here need them."""

import struct


class DamagedTrace(Exception):
    pass


def varint(data, position):
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise DamagedTrace(f"varint cut or too long at offset {position}")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7


def fields(data, position, end):
    """Yields (field number, value): an integer, or (begin, end) of length-delimited bytes."""
    while position < end:
        tag, position = varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, position = varint(data, position)
        elif wire_type == 1:
            value = int.from_bytes(data[position : position + 8], "little")
            position += 8
        elif wire_type == 2:
            length, position = varint(data, position)
            value = (position, position + length)
            position += length
        elif wire_type == 5:
            value = int.from_bytes(data[position : position + 4], "little")
            position += 4
        else:
            raise DamagedTrace(f"wire type {wire_type} at offset {position}")
        if position > end:
            raise DamagedTrace(f"field {number} runs past its message at offset {position}")
        yield number, value


def message(data, span, repeated=()):
    """{field number: value}; fields of `repeated` as lists of integers (packed or not)."""
    found = {}
    for number, value in fields(data, *span):
        if number not in repeated:
            found[number] = value
        elif isinstance(value, tuple):
            found.setdefault(number, []).extend(packed(data[value[0] : value[1]]))
        else:
            found.setdefault(number, []).append(value)
    return found


def packed(data):
    # Most elements of most columns are one byte.
    if max(data, default=0) < 0x80:
        return list(data)
    values = []
    append = values.append
    value = shift = 0
    for byte in data:
        if byte < 0x80:
            append(value | byte << shift if shift else byte)
            value = shift = 0
        else:
            value |= (byte & 0x7F) << shift
            shift += 7
    return values


def column(values, count):
    """A batch's column: one element per record, one for all, or none for zeros."""
    if not values:
        return [0] * count
    if len(values) == 1:
        return values * count
    if len(values) != count:
        raise DamagedTrace(f"column of {len(values)} values in a batch of {count}")
    return values


def unzigzag(value):
    return (value >> 1) ^ -(value & 1)


def running(base, deltas, count, signed=True, unit=1):
    """base + deltas so far, in steps of unit. A delta column has one element per record, or none."""
    if not deltas:
        return [base] * count
    if len(deltas) != count:
        raise DamagedTrace(f"delta column of {len(deltas)} values in a batch of {count}")
    result = []
    for delta in deltas:
        base += (unzigzag(delta) if signed else delta) * unit
        result.append(base)
    return result


def doubles(data, spans):
    """The values of a repeated double, packed in each of the spans."""
    values = []
    for begin, end in spans:
        if (end - begin) % 8:
            raise DamagedTrace(f"{end - begin} bytes of doubles at offset {begin}")
        values.extend(struct.unpack(f"<{(end - begin) // 8}d", data[begin:end]))
    return values
