public import FoundationEssentials

/// An encoder that writes values as `key=value` pairs joined by `&`, like HTML forms.
///
/// There is no standard for nested values, so the format of arrays, nested keys and some types is configurable. The
/// encoded value must be a structure, a class or a dictionary, because the pairs need keys.
public struct URLEncodedFormEncoder: Sendable {
    /// The reasons a value cannot be encoded.
    @nonexhaustive
    public enum Error: Swift.Error, Hashable, Sendable {
        /// The encoded value has no keys; the associated text is `an array` or `a single value`.
        case invalidRootObject(String)
        /// The values are nested more deeply than the limit, for example because a value contains itself.
        case nestedTooDeeply(limit: Int)
    }

    /// Whether the encoder sorts the pairs at each level of nesting; with `false`, it keeps the order of encoding.
    ///
    /// The encoder compares the pairs as encoded text, and also sorts the elements of arrays. Use `false` if the order
    /// of array elements matters.
    package let alphabetizeKeyValuePairs: Bool

    /// The format of the keys of array elements.
    package let arrayEncoding: ArrayEncoding

    /// The format of Boolean values.
    package let boolEncoding: BoolEncoding

    /// The format of `Data`.
    package let dataEncoding: DataEncoding

    /// The format of dates.
    package let dateEncoding: DateEncoding

    /// The conversion of complete key paths.
    package let keyEncoding: KeyEncoding

    /// The format in which a nested key is appended to the key of the outer value.
    package let keyPathEncoding: KeyPathEncoding

    /// The format of `nil` values.
    package let nilEncoding: NilEncoding

    /// The format of spaces.
    package let spaceEncoding: SpaceEncoding

    /// The characters that are not percent-encoded.
    package let allowedCharacters: AllowedCharacters

    /// Creates an encoder.
    ///
    /// - Parameters:
    ///   - alphabetizeKeyValuePairs: Whether the encoder sorts the pairs, including the elements of arrays; `true` by
    ///     default. With `false`, the pairs keep the order of encoding.
    ///   - arrayEncoding: The format of the keys of array elements; ``ArrayEncoding/brackets`` by default.
    ///   - boolEncoding: The format of Boolean values; ``BoolEncoding/numeric`` by default.
    ///   - dataEncoding: The format of `Data`; ``DataEncoding/base64`` by default.
    ///   - dateEncoding: The format of dates; ``DateEncoding/deferredToDate`` by default.
    ///   - keyEncoding: The conversion of complete key paths; ``KeyEncoding/useDefaultKeys`` by default.
    ///   - keyPathEncoding: The format of nested keys; ``KeyPathEncoding/brackets`` by default.
    ///   - nilEncoding: The format of `nil` values; ``NilEncoding/dropKey`` by default.
    ///   - spaceEncoding: The format of spaces; ``SpaceEncoding/percentEscaped`` by default.
    ///   - allowedCharacters: The characters that are not percent-encoded; ``AllowedCharacters/queryParameters`` by
    ///     default.
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

    /// Encodes a value as `key=value` pairs.
    ///
    /// - Parameter value: The value to encode.
    /// - Returns: The pairs, or an empty string if the value is empty.
    /// - Throws: A ``URLEncodedFormEncoder/Error``, or the error that the value or the closure of a `custom` format
    ///   throws.
    public func encode(_ value: any Encodable) throws -> String {
        try FormEncoder.pairs(of: value, options: self)
    }

    /// Encodes a value as the bytes of `key=value` pairs.
    ///
    /// - Parameter value: The value to encode.
    /// - Returns: The pairs in ASCII, or no bytes if the value is empty.
    /// - Throws: A ``URLEncodedFormEncoder/Error``, or the error that the value or the closure of a `custom` format
    ///   throws.
    public func encode(_ value: any Encodable) throws -> Data {
        Data(try encode(value).utf8)
    }
}

extension URLEncodedFormEncoder {
    /// The format of the keys of array elements.
    @nonexhaustive
    public enum ArrayEncoding: Sendable {
        /// The array's key followed by `[]`, as in `a[]=1&a[]=2`.
        case brackets
        /// The array's key alone, as in `a=1&a=2`.
        case noBrackets
        /// The array's key followed by the index in brackets, as in `a[0]=1&a[1]=2`.
        case indexInBrackets
        /// The key that the closure returns for the array's key and the index.
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

    /// The format in which a nested key is appended to the key of the outer value.
    public struct KeyPathEncoding: Sendable {
        /// A nested key in brackets, as in `user[name]=`.
        public static let brackets = KeyPathEncoding { "[\($0)]" }
        /// A nested key after a dot, as in `user.name=`.
        public static let dots = KeyPathEncoding { ".\($0)" }

        /// Returns the text to append for a nested key.
        let suffix: @Sendable (String) -> String

        /// Creates a custom format.
        ///
        /// - Parameter encode: A closure that returns the text to append for a nested key.
        public init(_ encode: @escaping @Sendable (_ subkey: String) -> String) {
            suffix = encode
        }
    }

    /// The conversion of keys.
    ///
    /// The conversion applies to the complete key path, such as `user[firstName]`.
    @nonexhaustive
    public enum KeyEncoding: Sendable {
        /// Unchanged keys.
        case useDefaultKeys
        /// Words in lower case separated by `_`: `oneTwoThree` becomes `one_two_three`.
        case convertToSnakeCase
        /// Words in lower case separated by `-`: `oneTwoThree` becomes `one-two-three`.
        case convertToKebabCase
        /// The first letter in upper case: `oneTwoThree` becomes `OneTwoThree`.
        case capitalized
        /// All letters in upper case.
        case uppercased
        /// All letters in lower case.
        case lowercased
        /// The key that the closure returns for the original key.
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
        /// A word starts at an upper-case letter. In a sequence of upper-case letters, such as in `myURLPath`, the last
        /// letter starts the next word if a lower-case letter follows later. The first letter of the key starts the
        /// first word, regardless of its case.
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
    /// The format of Boolean values.
    @nonexhaustive
    public enum BoolEncoding: Hashable, Sendable {
        /// `1` for `true` and `0` for `false`.
        case numeric
        /// `true` and `false`.
        case literal

        /// Returns the text for a Boolean value.
        func text(for flag: Bool) -> String {
            switch self {
            case .numeric: flag ? "1" : "0"
            case .literal: flag ? "true" : "false"
            }
        }
    }

    /// The format of `Data`.
    @nonexhaustive
    public enum DataEncoding: Sendable {
        /// The encoding that `Data` defines: an array of numbers.
        case deferredToData
        /// Base64 (RFC 4648 §4).
        case base64
        /// The text that the closure returns.
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

    /// The format of dates.
    @nonexhaustive
    public enum DateEncoding: Sendable {
        /// The encoding that `Date` defines: the seconds since the start of 2001.
        case deferredToDate
        /// The seconds since the start of 1970.
        case secondsSince1970
        /// The milliseconds since the start of 1970.
        case millisecondsSince1970
        /// The date and the time in UTC, such as `2001-01-01T00:02:03Z` (RFC 3339).
        case iso8601
        /// The text that the closure returns.
        case custom(@Sendable (Date) throws -> String)

        /// Returns a format that writes dates with a format style.
        ///
        /// - Parameter style: The format style, such as `Date.ISO8601FormatStyle`.
        /// - Returns: A format that uses the format style.
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

    /// The format of `nil` values.
    ///
    /// The format applies to `nil` in properties, in arrays and in dictionary values.
    public struct NilEncoding: Sendable {
        /// A format that omits the key.
        public static let dropKey = NilEncoding { nil }
        /// A format that writes the key with an empty value.
        public static let dropValue = NilEncoding { "" }
        /// A format that writes the value `null`.
        public static let null = NilEncoding { "null" }

        /// Returns the text for a `nil` value, or `nil` to omit the key.
        let text: @Sendable () -> String?

        /// Creates a custom format.
        ///
        /// - Parameter encode: A closure that returns the text for a `nil` value, or `nil` to omit the key.
        public init(_ encode: @escaping @Sendable () -> String?) {
            text = encode
        }
    }

    /// The format of spaces.
    @nonexhaustive
    public enum SpaceEncoding: Hashable, Sendable {
        /// `%20` for each space.
        case percentEscaped
        /// `+` for each space.
        case plusReplaced
    }

    /// A set of ASCII characters that are not percent-encoded.
    ///
    /// Characters outside ASCII are always percent-encoded. ``SpaceEncoding`` controls the format of spaces.
    public struct AllowedCharacters: Hashable, Sendable {
        /// Letters, digits and `-._~/?`, which are not percent-encoded by default (RFC 3986 §3.4).
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

        /// Adds characters to the set.
        ///
        /// - Parameter characters: The characters to add. Characters outside ASCII are ignored.
        public mutating func insert(_ characters: String) {
            for byte in characters.utf8 where byte < 0x80 { bits |= 1 << byte }
        }

        /// Removes characters from the set.
        ///
        /// - Parameter characters: The characters to remove.
        public mutating func remove(_ characters: String) {
            for byte in characters.utf8 where byte < 0x80 { bits &= ~(1 << byte) }
        }

        /// Returns whether the byte is not percent-encoded.
        func contains(_ byte: UInt8) -> Bool { byte < 0x80 && bits >> byte & 1 == 1 }
    }
}
