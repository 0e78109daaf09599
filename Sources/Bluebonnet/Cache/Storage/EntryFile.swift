import FoundationEssentials

/// The form in which a stored response is a file: a checksum, then everything that it is the checksum of.
///
/// Whatever else is in a file, a part of one, or one of another program, is not taken for a response, nor is the response
/// to another request: a file records the digest of its key.
enum EntryFile {
    /// Returns the bytes of the file.
    static func encoded(_ entry: StoredResponse, for key: CacheKey) -> Data {
        var content = Writer()
        content.write(key.digest)
        content.write(entry.requestTime.timeIntervalSince1970.bitPattern)
        content.write(entry.responseTime.timeIntervalSince1970.bitPattern)
        content.write(entry.selector)
        content.write(Data(entry.response.head.composed))
        content.write(entry.body)
        return Data(magic) + Digest.sha256(of: content.bytes) + content.bytes
    }

    /// Reads a file; `nil` when it is not whole.
    ///
    /// - Parameters:
    ///   - bytes: All of the file.
    ///   - key: What the response is to be stored under.
    ///   - url: The URL that the response is for.
    /// - Returns: The response.
    static func decoded(_ bytes: Data, for key: CacheKey, url: URL) -> StoredResponse? {
        let start = magic.count + 32
        guard bytes.count > start, bytes.prefix(magic.count) == Data(magic) else { return nil }
        let content = bytes.dropFirst(start)
        guard Digest.sha256(of: content) == bytes.dropFirst(magic.count).prefix(32) else { return nil }
        var reader = Reader(content)
        guard reader.data() == key.digest, let requestTime = reader.time(), let responseTime = reader.time(),
            let selector = reader.data(),
            let bytes = reader.data(), let head = ReceivedHead(bytes: Array(bytes)), let body = reader.data()
        else { return nil }
        return StoredResponse(
            HTTPResponse(url: url, head: head), body: body, selector: selector, requestTime: requestTime,
            responseTime: responseTime)
    }

    /// The last character is the version of the form.
    private static let magic = Array("bluebonnet-cache".utf8) + [0x02]

    private struct Writer {
        private(set) var bytes = Data()

        mutating func write(_ number: UInt64) {
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }

        mutating func write(_ data: Data) {
            write(UInt64(data.count))
            bytes.append(data)
        }
    }

    private struct Reader {
        private var rest: Data

        init(_ bytes: Data) { rest = bytes }

        mutating func number() -> UInt64? {
            guard rest.count >= 8 else { return nil }
            defer { rest = rest.dropFirst(8) }
            return rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }

        /// A time that a response can have been received at.
        mutating func time() -> Date? {
            guard let bits = number(), HTTPDate.range.contains(Double(bitPattern: bits)) else { return nil }
            return Date(timeIntervalSince1970: Double(bitPattern: bits))
        }

        mutating func data() -> Data? {
            guard let count = number(), count <= UInt64(rest.count) else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return Data(rest.prefix(Int(count)))
        }
    }
}
