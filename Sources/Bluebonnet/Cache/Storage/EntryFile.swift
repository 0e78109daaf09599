import FoundationEssentials

/// The file of a stored response: the body, the metadata, and a trailer of fixed size.
///
/// The body comes first, so it can be written while it is received. The metadata contains the text of the key, so a
/// response to another request is detected, and the URL of each file is known. The trailer contains the sizes and the
/// checksums of both parts. They detect files that are truncated, modified or from another program.
struct EntryFile: Sendable {
    /// The text of the key.
    let key: String
    let status: FileStatus
    let selector: Data
    let requestTime: Date
    let responseTime: Date
    let bodyCount: Int
    private let bodySum: UInt64
    private let head: ReceivedHead
    private let file: OpenFile
    /// The last bytes of the file, which may include the body.
    private let end: Data

    /// Reads and checks the metadata; returns `nil` if the file is incomplete or invalid.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - status: The status of the file.
    ///   - limit: The size up to which the whole file is read immediately.
    /// - Throws: The system's error.
    init?(_ file: OpenFile, _ status: FileStatus, readingUpTo limit: Int) throws(SystemError) {
        guard let size = Int(exactly: status.size), size >= Self.trailerSize else { return nil }
        var end = try Self.end(of: file, size, count: size <= limit ? size : min(size, 4096))
        var trailer = Reader(Array(end.suffix(Self.trailerSize)))
        guard let bodyCount = trailer.count(upTo: size),
            let count = trailer.count(upTo: min(size - bodyCount, Self.metadataLimit)),
            bodyCount + count + Self.trailerSize == size,
            let bodySum = trailer.number(), let sum = trailer.number(), trailer.number() == Self.magic
        else { return nil }
        if end.count < size - bodyCount { end = try Self.end(of: file, size, count: size - bodyCount) }
        let metadata = end.suffix(size - bodyCount)
        guard Checksum.of(metadata.dropLast(16)) == sum else { return nil }
        var reader = Reader(Array(metadata.prefix(count)))
        guard let key = reader.bytes(), let requestTime = reader.time(), let responseTime = reader.time(),
            let selector = reader.bytes(), let bytes = reader.bytes(), let head = ReceivedHead(bytes: Array(bytes))
        else { return nil }
        self.key = String(decoding: key, as: UTF8.self)
        (self.status, self.selector, self.bodyCount, self.bodySum) = (status, Data(selector), bodyCount, bodySum)
        (self.requestTime, self.responseTime, self.head, self.file) = (requestTime, responseTime, head, file)
        self.end = end
    }

    /// Whether the response contains only a part of its representation.
    var isPart: Bool { head.statusCode == 206 }

    private static func end(of file: OpenFile, _ size: Int, count: Int) throws(SystemError) -> Data {
        try StoredBody.file(file, count: size).read(from: size - count, upTo: count)
    }

    /// Returns the stored response, whose body is not checked if it was not read.
    func response(url: URL) -> StoredResponse? {
        let isRead = end.count == status.size
        return response(url: url, body: isRead ? .memory(end.prefix(bodyCount)) : .file(file, count: bodyCount))
    }

    /// Checks the body of a response.
    ///
    /// - Parameters:
    ///   - response: The response in the file.
    ///   - inPieces: Whether a body that has not been read remains in the file.
    /// - Returns: The response with its body; `nil` if the body is damaged.
    /// - Throws: The system's error.
    func checked(_ response: StoredResponse, inPieces: Bool) throws(SystemError) -> StoredResponse? {
        guard case .file = response.body, !inPieces else {
            var sum = Checksum()
            _ = try response.body.forEachPiece { piece in
                sum.update(piece)
                return true
            }
            return sum.value == bodySum ? response : nil
        }
        let data = try response.body.all()
        return Checksum.of(data) == bodySum ? self.response(url: response.response.url, body: .memory(data)) : nil
    }

    private func response(url: URL, body: StoredBody) -> StoredResponse? {
        StoredResponse(
            HTTPResponse(url: url, head: head), body: body, selector: selector, requestTime: requestTime,
            responseTime: responseTime)
    }

    /// Returns the bytes after the body.
    static func end(for entry: StoredResponse, _ key: CacheKey, bodySum: UInt64) -> Data {
        var metadata = Writer()
        metadata.write(Data(key.text.utf8))
        metadata.write(entry.requestTime.timeIntervalSince1970.bitPattern)
        metadata.write(entry.responseTime.timeIntervalSince1970.bitPattern)
        metadata.write(entry.selector)
        metadata.write(Data(entry.response.head.composed))
        let count = UInt64(metadata.bytes.count)
        for number in [UInt64(entry.body.count), count, bodySum] { metadata.write(number) }
        metadata.write(Checksum.of(metadata.bytes))
        metadata.write(magic)
        return metadata.bytes
    }

    private static let trailerSize = 40
    /// The maximum number of bytes in the metadata; the head of a response is much smaller.
    private static let metadataLimit = 1 << 20
    /// "bluebon" and the version of the format.
    private static let magic: UInt64 = 0x05_6e6f_6265_756c_62

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
        private var rest: ArraySlice<UInt8>

        init(_ bytes: [UInt8]) { rest = bytes[...] }

        mutating func number() -> UInt64? {
            guard rest.count >= 8 else { return nil }
            defer { rest = rest.dropFirst(8) }
            var number: UInt64 = 0
            for byte in rest.prefix(8).reversed() { number = number << 8 | UInt64(byte) }
            return number
        }

        mutating func count(upTo limit: Int) -> Int? { number().flatMap { $0 <= UInt64(limit) ? Int($0) : nil } }

        /// Reads a time at which a response may have been received.
        mutating func time() -> Date? {
            guard let bits = number(), HTTPDate.range.contains(Double(bitPattern: bits)) else { return nil }
            return Date(timeIntervalSince1970: Double(bitPattern: bits))
        }

        mutating func bytes() -> ArraySlice<UInt8>? {
            guard let count = count(upTo: rest.count - 8) else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
    }
}

/// The file of a stored response, as it was when the response was read or written.
final class StoredFile: Sendable {
    private let path: String
    private let status: FileStatus

    init(_ path: String, _ status: FileStatus) { (self.path, self.status) = (path, status) }

    /// Whether the file still exists and has not been replaced or truncated, by this or another process; blocks.
    var isCurrent: Bool {
        guard let current = FileSystem.status(path, followingLinks: false) else { return false }
        return current.identity == status.identity && current.modified == status.modified
            && current.size == status.size
    }
}

/// A file of a response that is being written.
struct PartialEntry: Sendable {
    let file: OpenFile
    let name: String
    /// The number of written bytes.
    var count: Int64 = 0
    /// The checksum of the body.
    var sum = Checksum()
}
