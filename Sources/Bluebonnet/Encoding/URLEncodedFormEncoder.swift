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
    public let alphabetizeKeyValuePairs: Bool

    /// How the keys of an array's elements are made.
    public let arrayEncoding: ArrayEncoding

    /// How truth values come out.
    public let boolEncoding: BoolEncoding

    /// How `Data` comes out.
    public let dataEncoding: DataEncoding

    /// How dates come out.
    public let dateEncoding: DateEncoding

    /// How whole keys, with the keys around them, are converted.
    public let keyEncoding: KeyEncoding

    /// How a nested key is appended to the key around it.
    public let keyPathEncoding: KeyPathEncoding

    /// How a missing value comes out.
    public let nilEncoding: NilEncoding

    /// How spaces come out.
    public let spaceEncoding: SpaceEncoding

    /// The characters that come out as they are; all others are percent-encoded.
    public let allowedCharacters: AllowedCharacters

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
        let root = FormNode()
        try FormEncoder(node: root, options: self).encode(value)
        switch root.content {
        case .nothing, .keyed: return FormSerializer(options: self).serialize(root)
        case .text: throw Error.invalidRootObject("a single value")
        case .unkeyed: throw Error.invalidRootObject("an array")
        }
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
