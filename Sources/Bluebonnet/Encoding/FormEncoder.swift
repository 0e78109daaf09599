import FoundationEssentials

/// Encodes a value into a node.
struct FormEncoder: Encoder {
    /// The maximum nesting depth.
    ///
    /// The limit prevents a stack overflow, because each level needs 2 KiB of stack in a debug build.
    static let maximumDepth = 128

    fileprivate let node: FormNode
    fileprivate let options: URLEncodedFormEncoder
    var codingPath: [any CodingKey] = []
    var depth = 0

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Returns the pairs of a keyed value.
    static func pairs(of value: any Encodable, options: URLEncodedFormEncoder) throws -> String {
        let root = FormNode()
        try FormEncoder(node: root, options: options).encode(value)
        switch root.content {
        case .nothing, .keyed: return FormSerializer(options: options).serialize(root)
        case .text: throw URLEncodedFormEncoder.Error.invalidRootObject("a single value")
        case .unkeyed: throw URLEncodedFormEncoder.Error.invalidRootObject("an array")
        }
    }

    /// Encodes a value as text if the options define a text for it, and with the value's `encode(to:)` otherwise.
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

    /// Writes the text for a missing value, if the options define one.
    fileprivate func encodeNil(into node: () -> FormNode) {
        if let text = options.nilEncoding.text() {
            node().write(text)
        }
    }

    /// Returns the encoder for a node within this encoder's node.
    fileprivate func nested(_ node: FormNode, _ key: any CodingKey) -> FormEncoder {
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
        case is Int, is Int8, is Int16, is Int32, is Int64, is Int128, is UInt, is UInt8, is UInt16, is UInt32,
            is UInt64, is UInt128, is Double, is Float, is Decimal:
            // The cast unwraps optionals.
            (value as? any CustomStringConvertible)?.description
        default: nil
        }
    }
}

/// Writes the members of a keyed value.
private struct FormKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: FormEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) {
        encoder.encodeNil { encoder.node.member(key.stringValue) }
    }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        try member(key).encode(value)
    }

    // Every overload is needed. Otherwise, the compiler would prefer the default implementations to the generic method.
    // The default implementations omit missing values.
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

    /// Returns this value's own encoder, so the members of a superclass are encoded next to those of its subclass.
    func superEncoder() -> any Encoder { encoder }

    func superEncoder(forKey key: Key) -> any Encoder { member(key) }

    private func member(_ key: some CodingKey) -> FormEncoder {
        encoder.nested(encoder.node.member(key.stringValue), key)
    }
}

/// Writes the elements of an array.
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
        return encoder.nested(encoder.node.appendElement(), CodingName(index: index))
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

/// The name of a member or the index of an element in a coding path.
struct CodingName: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(index: Int) {
        stringValue = "Index \(index)"
        intValue = index
    }

    init?(intValue: Int) { nil }
}

/// The content encoded at one position of a form.
///
/// Values may write to a node in any order and any number of times. If a value writes another kind of content, the new
/// content replaces the existing content. The type is not Sendable, because a node exists only during one call of the
/// encoder.
private final class FormNode {
    /// The kinds of content.
    enum Content {
        case nothing
        case text(String)
        case keyed(Members)
        case unkeyed([FormNode])
    }

    /// The members of a keyed value, in the order of their first appearance.
    struct Members {
        private(set) var pairs: [(key: String, node: FormNode)] = []
        private var positions: [String: Int] = [:]

        /// Returns the member with this key, and creates it if necessary.
        mutating func node(for key: String) -> FormNode {
            if let position = positions[key] {
                return pairs[position].node
            }
            let node = FormNode()
            positions[key] = pairs.count
            pairs.append((key, node))
            return node
        }
    }

    private(set) var content = Content.nothing

    /// The number of elements, if this is an array.
    var count: Int { if case .unkeyed(let elements) = content { elements.count } else { 0 } }

    /// Sets the content to a single value.
    func write(_ text: String) {
        content = .text(text)
    }

    /// Returns the member with this key, and creates the member if necessary.
    ///
    /// The content becomes a keyed value.
    func member(_ key: String) -> FormNode {
        var members = Members()
        if case .keyed(let existing) = content { members = existing }
        content = .nothing
        defer { content = .keyed(members) }
        return members.node(for: key)
    }

    /// Appends a new element and returns the element.
    ///
    /// The content becomes an array.
    func appendElement() -> FormNode {
        var elements: [FormNode] = []
        if case .unkeyed(let existing) = content { elements = existing }
        content = .nothing
        let element = FormNode()
        elements.append(element)
        content = .unkeyed(elements)
        return element
    }
}

/// Converts nodes to pairs.
private struct FormSerializer {
    let options: URLEncodedFormEncoder

    /// Returns the pairs of a keyed value.
    func serialize(_ root: FormNode) -> String {
        guard case .keyed(let members) = root.content else { return "" }
        return join(members.pairs.compactMap { serialize($0.node, key: $0.key) })
    }

    /// Returns the pairs of a node, or `nil` if nothing has been written to it.
    private func serialize(_ node: FormNode, key: String) -> String? {
        switch node.content {
        case .nothing:
            return nil
        case .text(let text):
            return "\(escape(options.keyEncoding.convert(key)))=\(escape(text))"
        case .keyed(let members):
            let pairs = members.pairs.compactMap { member in
                serialize(member.node, key: key + options.keyPathEncoding.suffix(member.key))
            }
            return pairs.isEmpty ? nil : join(pairs)
        case .unkeyed(let elements):
            var pairs: [String] = []
            for element in elements {
                // An element without content has no index.
                guard let pair = serialize(element, key: options.arrayEncoding.key(key, at: pairs.count))
                else { continue }
                pairs.append(pair)
            }
            return pairs.isEmpty ? nil : join(pairs)
        }
    }

    private func join(_ pairs: [String]) -> String {
        (options.alphabetizeKeyValuePairs ? pairs.sorted() : pairs).joined(separator: "&")
    }

    private func escape(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if byte == 0x20 && options.spaceEncoding == .plusReplaced {
                bytes.append(0x2b)
            } else if byte != 0x20 && options.allowedCharacters.contains(byte) {
                bytes.append(byte)
            } else {
                PercentEncoding.append(byte, to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
