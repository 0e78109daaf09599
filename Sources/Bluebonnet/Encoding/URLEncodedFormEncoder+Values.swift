public import FoundationEssentials

extension URLEncodedFormEncoder {
    /// Says how truth values come out.
    @nonexhaustive
    public enum BoolEncoding: Hashable, Sendable {
        /// As `1` and `0`.
        case numeric
        /// As `true` and `false`.
        case literal

        /// Returns the text for a truth value.
        func text(for flag: Bool) -> String {
            switch self {
            case .numeric: flag ? "1" : "0"
            case .literal: flag ? "true" : "false"
            }
        }
    }

    /// Says how `Data` comes out.
    @nonexhaustive
    public enum DataEncoding: Sendable {
        /// As `Data` encodes itself: an array of numbers.
        case deferredToData
        /// In Base64.
        case base64
        /// As the closure says.
        case custom(@Sendable (Data) throws -> String)

        /// Returns the text for the bytes, or nil when they encode themselves.
        func text(for data: Data) throws -> String? {
            switch self {
            case .deferredToData: nil
            case .base64: data.base64EncodedString()
            case .custom(let encode): try encode(data)
            }
        }
    }

    /// Says how dates come out.
    @nonexhaustive
    public enum DateEncoding: Sendable {
        /// As `Date` encodes itself: seconds since the start of 2001.
        case deferredToDate
        /// As seconds since the start of 1970.
        case secondsSince1970
        /// As milliseconds since the start of 1970.
        case millisecondsSince1970
        /// As date and time in UTC (RFC 3339), such as `2001-01-01T00:02:03Z`.
        case iso8601
        /// As the closure says.
        case custom(@Sendable (Date) throws -> String)

        /// Returns the option to let dates come out as a format style writes them.
        ///
        /// - Parameter style: The style, such as `Date.ISO8601FormatStyle`.
        /// - Returns: The option.
        public static func formatted<Style: FormatStyle>(_ style: Style) -> DateEncoding
        where Style: Sendable, Style.FormatInput == Date, Style.FormatOutput == String {
            .custom { style.format($0) }
        }

        /// Returns the text for the date, or nil when it encodes itself.
        func text(for date: Date) throws -> String? {
            switch self {
            case .deferredToDate: nil
            case .secondsSince1970: "\(date.timeIntervalSince1970)"
            case .millisecondsSince1970: "\(date.timeIntervalSince1970 * 1000)"
            case .iso8601: date.formatted(Date.ISO8601FormatStyle())
            case .custom(let encode): try encode(date)
            }
        }
    }

    /// Says how a missing value comes out.
    ///
    /// This goes for optionals everywhere: members, elements of arrays, values of dictionaries.
    public struct NilEncoding: Sendable {
        /// Leaves out the key.
        public static let dropKey = NilEncoding { nil }
        /// Keeps the key, with nothing after the `=`.
        public static let dropValue = NilEncoding { "" }
        /// Writes `null`.
        public static let null = NilEncoding { "null" }

        /// Returns the text for a missing value, or nil to leave out the key.
        let text: @Sendable () -> String?

        /// Creates an option.
        ///
        /// - Parameter encode: Returns the text for a missing value, or `nil` to leave out the key.
        public init(_ encode: @escaping @Sendable () -> String?) {
            text = encode
        }
    }

    /// Says how spaces come out.
    @nonexhaustive
    public enum SpaceEncoding: Hashable, Sendable {
        /// As `%20`.
        case percentEscaped
        /// As `+`.
        case plusReplaced
    }

    /// Holds the ASCII characters that come out as they are.
    ///
    /// Characters that are not ASCII are always percent-encoded; spaces are ``SpaceEncoding``'s.
    public struct AllowedCharacters: Hashable, Sendable {
        /// What a query's keys and values can hold: letters, digits and `-._~/?` (RFC 3986 §3.4).
        public static let queryParameters = AllowedCharacters(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/?")

        private var bits: (low: UInt64, high: UInt64) = (0, 0)

        /// Creates a set.
        ///
        /// - Parameter characters: The characters; those that are not ASCII are ignored.
        public init(_ characters: String) {
            insert(characters)
        }

        /// Adds characters.
        ///
        /// - Parameter characters: The characters; those that are not ASCII are ignored.
        public mutating func insert(_ characters: String) {
            for byte in characters.utf8 where byte < 0x80 {
                if byte < 64 { bits.low |= 1 << UInt64(byte) } else { bits.high |= 1 << UInt64(byte - 64) }
            }
        }

        /// Takes characters out.
        ///
        /// - Parameter characters: The characters.
        public mutating func remove(_ characters: String) {
            for byte in characters.utf8 where byte < 0x80 {
                if byte < 64 { bits.low &= ~(1 << UInt64(byte)) } else { bits.high &= ~(1 << UInt64(byte - 64)) }
            }
        }

        /// Returns whether the byte comes out as it is.
        func contains(_ byte: UInt8) -> Bool {
            switch byte {
            case 0..<64: bits.low >> UInt64(byte) & 1 == 1
            case 64..<128: bits.high >> UInt64(byte - 64) & 1 == 1
            default: false
            }
        }

        /// Returns whether two sets hold the same characters.
        public static func == (left: AllowedCharacters, right: AllowedCharacters) -> Bool {
            left.bits == right.bits
        }

        /// Feeds the characters to a hasher.
        ///
        /// - Parameter hasher: The hasher.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(bits.low)
            hasher.combine(bits.high)
        }
    }
}
