public import FoundationEssentials

/// Encodes values as `key=value` pairs joined by `&`, as HTML forms do.
///
/// There is no standard for nested values: the options say how arrays, nested keys and values of some types come out.
/// The value to encode has to have keys: a struct, a class, a dictionary.
public struct URLEncodedFormEncoder: Sendable {
    /// Says why a value could not be encoded.
    @nonexhaustive
    public enum Error: Swift.Error, Hashable, Sendable {
        /// The value has no keys: it is an array or a single value, as the text says.
        case invalidRootObject(String)
        /// Values are nested in values deeper than the limit, perhaps without end.
        case nestedTooDeeply(limit: Int)
    }

    /// Whether the pairs are sorted, at each level of nesting; otherwise they keep the order of encoding.
    ///
    /// Sorted are the encoded pairs, as text. That goes for the elements of an array too: where their order matters, turn
    /// this off.
    package let alphabetizeKeyValuePairs: Bool

    /// How the keys of an array's elements are made.
    package let arrayEncoding: ArrayEncoding

    /// How truth values come out.
    package let boolEncoding: BoolEncoding

    /// How `Data` comes out.
    package let dataEncoding: DataEncoding

    /// How dates come out.
    package let dateEncoding: DateEncoding

    /// How whole keys, with the keys around them, are converted.
    package let keyEncoding: KeyEncoding

    /// How a nested key is appended to the key around it.
    package let keyPathEncoding: KeyPathEncoding

    /// How a missing value comes out.
    package let nilEncoding: NilEncoding

    /// How spaces come out.
    package let spaceEncoding: SpaceEncoding

    /// The characters that come out as they are; all others are percent-encoded.
    package let allowedCharacters: AllowedCharacters

    /// Creates an encoder.
    ///
    /// - Parameters:
    ///   - alphabetizeKeyValuePairs: Whether the pairs are sorted, elements of arrays included; they are by default.
    ///   - arrayEncoding: How the keys of an array's elements are made; with `[]` by default.
    ///   - boolEncoding: How truth values come out; as `1` and `0` by default.
    ///   - dataEncoding: How `Data` comes out; in Base64 by default.
    ///   - dateEncoding: How dates come out; as seconds since the start of 2001 by default.
    ///   - keyEncoding: How whole keys are converted; not at all by default.
    ///   - keyPathEncoding: How a nested key is appended to the key around it; in brackets by default.
    ///   - nilEncoding: How a missing value comes out; its key is left out by default.
    ///   - spaceEncoding: How spaces come out; as `%20` by default.
    ///   - allowedCharacters: The characters that come out as they are; letters, digits and `-._~/?` by default.
    public init(
        alphabetizeKeyValuePairs: Bool = true,
        arrayEncoding: ArrayEncoding = .brackets,
        boolEncoding: BoolEncoding = .numeric,
        dataEncoding: DataEncoding = .base64,
        dateEncoding: DateEncoding = .deferredToDate,
        keyEncoding: KeyEncoding = .useDefaultKeys,
        keyPathEncoding: KeyPathEncoding = .brackets,
        nilEncoding: NilEncoding = .dropKey,
        spaceEncoding: SpaceEncoding = .percentEscaped,
        allowedCharacters: AllowedCharacters = .queryParameters
    ) {
        self.alphabetizeKeyValuePairs = alphabetizeKeyValuePairs
        self.arrayEncoding = arrayEncoding
        self.boolEncoding = boolEncoding
        self.dataEncoding = dataEncoding
        self.dateEncoding = dateEncoding
        self.keyEncoding = keyEncoding
        self.keyPathEncoding = keyPathEncoding
        self.nilEncoding = nilEncoding
        self.spaceEncoding = spaceEncoding
        self.allowedCharacters = allowedCharacters
    }

    /// Encodes a value.
    ///
    /// - Parameter value: The value.
    /// - Returns: The pairs; empty when the value holds nothing.
    /// - Throws: ``Error``, or what the value or a custom option throws.
    public func encode(_ value: any Encodable) throws -> String {
        try FormEncoder.pairs(of: value, options: self)
    }

    /// Encodes a value to the bytes of the pairs.
    ///
    /// - Parameter value: The value.
    /// - Returns: The pairs in ASCII; empty when the value holds nothing.
    /// - Throws: What the form that returns text throws.
    public func encode(_ value: any Encodable) throws -> Data {
        Data(try encode(value).utf8)
    }
}

extension URLEncodedFormEncoder {
    /// Says how the keys of an array's elements are made.
    @nonexhaustive
    public enum ArrayEncoding: Sendable {
        /// The array's key and `[]`, as in `a[]=1&a[]=2`.
        case brackets
        /// The array's key alone, as in `a=1&a=2`.
        case noBrackets
        /// The array's key and the index in brackets, as in `a[0]=1&a[1]=2`.
        case indexInBrackets
        /// What the closure makes of the array's key and the index.
        case custom(@Sendable (_ key: String, _ index: Int) -> String)

        /// Returns the key of an element.
        func key(_ key: String, at index: Int) -> String {
            switch self {
            case .brackets: "\(key)[]"
            case .noBrackets: key
            case .indexInBrackets: "\(key)[\(index)]"
            case .custom(let encode): encode(key, index)
            }
        }
    }

    /// Says how a nested key is appended to the key around it.
    public struct KeyPathEncoding: Sendable {
        /// In brackets, as in `user[name]=`.
        public static let brackets = KeyPathEncoding { "[\($0)]" }
        /// After a dot, as in `user.name=`.
        public static let dots = KeyPathEncoding { ".\($0)" }

        /// Returns what is appended for a nested key.
        let suffix: @Sendable (String) -> String

        /// Creates an option.
        ///
        /// - Parameter encode: Returns what is appended for a nested key.
        public init(_ encode: @escaping @Sendable (_ subkey: String) -> String) {
            suffix = encode
        }
    }

    /// Says how keys are converted, each as a whole with the keys around it.
    @nonexhaustive
    public enum KeyEncoding: Sendable {
        /// Leaves keys as they are.
        case useDefaultKeys
        /// Puts `_` before each word and makes the key lower case: `oneTwoThree` becomes `one_two_three`.
        case convertToSnakeCase
        /// Puts `-` before each word and makes the key lower case: `oneTwoThree` becomes `one-two-three`.
        case convertToKebabCase
        /// Makes the first letter upper case: `oneTwoThree` becomes `OneTwoThree`.
        case capitalized
        /// Makes all letters upper case.
        case uppercased
        /// Makes all letters lower case.
        case lowercased
        /// What the closure makes of the key.
        case custom(@Sendable (String) -> String)

        /// Returns the converted key.
        func convert(_ key: String) -> String {
            switch self {
            case .useDefaultKeys: key
            case .convertToSnakeCase: Self.words(of: key).joined(separator: "_")
            case .convertToKebabCase: Self.words(of: key).joined(separator: "-")
            case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
            case .uppercased: key.uppercased()
            case .lowercased: key.lowercased()
            case .custom(let convert): convert(key)
            }
        }

        /// Returns the words of a key in camel case, in lower case.
        ///
        /// A word begins at an upper case letter; of several, such as in `myURLPath`, the last begins the next word when
        /// a lower case letter comes somewhere after them. The first letter begins the first word, whatever its case.
        private static func words(of key: String) -> [String] {
            let letters = Array(key)
            var words: [ArraySlice<Character>] = []
            var wordStart = 0
            var position = 1
            while let upper = letters[min(position, letters.count)...].firstIndex(where: \.isUppercaseLetter) {
                words.append(letters[wordStart..<upper])
                wordStart = upper
                guard let lower = letters[upper...].firstIndex(where: \.isLowercaseLetter) else { break }
                if lower > upper + 1 {
                    words.append(letters[upper..<lower - 1])
                    wordStart = lower - 1
                }
                position = lower + 1
            }
            words.append(letters[wordStart...])
            return words.map { String($0).lowercased() }
        }
    }
}

extension Character {
    fileprivate var isUppercaseLetter: Bool {
        switch unicodeScalars.first?.properties.generalCategory {
        case .uppercaseLetter, .titlecaseLetter: true
        default: false
        }
    }

    fileprivate var isLowercaseLetter: Bool {
        unicodeScalars.first?.properties.generalCategory == .lowercaseLetter
    }
}

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

        /// A bit for each character.
        private var bits: UInt128 = 0

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
            for byte in characters.utf8 where byte < 0x80 { bits |= 1 << byte }
        }

        /// Takes characters out.
        ///
        /// - Parameter characters: The characters.
        public mutating func remove(_ characters: String) {
            for byte in characters.utf8 where byte < 0x80 { bits &= ~(1 << byte) }
        }

        /// Returns whether the byte comes out as it is.
        func contains(_ byte: UInt8) -> Bool { byte < 0x80 && bits >> byte & 1 == 1 }
    }
}
