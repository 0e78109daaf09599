import FoundationEssentials

/// Turns bytes into text by the rules that ``StringResponseSerializer`` states.
enum TextDecoder {
    /// Returns the text of the bytes in the encoding that the caller insists on, or else that the response names.
    static func decode(_ data: Data, encoding: String.Encoding?, charset: String?) throws(RequestError) -> String {
        if let encoding { return try decode(data, Charset(encoding), name: nil) }
        if let marked = Charset(byteOrderMarkOf: data) { return try decode(data, marked, name: nil) }
        // As if no charset were named.
        guard let charset, !charset.isEmpty else { return detect(data) }
        return try decode(data, Charset(name: charset), name: charset)
    }

    private static func decode(_ data: Data, _ charset: Charset, name: String?) throws(RequestError) -> String {
        guard let text = charset.decode(data) else {
            throw RequestError(.serialization(.stringSerializationFailed(encoding: name ?? charset.name)))
        }
        return text
    }

    /// Returns the text of bytes about which nothing is known.
    static func detect(_ data: Data) -> String {
        Charset.utf8.decode(data) ?? Charset.decodeLatin1(data)
    }
}
