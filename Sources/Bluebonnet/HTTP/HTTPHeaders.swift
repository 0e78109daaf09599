import FoundationEssentials

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
    public mutating func append(name: String, value: String) {
        fields.append(HTTPHeader(name: name, value: value))
    }

    /// Appends a field; fields of the same name stay.
    ///
    /// - Parameter header: The field.
    public mutating func append(_ header: HTTPHeader) {
        fields.append(header)
    }

    /// Appends a field; fields of the same name stay.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    @available(*, deprecated, message: "append keeps fields of the same name, update replaces them")
    @_disfavoredOverload  // BluebonnetCompatibility has Alamofire's, which replaces fields.
    public mutating func add(name: String, value: String) { append(name: name, value: value) }

    /// Appends a field; fields of the same name stay.
    ///
    /// - Parameter header: The field.
    @available(*, deprecated, message: "append keeps fields of the same name, update replaces them")
    @_disfavoredOverload  // BluebonnetCompatibility has Alamofire's, which replaces fields.
    public mutating func add(_ header: HTTPHeader) { append(header) }

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
    public mutating func sort() { self = sorted() }

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
    /// Joined `Set-Cookie` values cannot be split again: use ``values(for:)`` for `Set-Cookie`.
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
    public func contains(_ name: String) -> Bool { firstIndex(of: name) != nil }

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

extension HTTPHeaders: Described, CustomReflectable {
    /// A line for each field, with the values of fields that carry secrets redacted.
    package var text: String {
        fields.map(\.description).joined(separator: "\n")
    }

    /// A mirror of the fields, each of which shows no secret.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: fields, displayStyle: .collection) }
}

/// Pairs the name of a field with a value (RFC 9110 §5).
///
/// Two headers are equal when their names are the same but for ASCII case and their values are the same byte for byte.
public struct HTTPHeader: Sendable {
    /// The field's name; its case does not matter.
    public let name: String

    /// The field's value.
    public let value: String

    /// Creates a header.
    ///
    /// Nothing is checked here: what cannot be sent is refused when the request is started.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Checks that the header can be sent.
    package func validate() throws(RequestError) {
        guard name.utf8.isToken else { throw RequestError(.invalidRequest(.fieldName(name))) }
        guard value.utf8.isFieldValue else { throw RequestError(.invalidRequest(.fieldValue(name: name))) }
    }

    /// Whether fields of this name carry secrets, which no description may show.
    package static func isSensitive(name: String) -> Bool { SecretNames.isSecretField(name) }
}

extension HTTPHeader: Hashable {
    /// Returns whether two headers have the same name, whatever its case, and the same value.
    public static func == (left: HTTPHeader, right: HTTPHeader) -> Bool {
        left.name.isSameIgnoringCase(as: right.name) && left.value == right.value
    }

    /// Feeds the name in lower case, and the value, to a hasher.
    ///
    /// - Parameter hasher: The hasher.
    public func hash(into hasher: inout Hasher) {
        for byte in name.utf8 {
            hasher.combine(FieldSyntax.lowercased(byte))
        }
        hasher.combine(value)
    }
}

extension HTTPHeader: SecretKeeping {
    /// The header as `Name: value`, without its secrets.
    ///
    /// The value of a field that carries secrets by its name is redacted; one that holds a URL is redacted like a URL.
    package var text: String { "\(name): \(Redaction.fieldValue(self))" }

    package var shownParts: KeyValuePairs<String, Any> { ["name": name, "value": Redaction.fieldValue(self)] }
}

extension HTTPHeader {
    /// Returns an `Accept` header.
    ///
    /// - Parameter value: The media types, such as `application/json`.
    /// - Returns: The header.
    public static func accept(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept", value: value) }

    /// Returns an `Accept-Charset` header.
    ///
    /// - Parameter value: The character encodings.
    /// - Returns: The header.
    public static func acceptCharset(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept-Charset", value: value) }

    /// Returns an `Accept-Language` header.
    ///
    /// - Parameter value: The languages.
    /// - Returns: The header.
    public static func acceptLanguage(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Language", value: value)
    }

    /// Returns an `Accept-Encoding` header.
    ///
    /// A request that has its own receives bodies in the content codings that it names; what libcurl can decode is
    /// decoded.
    ///
    /// - Parameter value: The content codings.
    /// - Returns: The header.
    public static func acceptEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Encoding", value: value)
    }

    /// Returns an `Authorization` header for the Basic scheme (RFC 7617).
    ///
    /// - Parameters:
    ///   - username: The name, in which no colon can be sent.
    ///   - password: The password.
    /// - Returns: The header.
    public static func authorization(username: String, password: String) -> HTTPHeader {
        authorization("Basic " + Data("\(username):\(password)".utf8).base64EncodedString())
    }

    /// Returns an `Authorization` header for the Bearer scheme (RFC 6750).
    ///
    /// - Parameter bearerToken: The token.
    /// - Returns: The header.
    public static func authorization(bearerToken: String) -> HTTPHeader { authorization("Bearer \(bearerToken)") }

    /// Returns an `Authorization` header.
    ///
    /// - Parameter value: The scheme and what it needs.
    /// - Returns: The header.
    public static func authorization(_ value: String) -> HTTPHeader { HTTPHeader(name: "Authorization", value: value) }

    /// Returns a `Content-Disposition` header.
    ///
    /// - Parameter value: The disposition.
    /// - Returns: The header.
    public static func contentDisposition(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Disposition", value: value)
    }

    /// Returns a `Content-Encoding` header.
    ///
    /// - Parameter value: The content codings that were applied to the body.
    /// - Returns: The header.
    public static func contentEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Encoding", value: value)
    }

    /// Returns a `Content-Type` header.
    ///
    /// - Parameter value: The media type of the body.
    /// - Returns: The header.
    public static func contentType(_ value: String) -> HTTPHeader { HTTPHeader(name: "Content-Type", value: value) }

    /// Returns a `User-Agent` header.
    ///
    /// - Parameter value: The products.
    /// - Returns: The header.
    public static func userAgent(_ value: String) -> HTTPHeader { HTTPHeader(name: "User-Agent", value: value) }

    /// Returns a `Sec-WebSocket-Protocol` header (RFC 6455 §11.3.4).
    ///
    /// - Parameter value: The subprotocols.
    /// - Returns: The header.
    public static func websocketProtocol(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Sec-WebSocket-Protocol", value: value)
    }
}

extension HTTPHeader {
    /// The languages that the process's environment asks for, most wanted first.
    ///
    /// Read once, from `LANGUAGE`, `LC_ALL`, `LC_MESSAGES` and `LANG` as gettext does: at most six, such as
    /// `de-DE;q=1.0, en;q=0.9`; English where the environment names none.
    package static let defaultAcceptLanguage = acceptLanguage(
        languages(in: ProcessInfo.processInfo.environment).enumerated()
            .map { "\($1);q=\($0 == 0 ? "1.0" : "0.\(10 - $0)")" }
            .joined(separator: ", "))

    /// The content codings that are decoded, such as `br;q=1.0, gzip;q=0.9, deflate;q=0.8` (RFC 9110 §12.5.3).
    package static let defaultAcceptEncoding = acceptEncoding(ContentCoding.acceptable)

    /// Names the program and this library, such as `weather Bluebonnet/0.1.0` (RFC 9110 §10.1.5).
    package static let defaultUserAgent = userAgent(userAgent(program: CommandLine.arguments.first))

    /// Returns the language tags (RFC 5646) that an environment asks for.
    package static func languages(in environment: [String: String]) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? "C"
        // The list is not looked at in the C locale.
        guard languageTag(locale) != nil else { return ["en"] }
        var tags: [String] = []
        let wanted = (environment["LANGUAGE"] ?? "").split(separator: ":") + [locale[...]]
        for tag in wanted.compactMap({ languageTag($0) }) where !tags.contains(tag) {
            tags.append(tag)
        }
        return Array(tags.prefix(6))
    }

    /// Returns the language tag for a locale such as `de_DE.UTF-8@euro`, or nil for the C locale and what is no locale.
    private static func languageTag(_ locale: some StringProtocol) -> String? {
        let name = locale.prefix { $0 != "." && $0 != "@" }
        guard name != "C", name != "POSIX" else { return nil }
        let subtags = name.split(separator: "_", omittingEmptySubsequences: false).flatMap { $0.split(separator: "-") }
        let isTag = subtags.allSatisfy { subtag in
            (1...8).contains(subtag.utf8.count) && subtag.utf8.allSatisfy { FieldSyntax.isAlphanumeric($0) }
        }
        guard isTag, let language = subtags.first, language.utf8.count >= 2 else { return nil }
        return subtags.joined(separator: "-")
    }

    /// Returns the value of a `User-Agent` field for a program; it does not reveal the system that the program runs on.
    package static func userAgent(program: String?) -> String {
        let name = String((program ?? "").split(separator: "/").last ?? "").utf8.map { byte in
            FieldSyntax.isTokenByte(byte) ? Character(UnicodeScalar(byte)) : "_"
        }
        return "\(name.isEmpty ? "Unknown" : String(name)) Bluebonnet/\(BluebonnetInfo.version)"
    }
}

extension HTTPHeaders {
    /// The fields of every request: `Accept-Encoding`, `Accept-Language` and `User-Agent`.
    public static let `default`: HTTPHeaders = [
        .defaultAcceptEncoding, .defaultAcceptLanguage, .defaultUserAgent,
    ]
}
