import FoundationEssentials

/// Receives what a value encodes and writes it into a node.
struct FormEncoder: Encoder {
    /// How deep values may be nested; more is refused before the stack is used up (2 KiB a level in a debug build).
    static let maximumDepth = 128

    let node: FormNode
    let options: URLEncodedFormEncoder
    var codingPath: [any CodingKey] = []
    var depth = 0

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Encodes a value: what the options know how to write as text, others by their own `encode(to:)`.
    func encode(_ value: some Encodable) throws {
        if let text = try text(for: value) {
            node.write(text)
        } else {
            var encoder = self
            encoder.depth += 1
            guard encoder.depth <= Self.maximumDepth else {
                throw URLEncodedFormEncoder.Error.nestedTooDeeply(limit: Self.maximumDepth)
            }
            try value.encode(to: encoder)
        }
    }

    /// Writes what stands for a missing value, if anything does.
    func encodeNil(into node: () -> FormNode) {
        if let text = options.nilEncoding.text() {
            node().write(text)
        }
    }

    /// Returns the encoder for a node within this one's.
    func nested(_ node: FormNode, _ key: any CodingKey) -> FormEncoder {
        FormEncoder(node: node, options: options, codingPath: codingPath + [key], depth: depth)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(FormKeyedContainer<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        FormUnkeyedContainer(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        FormSingleValueContainer(encoder: self)
    }

    private func text(for value: some Encodable) throws -> String? {
        switch value {
        case let text as String: text
        case let flag as Bool: options.boolEncoding.text(for: flag)
        case let data as Data: try options.dataEncoding.text(for: data)
        case let date as Date: try options.dateEncoding.text(for: date)
        case let url as URL: url.absoluteString
        default: (value as? any FormDescribable)?.description
        }
    }
}

/// Describes itself as it is written in a form; an optional is cast to this by its value.
private protocol FormDescribable: CustomStringConvertible {}

extension Int: FormDescribable {}
extension Int8: FormDescribable {}
extension Int16: FormDescribable {}
extension Int32: FormDescribable {}
extension Int64: FormDescribable {}
extension Int128: FormDescribable {}
extension UInt: FormDescribable {}
extension UInt8: FormDescribable {}
extension UInt16: FormDescribable {}
extension UInt32: FormDescribable {}
extension UInt64: FormDescribable {}
extension UInt128: FormDescribable {}
extension Double: FormDescribable {}
extension Float: FormDescribable {}
extension Decimal: FormDescribable {}

/// Writes members.
private struct FormKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: FormEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) {
        encoder.encodeNil { encoder.node.member(key.stringValue) }
    }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        try member(key).encode(value)
    }

    // Each is needed: the defaults, which leave a missing value out, are preferred to a generic one.
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws { try encodeOptional(value, key) }

    private func encodeOptional(_ value: (some Encodable)?, _ key: Key) throws {
        guard let value else { return encodeNil(forKey: key) }
        try encode(value, forKey: key)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        member(key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        member(key).unkeyedContainer()
    }

    /// Returns this value's own encoder: what a superclass encodes stands beside what its subclass does.
    func superEncoder() -> any Encoder { encoder }

    func superEncoder(forKey key: Key) -> any Encoder { member(key) }

    private func member(_ key: some CodingKey) -> FormEncoder {
        encoder.nested(encoder.node.member(key.stringValue), key)
    }
}

/// Writes elements.
private struct FormUnkeyedContainer: UnkeyedEncodingContainer {
    let encoder: FormEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.node.count }

    func encodeNil() {
        encoder.encodeNil { encoder.node.appendElement() }
    }

    func encode(_ value: some Encodable) throws {
        try element().encode(value)
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        element().container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        element().unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder }

    private func element() -> FormEncoder {
        let index = count
        return encoder.nested(encoder.node.appendElement(), FormIndex(index))
    }
}

/// Writes a single value.
private struct FormSingleValueContainer: SingleValueEncodingContainer {
    let encoder: FormEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() {
        encoder.encodeNil { encoder.node }
    }

    func encode(_ value: some Encodable) throws {
        try encoder.encode(value)
    }
}

/// Names an element in a coding path.
private struct FormIndex: CodingKey {
    let intValue: Int?

    var stringValue: String { intValue.map { "Index \($0)" } ?? "" }

    init(_ index: Int) {
        intValue = index
    }

    init?(stringValue: String) { nil }

    init?(intValue: Int) {
        self.init(intValue)
    }
}
