public import FoundationEssentials

extension JSONValue {
    /// The member of this name, or `nil` when there is none or this is not an object.
    ///
    /// - Parameter name: The member's name.
    public subscript(name: String) -> JSONValue? { object?[name] }

    /// The element at this index, or `nil` when there is none or this is not an array.
    ///
    /// - Parameter index: The index, from 0.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// The truth value, or `nil` when this is not one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The number as `Int`, or `nil` when this is not a number that `Int` holds exactly.
    public var int: Int? { exact(Int.self) }

    /// The number as `UInt64`, or `nil` when this is not a number that `UInt64` holds exactly.
    public var uint64: UInt64? { exact(UInt64.self) }

    /// The number as the nearest `Double`, or `nil` when this is not a number or beyond the range of `Double`.
    public var double: Double? {
        switch self {
        case .integer(let value): return Double(value)
        case .double(let value): return value
        case .number(let number):
            guard let value = Double(number.text), value.isFinite else { return nil }
            return value
        default: return nil
        }
    }

    /// The number as `Decimal`, with up to 38 digits, or `nil` when this is not a number.
    public var decimal: Decimal? {
        switch self {
        case .integer(let value): Decimal(value)
        case .double(let value): value.isFinite ? Decimal(string: "\(value)") : nil
        case .number(let number): Decimal(string: number.text)
        default: nil
        }
    }

    /// The string, or `nil` when this is not one.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The elements, or `nil` when this is not an array.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The members, or `nil` when this is not an object.
    public var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }

    private func exact<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        switch self {
        case .integer(let value): Integer(exactly: value)
        case .double(let value): Integer(exactly: value)
        case .number(let number): Integer(number.text)
        default: nil
        }
    }
}
