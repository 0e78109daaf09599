import FoundationEssentials

/// The header fields of a request or a response.
///
/// The collection keeps the order of the fields, and several fields can have the same name. Names are compared without
/// regard to ASCII case. Each field keeps the original case of its name.
public struct HTTPHeaders: Sendable {
    private var fields: [HTTPHeader]

    /// Creates an empty collection.
    public init() {
        fields = []
    }

    /// Creates a collection of header fields; several fields can have the same name.
    ///
    /// - Parameter headers: The header fields in their order.
    public init(_ headers: [HTTPHeader]) {
        fields = headers
    }

    /// Creates a collection from a dictionary, with the fields sorted by name.
    ///
    /// - Parameter dictionary: The values by field name.
    public init(_ dictionary: [String: String]) {
        fields = dictionary.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) }
    }

    /// Appends a field and keeps the existing fields of the same name.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - value: The value of the field.
    public mutating func append(name: String, value: String) {
        fields.append(HTTPHeader(name: name, value: value))
    }

    /// Appends a field and keeps the existing fields of the same name.
    ///
    /// - Parameter header: The field to append.
    public mutating func append(_ header: HTTPHeader) {
        fields.append(header)
    }

    /// Appends a field and keeps the existing fields of the same name.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    @available(*, deprecated, message: "append keeps fields of the same name, update replaces them")
    @_disfavoredOverload  // BluebonnetCompatibility has Alamofire's, which replaces fields.
    public mutating func add(name: String, value: String) { append(name: name, value: value) }

    /// Appends a field and keeps the existing fields of the same name.
    ///
    /// - Parameter header: The field.
    @available(*, deprecated, message: "append keeps fields of the same name, update replaces them")
    @_disfavoredOverload  // BluebonnetCompatibility has Alamofire's, which replaces fields.
    public mutating func add(_ header: HTTPHeader) { append(header) }

    /// Replaces all fields of a name with a single field, or appends the field if no field has this name.
    ///
    /// The new field takes the position of the first replaced field.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - value: The new value.
    public mutating func update(name: String, value: String) {
        update(HTTPHeader(name: name, value: value))
    }

    /// Replaces all fields of the same name with a single field, or appends the field if no field has this name.
    ///
    /// The new field takes the position of the first replaced field.
    ///
    /// - Parameter header: The new field.
    public mutating func update(_ header: HTTPHeader) {
        guard let index = firstIndex(of: header.name) else { return fields.append(header) }
        fields[index] = header
        var position = index
        fields.removeAll {
            defer { position -= 1 }
            return position < 0 && $0.name.isSameIgnoringCase(as: header.name)
        }
    }

    /// Removes all fields of a name.
    ///
    /// - Parameter name: The name of the fields, in any case.
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

    /// Returns the values of all fields of a name, joined with `, ` (RFC 9110 §5.3).
    ///
    /// Use ``values(for:)`` for `Set-Cookie`, because joined `Set-Cookie` values cannot be separated again.
    ///
    /// - Parameter name: The name of the fields, in any case.
    /// - Returns: The joined values, or `nil` if there is no field of this name.
    public func value(for name: String) -> String? {
        guard let index = firstIndex(of: name) else { return nil }
        var value = fields[index].value
        for field in fields[(index + 1)...] where field.name.isSameIgnoringCase(as: name) {
            value += ", " + field.value
        }
        return value
    }

    /// Returns the values of all fields of a name, in their order.
    ///
    /// - Parameter name: The name of the fields, in any case.
    /// - Returns: The values; empty if there is no field of this name.
    public func values(for name: String) -> [String] {
        fields.filter { $0.name.isSameIgnoringCase(as: name) }.map(\.value)
    }

    /// Returns whether the collection contains a field of a name.
    ///
    /// - Parameter name: The name of the field, in any case.
    /// - Returns: Whether there is at least one field of this name.
    public func contains(_ name: String) -> Bool { firstIndex(of: name) != nil }

    /// The values of all fields of a name, joined with `, `.
    ///
    /// Setting a value replaces all fields of the name. Setting `nil` removes all fields of the name.
    ///
    /// - Parameter name: The name of the fields, in any case.
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

    /// A dictionary of the field values by field name; the values of several fields with the same name are joined with
    /// `, `.
    ///
    /// Field names that differ only in case share a key. The key is spelled like the name of the first of these fields.
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
    /// - Parameter position: A position from ``startIndex`` up to, but not including, ``endIndex``.
    public subscript(position: Int) -> HTTPHeader { fields[position] }
}

extension HTTPHeaders: Hashable {}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// Creates a collection from names and values, in their order.
    ///
    /// - Parameter elements: The names and values of the fields.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { HTTPHeader(name: $0, value: $1) }
    }
}

extension HTTPHeaders: ExpressibleByArrayLiteral {
    /// Creates a collection of header fields, in their order.
    ///
    /// - Parameter elements: The header fields.
    public init(arrayLiteral elements: HTTPHeader...) {
        fields = elements
    }
}

extension HTTPHeaders: Described, CustomReflectable {
    /// One line for each field, with secret values redacted.
    package var text: String {
        fields.map(\.description).joined(separator: "\n")
    }

    /// A mirror of all fields; the values of secret fields are hidden.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: fields, displayStyle: .collection) }
}

/// A header field with a name and a value (RFC 9110 §5).
///
/// Two fields are equal if their names are equal without regard to ASCII case and their values are equal.
public struct HTTPHeader: Sendable {
    /// The name of the field; its case is not significant.
    public let name: String

    /// The value of the field.
    public let value: String

    /// Creates a header field.
    ///
    /// The initializer does not validate the field. A request with an invalid field fails when the request starts.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - value: The value of the field.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Checks that the field can be sent.
    package func validate() throws(RequestError) {
        guard name.utf8.isToken else { throw RequestError(.invalidRequest(.fieldName(name))) }
        guard value.utf8.isFieldValue else { throw RequestError(.invalidRequest(.fieldValue(name: name))) }
    }

    /// Whether fields of this name contain secrets, so that descriptions must hide their values.
    package static func isSensitive(name: String) -> Bool { SecretNames.isSecretField(name) }
}

extension HTTPHeader: Hashable {
    /// Returns whether two fields have the same value and, without regard to ASCII case, the same name.
    public static func == (left: HTTPHeader, right: HTTPHeader) -> Bool {
        left.name.isSameIgnoringCase(as: right.name) && left.value == right.value
    }

    /// Hashes the name and the value.
    ///
    /// The ASCII case of the name is ignored.
    ///
    /// - Parameter hasher: The hasher to use.
    public func hash(into hasher: inout Hasher) {
        for byte in name.utf8 {
            hasher.combine(FieldSyntax.lowercased(byte))
        }
        hasher.combine(value)
    }
}

extension HTTPHeader: SecretKeeping {
    /// The field as `Name: value`, without its secrets.
    ///
    /// The value is redacted if the field's name or the value itself indicates a secret. If the value contains a URL,
    /// the user info and the query values of the URL are redacted.
    package var text: String { "\(name): \(Redaction.fieldValue(self))" }

    package var shownParts: KeyValuePairs<String, Any> { ["name": name, "value": Redaction.fieldValue(self)] }
}

extension HTTPHeader {
    /// Returns an `Accept` field.
    ///
    /// - Parameter value: The media types, such as `application/json`.
    /// - Returns: The `Accept` field.
    public static func accept(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept", value: value) }

    /// Returns an `Accept-Charset` field.
    ///
    /// - Parameter value: The character encodings, such as `utf-8`.
    /// - Returns: The `Accept-Charset` field.
    public static func acceptCharset(_ value: String) -> HTTPHeader { HTTPHeader(name: "Accept-Charset", value: value) }

    /// Returns an `Accept-Language` field.
    ///
    /// - Parameter value: The languages, such as `de-DE, en;q=0.9`.
    /// - Returns: The `Accept-Language` field.
    public static func acceptLanguage(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Language", value: value)
    }

    /// Returns an `Accept-Encoding` field.
    ///
    /// The server can encode the response body with any content coding in this field. Bluebonnet decodes gzip and
    /// deflate. Bluebonnet also decodes br and zstd if the system has the libraries for these codings. Without the
    /// library, the request fails with `.invalidResponse(.undecodableContent)`. A body with any other coding is
    /// delivered with this coding; see ``HTTPResponse/remainingContentCodings``. If
    /// ``Session/Configuration/decodesContent`` is `false`, Bluebonnet does not decode bodies.
    ///
    /// - Parameter value: The content codings, such as `gzip`.
    /// - Returns: The `Accept-Encoding` field.
    public static func acceptEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Encoding", value: value)
    }

    /// Returns an `Authorization` field for the Basic scheme (RFC 7617).
    ///
    /// - Parameters:
    ///   - username: The user name; it must not contain a colon.
    ///   - password: The password of the user.
    /// - Returns: The `Authorization` field.
    public static func authorization(username: String, password: String) -> HTTPHeader {
        authorization("Basic " + Data("\(username):\(password)".utf8).base64EncodedString())
    }

    /// Returns an `Authorization` field for the Bearer scheme (RFC 6750).
    ///
    /// - Parameter bearerToken: The token, without the scheme.
    /// - Returns: The `Authorization` field.
    public static func authorization(bearerToken: String) -> HTTPHeader { authorization("Bearer \(bearerToken)") }

    /// Returns an `Authorization` field.
    ///
    /// - Parameter value: The scheme followed by its parameters.
    /// - Returns: The `Authorization` field.
    public static func authorization(_ value: String) -> HTTPHeader { HTTPHeader(name: "Authorization", value: value) }

    /// Returns a `Content-Disposition` field.
    ///
    /// - Parameter value: The disposition, such as `attachment`.
    /// - Returns: The `Content-Disposition` field.
    public static func contentDisposition(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Disposition", value: value)
    }

    /// Returns a `Content-Encoding` field.
    ///
    /// - Parameter value: The content codings that were applied to the body, such as `gzip`.
    /// - Returns: The `Content-Encoding` field.
    public static func contentEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Encoding", value: value)
    }

    /// Returns a `Content-Type` field.
    ///
    /// - Parameter value: The media type of the body, such as `application/json`.
    /// - Returns: The `Content-Type` field.
    public static func contentType(_ value: String) -> HTTPHeader { HTTPHeader(name: "Content-Type", value: value) }

    /// Returns a `User-Agent` field.
    ///
    /// - Parameter value: The product identifiers, such as `weather/1.0`.
    /// - Returns: The `User-Agent` field.
    public static func userAgent(_ value: String) -> HTTPHeader { HTTPHeader(name: "User-Agent", value: value) }

    /// Returns a `Sec-WebSocket-Protocol` field (RFC 6455 §11.3.4).
    ///
    /// - Parameter value: The subprotocols.
    /// - Returns: The `Sec-WebSocket-Protocol` field.
    public static func websocketProtocol(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Sec-WebSocket-Protocol", value: value)
    }
}

extension HTTPHeader {
    /// An `Accept-Language` field with the languages of the process's environment, in order of preference.
    ///
    /// Bluebonnet reads the variables `LANGUAGE`, `LC_ALL`, `LC_MESSAGES` and `LANG` once, by the rules of gettext. The
    /// field has at most six languages, such as `de-DE;q=1.0, en;q=0.9`. If the environment specifies no language, the
    /// default is English.
    package static let defaultAcceptLanguage = acceptLanguage(
        languages(in: ProcessInfo.processInfo.environment).enumerated()
            .map { "\($1);q=\($0 == 0 ? "1.0" : "0.\(10 - $0)")" }
            .joined(separator: ", "))

    /// An `Accept-Encoding` field with the content codings that Bluebonnet decodes (RFC 9110 §12.5.3).
    ///
    /// An example of the value is `br;q=1.0, gzip;q=0.9, deflate;q=0.8`.
    package static let defaultAcceptEncoding = acceptEncoding(ContentCoding.acceptable)

    /// A `User-Agent` field with the program and this library, such as `weather Bluebonnet/0.1.0` (RFC 9110 §10.1.5).
    package static let defaultUserAgent = userAgent(userAgent(program: CommandLine.arguments.first))

    /// Returns the language tags (RFC 5646) that an environment specifies.
    package static func languages(in environment: [String: String]) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? "C"
        // In the C locale, gettext ignores `LANGUAGE`.
        guard languageTag(locale) != nil else { return ["en"] }
        var tags: [String] = []
        let wanted = (environment["LANGUAGE"] ?? "").split(separator: ":") + [locale[...]]
        for tag in wanted.compactMap({ languageTag($0) }) where !tags.contains(tag) {
            tags.append(tag)
        }
        return Array(tags.prefix(6))
    }

    /// Returns the language tag for a locale such as `de_DE.UTF-8@euro`; `nil` for the C locale and for an invalid
    /// locale.
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

    /// Returns the value of a `User-Agent` field for a program, without the name of the operating system.
    package static func userAgent(program: String?) -> String {
        let name = String((program ?? "").split(separator: "/").last ?? "").utf8.map { byte in
            FieldSyntax.isTokenByte(byte) ? Character(UnicodeScalar(byte)) : "_"
        }
        return "\(name.isEmpty ? "Unknown" : String(name)) Bluebonnet/\(BluebonnetInfo.version)"
    }
}

extension HTTPHeaders {
    /// The default header fields: `Accept-Encoding`, `Accept-Language` and `User-Agent`.
    public static let `default`: HTTPHeaders = [
        .defaultAcceptEncoding, .defaultAcceptLanguage, .defaultUserAgent,
    ]
}
