/// Keeps the fields of a request or a response in order, repeated ones included.
///
/// Names are compared without regard to ASCII case, and keep the case that they were added with.
public struct HTTPHeaders: Sendable {
    private var fields: [HTTPHeader]

    /// Creates an empty collection.
    public init() {
        fields = []
    }

    /// Creates a collection of headers, which keeps their order and repetitions.
    ///
    /// - Parameter headers: The headers.
    public init(_ headers: [HTTPHeader]) {
        fields = headers
    }

    /// Creates a collection from names and values, sorted by name.
    ///
    /// - Parameter dictionary: The values by name.
    public init(_ dictionary: [String: String]) {
        fields = dictionary.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) }
    }

    /// Appends a field; fields of the same name stay.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public mutating func add(name: String, value: String) {
        fields.append(HTTPHeader(name: name, value: value))
    }

    /// Appends a field; fields of the same name stay.
    ///
    /// - Parameter header: The field.
    public mutating func add(_ header: HTTPHeader) {
        fields.append(header)
    }

    /// Replaces all fields of the name by one, in the place of the first, or appends it.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public mutating func update(name: String, value: String) {
        update(HTTPHeader(name: name, value: value))
    }

    /// Replaces all fields of the header's name by it, in the place of the first, or appends it.
    ///
    /// - Parameter header: The field.
    public mutating func update(_ header: HTTPHeader) {
        guard let index = firstIndex(of: header.name) else { return fields.append(header) }
        fields[index] = header
        var position = index
        fields.removeAll {
            defer { position -= 1 }
            return position < 0 && $0.name.isSameIgnoringCase(as: header.name)
        }
    }

    /// Removes all fields of the name.
    ///
    /// - Parameter name: The name.
    public mutating func remove(name: String) {
        fields.removeAll { $0.name.isSameIgnoringCase(as: name) }
    }

    /// Sorts the fields by name without regard to case; fields of the same name keep their order.
    public mutating func sort() {
        self = sorted()
    }

    /// Returns the fields sorted by name without regard to case; fields of the same name keep their order.
    ///
    /// - Returns: The sorted fields.
    public func sorted() -> HTTPHeaders {
        HTTPHeaders(
            fields.map { (key: $0.name.lowercased(), field: $0) }
                .sorted { $0.key < $1.key }
                .map(\.field))
    }

    /// Returns the values of all fields of the name, joined with `, ` (RFC 9110 §5.3).
    ///
    /// The values of `Set-Cookie` cannot be told apart once joined: use ``values(for:)`` for that one.
    ///
    /// - Parameter name: The name.
    /// - Returns: The value, or `nil` when there is no field of the name.
    public func value(for name: String) -> String? {
        guard let index = firstIndex(of: name) else { return nil }
        var value = fields[index].value
        for field in fields[(index + 1)...] where field.name.isSameIgnoringCase(as: name) {
            value += ", " + field.value
        }
        return value
    }

    /// Returns the values of all fields of the name, in order.
    ///
    /// - Parameter name: The name.
    /// - Returns: The values; none when there is no field of the name.
    public func values(for name: String) -> [String] {
        fields.filter { $0.name.isSameIgnoringCase(as: name) }.map(\.value)
    }

    /// Returns whether there is a field of the name.
    ///
    /// - Parameter name: The name.
    /// - Returns: Whether there is one.
    public func contains(_ name: String) -> Bool {
        firstIndex(of: name) != nil
    }

    /// The joined values of the name; setting replaces all fields of the name, and `nil` removes them.
    ///
    /// - Parameter name: The name.
    public subscript(name: String) -> String? {
        get { value(for: name) }
        set {
            if let newValue {
                update(name: name, value: newValue)
            } else {
                remove(name: name)
            }
        }
    }

    /// The joined values by name, in the case in which each name came first.
    public var dictionary: [String: String] {
        var names: [String: String] = [:]
        var values: [String: String] = [:]
        for field in fields {
            let name = names[field.name.lowercased(), default: field.name]
            names[field.name.lowercased()] = name
            values[name] = values[name].map { "\($0), \(field.value)" } ?? field.value
        }
        return values
    }

    /// Checks that all fields can be sent.
    package func validate() throws(RequestError) {
        for field in fields {
            try field.validate()
        }
    }

    private func firstIndex(of name: String) -> Int? {
        fields.firstIndex { $0.name.isSameIgnoringCase(as: name) }
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The position of the first field.
    public var startIndex: Int { fields.startIndex }

    /// The position after the last field.
    public var endIndex: Int { fields.endIndex }

    /// The field at a position.
    ///
    /// - Parameter position: A position between ``startIndex`` and ``endIndex``.
    public subscript(position: Int) -> HTTPHeader { fields[position] }
}

extension HTTPHeaders: Hashable {}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// Creates a collection from names and values, in their order.
    ///
    /// - Parameter elements: The names and values.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { HTTPHeader(name: $0, value: $1) }
    }
}

extension HTTPHeaders: ExpressibleByArrayLiteral {
    /// Creates a collection of headers, in their order.
    ///
    /// - Parameter elements: The headers.
    public init(arrayLiteral elements: HTTPHeader...) {
        fields = elements
    }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
    /// A line for each field, with the values of fields that carry secrets redacted.
    public var description: String {
        fields.map(\.description).joined(separator: "\n")
    }

    /// A mirror of the fields, each of which shows no secret.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: fields, displayStyle: .collection) }
}
