public import FoundationEssentials

/// Encodes values as `key=value` pairs joined by `&`, like HTML forms.
///
/// There is no standard for nested values. The options control the encoding of arrays, nested keys and values of
/// certain types. The encoded value must have keys: a structure, a class or a dictionary.
public struct URLEncodedFormEncoder: Sendable {
    /// The reasons a value cannot be encoded.
    @nonexhaustive
    public enum Error: Swift.Error, Hashable, Sendable {
        /// The value has no keys. The associated text names its kind: an array or a single value.
        case invalidRootObject(String)
        /// Values are nested deeper than the limit, perhaps infinitely.
        case nestedTooDeeply(limit: Int)
    }

    /// Whether the pairs are sorted at each level of nesting; otherwise they keep the order of encoding.
    ///
    /// The encoded pairs are sorted as text. This includes array elements: turn the option off if their order matters.
    package let alphabetizeKeyValuePairs: Bool

    /// The way to write the keys of array elements.
    package let arrayEncoding: ArrayEncoding

    /// The way to write Boolean values.
    package let boolEncoding: BoolEncoding

    /// The way to write `Data`.
    package let dataEncoding: DataEncoding

    /// The way to write dates.
    package let dateEncoding: DateEncoding

    /// The way to convert complete keys, including the keys around them.
    package let keyEncoding: KeyEncoding

    /// The way to append a nested key to the key around it.
    package let keyPathEncoding: KeyPathEncoding

    /// The way to write missing values.
    package let nilEncoding: NilEncoding

    /// The way to write spaces.
    package let spaceEncoding: SpaceEncoding

    /// The characters to keep; all others are percent-encoded.
    package let allowedCharacters: AllowedCharacters

    /// Creates an encoder.
    ///
    /// - Parameters:
    ///   - alphabetizeKeyValuePairs: Whether the pairs are sorted, including array elements; `true` by default.
    ///   - arrayEncoding: The way to write the keys of array elements; with `[]` by default.
    ///   - boolEncoding: The way to write Boolean values; as `1` and `0` by default.
    ///   - dataEncoding: The way to write `Data`; in Base64 by default.
    ///   - dateEncoding: The way to write dates; as seconds since the start of 2001 by default.
    ///   - keyEncoding: The way to convert complete keys; they are not converted by default.
    ///   - keyPathEncoding: The way to append a nested key to the key around it; in brackets by default.
    ///   - nilEncoding: The way to write missing values; their keys are omitted by default.
    ///   - spaceEncoding: The way to write spaces; as `%20` by default.
    ///   - allowedCharacters: The characters to keep; letters, digits and `-._~/?` by default.
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
    /// - Parameter value: The value to encode.
    /// - Returns: The pairs, or an empty string if the value is empty.
    /// - Throws: ``Error``, or the error of the value or of a custom option.
    public func encode(_ value: any Encodable) throws -> String {
        try FormEncoder.pairs(of: value, options: self)
    }

    /// Encodes a value to the bytes of the pairs.
    ///
    /// - Parameter value: The value to encode.
    /// - Returns: The pairs in ASCII, or no bytes if the value is empty.
    /// - Throws: ``Error``, or the error of the value or of a custom option.
    public func encode(_ value: any Encodable) throws -> Data {
        Data(try encode(value).utf8)
    }
}

extension URLEncodedFormEncoder {
    /// The ways to write the keys of array elements.
    @nonexhaustive
    public enum ArrayEncoding: Sendable {
        /// The array's key followed by `[]`, as in `a[]=1&a[]=2`.
        case brackets
        /// The array's key alone, as in `a=1&a=2`.
        case noBrackets
        /// The array's key followed by the index in brackets, as in `a[0]=1&a[1]=2`.
        case indexInBrackets
        /// The result of the closure for the array's key and the index.
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

    /// The way to append a nested key to the key around it.
    public struct KeyPathEncoding: Sendable {
        /// In brackets, as in `user[name]=`.
        public static let brackets = KeyPathEncoding { "[\($0)]" }
        /// After a dot, as in `user.name=`.
        public static let dots = KeyPathEncoding { ".\($0)" }

        /// Returns the text to append for a nested key.
        let suffix: @Sendable (String) -> String

        /// Creates an option.
        ///
        /// - Parameter encode: Returns the text to append for a nested key.
        public init(_ encode: @escaping @Sendable (_ subkey: String) -> String) {
            suffix = encode
        }
    }

    /// The ways to convert keys; each is converted completely, including the keys around it.
    @nonexhaustive
    public enum KeyEncoding: Sendable {
        /// Keeps keys unchanged.
        case useDefaultKeys
        /// Puts `_` between words and makes the key lower case: `oneTwoThree` becomes `one_two_three`.
        case convertToSnakeCase
        /// Puts `-` between words and makes the key lower case: `oneTwoThree` becomes `one-two-three`.
        case convertToKebabCase
        /// Makes the first letter upper case: `oneTwoThree` becomes `OneTwoThree`.
        case capitalized
        /// Makes all letters upper case.
        case uppercased
        /// Makes all letters lower case.
        case lowercased
        /// The result of the closure for the key.
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

        /// Returns the words of a camel-case key, in lower case.
        ///
        /// A word starts at an upper case letter. In a sequence of upper case letters, such as in `myURLPath`, the
        /// last one starts the next word if a lower case letter follows later. The first letter starts the first word,
        /// regardless of its case.
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
    /// The ways to write Boolean values.
    @nonexhaustive
    public enum BoolEncoding: Hashable, Sendable {
        /// As `1` and `0`.
        case numeric
        /// As `true` and `false`.
        case literal

        /// Returns the text for a Boolean value.
        func text(for flag: Bool) -> String {
            switch self {
            case .numeric: flag ? "1" : "0"
            case .literal: flag ? "true" : "false"
            }
        }
    }

    /// The ways to write `Data`.
    @nonexhaustive
    public enum DataEncoding: Sendable {
        /// As `Data` encodes itself: an array of numbers.
        case deferredToData
        /// In Base64.
        case base64
        /// The result of the closure.
        case custom(@Sendable (Data) throws -> String)

        /// Returns the text for the bytes, or `nil` if `Data` encodes itself.
        func text(for data: Data) throws -> String? {
            switch self {
            case .deferredToData: nil
            case .base64: data.base64EncodedString()
            case .custom(let encode): try encode(data)
            }
        }
    }

    /// The ways to write dates.
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
        /// The result of the closure.
        case custom(@Sendable (Date) throws -> String)

        /// An option that writes dates with a format style.
        ///
        /// - Parameter style: The format style, such as `Date.ISO8601FormatStyle`.
        /// - Returns: An option that uses the format style.
        public static func formatted<Style: FormatStyle>(_ style: Style) -> DateEncoding
        where Style: Sendable, Style.FormatInput == Date, Style.FormatOutput == String {
            .custom { style.format($0) }
        }

        /// Returns the text for the date, or `nil` if `Date` encodes itself.
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

    /// The way to write missing values.
    ///
    /// The option applies to optionals everywhere: members, array elements and dictionary values.
    public struct NilEncoding: Sendable {
        /// Omits the key.
        public static let dropKey = NilEncoding { nil }
        /// Keeps the key, with an empty value after the `=`.
        public static let dropValue = NilEncoding { "" }
        /// Writes `null`.
        public static let null = NilEncoding { "null" }

        /// Returns the text for a missing value, or `nil` to omit the key.
        let text: @Sendable () -> String?

        /// Creates an option.
        ///
        /// - Parameter encode: Returns the text for a missing value, or `nil` to omit the key.
        public init(_ encode: @escaping @Sendable () -> String?) {
            text = encode
        }
    }

    /// The ways to write spaces.
    @nonexhaustive
    public enum SpaceEncoding: Hashable, Sendable {
        /// As `%20`.
        case percentEscaped
        /// As `+`.
        case plusReplaced
    }

    /// The ASCII characters that are not percent-encoded.
    ///
    /// Characters outside ASCII are always percent-encoded. Spaces are controlled by ``SpaceEncoding``.
    public struct AllowedCharacters: Hashable, Sendable {
        /// The characters for keys and values of a query: letters, digits and `-._~/?` (RFC 3986 §3.4).
        public static let queryParameters = AllowedCharacters(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/?")

        /// One bit for each character.
        private var bits: UInt128 = 0

        /// Creates a set.
        ///
        /// - Parameter characters: The characters of the set. Characters outside ASCII are ignored.
        public init(_ characters: String) {
            insert(characters)
        }

        /// Adds characters.
        ///
        /// - Parameter characters: The characters to add. Characters outside ASCII are ignored.
        public mutating func insert(_ characters: String) {
            for byte in characters.utf8 where byte < 0x80 { bits |= 1 << byte }
        }

        /// Removes characters.
        ///
        /// - Parameter characters: The characters to remove.
        public mutating func remove(_ characters: String) {
            for byte in characters.utf8 where byte < 0x80 { bits &= ~(1 << byte) }
        }

        /// Returns whether the byte is not percent-encoded.
        func contains(_ byte: UInt8) -> Bool { byte < 0x80 && bits >> byte & 1 == 1 }
    }
}
