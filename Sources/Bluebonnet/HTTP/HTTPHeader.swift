import FoundationEssentials

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

extension HTTPHeader: CustomStringConvertible, CustomReflectable {
    /// The header as `Name: value`, without its secrets.
    ///
    /// The value of a field that carries secrets by its name is redacted; one that holds a URL is redacted like a URL.
    public var description: String { "\(name): \(Redaction.fieldValue(self))" }

    /// A mirror that shows no more than ``description``.
    public var customMirror: Mirror {
        Mirror(self, children: ["name": name, "value": Redaction.fieldValue(self)], displayStyle: .struct)
    }
}

extension HTTPHeader {
    /// Returns an `Accept` header.
    ///
    /// - Parameter value: The media types, such as `application/json`.
    /// - Returns: The header.
    public static func accept(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept", value: value)
    }

    /// Returns an `Accept-Charset` header.
    ///
    /// - Parameter value: The character encodings.
    /// - Returns: The header.
    public static func acceptCharset(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Charset", value: value)
    }

    /// Returns an `Accept-Language` header.
    ///
    /// - Parameter value: The languages; ``defaultAcceptLanguage`` is what the environment asks for.
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
    public static func authorization(bearerToken: String) -> HTTPHeader {
        authorization("Bearer \(bearerToken)")
    }

    /// Returns an `Authorization` header.
    ///
    /// - Parameter value: The scheme and what it needs.
    /// - Returns: The header.
    public static func authorization(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Authorization", value: value)
    }

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
    public static func contentType(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Type", value: value)
    }

    /// Returns a `User-Agent` header.
    ///
    /// - Parameter value: The products; ``defaultUserAgent`` is what sessions send.
    /// - Returns: The header.
    public static func userAgent(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "User-Agent", value: value)
    }

    /// Returns a `Sec-WebSocket-Protocol` header (RFC 6455 §11.3.4).
    ///
    /// - Parameter value: The subprotocols.
    /// - Returns: The header.
    public static func websocketProtocol(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Sec-WebSocket-Protocol", value: value)
    }
}
