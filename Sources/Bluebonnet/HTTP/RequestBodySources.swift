package import FoundationEssentials
import Glibc
import Synchronization

/// A file whose bytes are a request's body.
struct FileBodySource: RequestBodySource {
    let url: URL

    /// Known once the file is open.
    var length: Int64? { nil }

    var isReplayable: Bool { true }

    func open() throws(RequestError) -> OpenBody {
        guard url.isFileURL else { throw RequestError(.requestBody(.notAFileURL(url.redactedDescription))) }
        let path = url.path
        do throws(FileError) {
            var reader = try FileReader(path: path)
            // Files that the kernel makes up say that they have no bytes; and of an empty body none are asked for.
            if reader.length == 0 { _ = try reader.next() }
            return OpenBody(file: FileBody(reader: reader, path: path))
        } catch {
            throw error.requestBodyError(path: path)
        }
    }
}

/// Reads the file, and says in the body's terms what is wrong with it.
struct FileBody: BodyReader {
    fileprivate var reader: FileReader
    fileprivate let path: String

    var length: Int64 { reader.length }

    /// Copies the next bytes if that can be done at once; returns how many.
    mutating func readResident(into memory: inout MutableRawSpan) -> Int {
        reader.readResident(into: &memory)
    }

    mutating func next() async throws -> Data? {
        do throws(FileError) {
            return try reader.next()
        } catch {
            throw error.requestBodyError(path: path)
        }
    }
}

extension FileError {
    fileprivate func requestBodyError(path: String) -> RequestError {
        switch self {
        case .isDirectory: RequestError(.requestBody(.fileIsDirectory(path: path)))
        case .lengthChanged(let expected, let actual):
            RequestError(
                .requestBody(.lengthMismatch(expected: expected, actual: actual)),
                detail: "the file \(path) changed while it was sent")
        case .system, .isNotRegular: RequestError(.requestBody(.fileUnreadable(path: path)), detail: message)
        }
    }
}

/// A sequence whose elements are a body, or a part of one; it can be read any number of times, or once.
struct SequenceSource: RequestBodySource {
    /// How many bytes there will be, if the caller stated that.
    let length: Int64?

    private let make: @Sendable () -> any BodyReader
    /// Who may have the one reader, of all copies of the source; `nil` when there can be any number.
    private let claim: OnceFlag?

    /// A sequence that may be good for one reading only.
    init<Pieces: AsyncSequence & Sendable>(once sequence: Pieces, length: Int64?) where Pieces.Element: DataProtocol {
        self.length = length
        make = { SequenceReader(sequence) }
        claim = OnceFlag()
    }

    /// A sequence that is created again for each reading.
    init<Pieces: AsyncSequence & SendableMetatype>(length: Int64?, make: @escaping @Sendable () -> Pieces)
    where Pieces.Element: DataProtocol {
        self.length = length
        self.make = { SequenceReader(make()) }
        claim = nil
    }

    var isReplayable: Bool { claim == nil }

    /// Whether there can be no reader any more.
    var isUsedUp: Bool { claim?.isTaken == true }

    /// Returns whether there may be a reader now; of a sequence that can be read once, only the first time.
    func take() -> Bool { claim?.take() ?? true }

    /// Begins the sequence, which the caller has claimed.
    func makeReader() -> any BodyReader { make() }

    func open() throws(RequestError) -> OpenBody {
        if let length, length < 0 {
            throw RequestError(.requestBody(.lengthMismatch(expected: length, actual: 0)))
        }
        if isUsedUp { throw RequestError(.requestBody(.notReplayable)) }
        return OpenBody(length: length, reader: ClaimingReader(source: self))
    }
}

/// Claims and begins its sequence when the first piece is asked for; until then another reader can.
private struct ClaimingReader: BodyReader {
    let source: SequenceSource
    private var reader: (any BodyReader)?

    init(source: SequenceSource) { self.source = source }

    mutating func next() async throws -> Data? {
        if reader == nil {
            guard source.take() else { throw RequestError(.requestBody(.notReplayable)) }
            reader = source.makeReader()
        }
        do {
            return try await reader?.next()
        } catch let error as BodySequenceError {
            throw error.error
        } catch {
            // Of whatever type: an error of another request's must not become this one's.
            throw RequestError(.requestBody(.sequenceFailed), underlying: error)
        }
    }
}

/// Ends a sequence of this package's own, which says itself what is wrong with the body.
package struct BodySequenceError: Error {
    package let error: RequestError

    package init(_ error: RequestError) { self.error = error }
}

/// A form whose parts are a request's body.
struct MultipartBodySource: RequestBodySource {
    let form: MultipartFormData

    /// Known once the form is open: its files have to be looked at.
    var length: Int64? { nil }

    var isReplayable: Bool { form.isReplayable }

    func open() throws(RequestError) -> OpenBody { try form.open() }
}

/// Grants something to the first caller only.
final class OnceFlag: Sendable {
    private let taken = Atomic<Bool>(false)

    /// Whether it was granted.
    var isTaken: Bool { taken.load(ordering: .acquiring) }

    /// Returns whether the caller is the first.
    func take() -> Bool { !taken.exchange(true, ordering: .acquiringAndReleasing) }
}

/// Reads an asynchronous sequence of chunks as a body.
///
/// An error of the sequence is passed on as it is. A sequence that ends because the task was cancelled, as
/// `AsyncStream` does, throws `CancellationError`, so that a body that was cut off does not look complete.
package struct SequenceReader<Base: AsyncSequence>: BodyReader where Base.Element: DataProtocol {
    private var iterator: Base.AsyncIterator

    /// Begins a sequence.
    package init(_ sequence: Base) {
        iterator = sequence.makeAsyncIterator()
    }

    package mutating func next() async throws -> Data? {
        while let chunk = try await iterator.next(isolation: #isolation) {
            guard !chunk.isEmpty else { continue }
            return chunk as? Data ?? Self.copy(of: chunk)
        }
        try Task.checkCancellation()
        return nil
    }

    /// Copies region by region, as the regions lie in one piece each.
    private static func copy(of chunk: Base.Element) -> Data {
        var data = Data(capacity: chunk.count)
        for region in chunk.regions { data.append(contentsOf: region) }
        return data
    }
}

/// Says why a file cannot be read, before it is known what the file was for.
package enum FileError: Error, Hashable {
    /// A call of the system failed.
    case system(SystemError)
    /// The path is that of a directory.
    case isDirectory
    /// The path is that of something else than a file of bytes: a pipe, a socket, a device.
    case isNotRegular
    /// The file was not as long any more as when it was opened.
    case lengthChanged(expected: Int64, actual: Int64)

    /// Whether there is no such file, or it may not be reached.
    var isUnreachable: Bool { if case .system(let error) = self { error.isUnreachable } else { false } }

    /// The reason of the failure, with the system's error text for a system error.
    package var message: String {
        switch self {
        case .system(let error): error.message
        case .isDirectory: SystemError(EISDIR).message
        case .isNotRegular: "Not a regular file"
        case .lengthChanged(let expected, let actual): "\(actual) bytes instead of \(expected)"
        }
    }
}

/// Reads a regular file in pieces, as long as it is what it was when it was opened.
///
/// It never gives more bytes than ``length``. A file that has grown or shrunk meanwhile is an error instead of its last
/// piece: what was announced is then not sent to its end. Copies read on from where they were made, each for itself.
package struct FileReader: BodyReader {
    /// How many bytes the file had when it was opened.
    package let length: Int64

    private let file: OpenFile
    private var offset: Int64 = 0

    /// The size of every piece but the last, in bytes.
    package static let pieceSize = RecycledBuffers.files.size

    /// Opens a file; the system's work, which may take a while.
    package init(path: String) throws(FileError) {
        file = try Self.asking { () throws(SystemError) in try OpenFile.reading(path, followingLinks: true) }
        length = try Self.length(of: file)
    }

    /// Returns all of a file, or nothing when there are more bytes than a limit.
    package static func contents(of path: String, limit: Int64) throws(FileError) -> Data? {
        var reader = try FileReader(path: path)
        guard reader.length <= limit else { return nil }
        var data = Data(capacity: Int(reader.length))
        while let piece = try reader.next() { data.append(piece) }
        return data
    }

    package mutating func next() throws(FileError) -> Data? {
        guard offset < length else {
            if length == 0 { try checkEnd() }
            return nil
        }
        let piece = try piece(Int(min(Int64(Self.pieceSize), length - offset)), at: offset)
        guard !piece.isEmpty else { throw .lengthChanged(expected: length, actual: offset) }
        offset += Int64(piece.count)
        if offset == length { try checkEnd() }
        return piece
    }

    /// Copies the next bytes if the system has them in memory, without ever waiting; returns how many.
    ///
    /// Of the last piece none: at the end, it is to be seen whether that is the end. None at all, and it is for ``next()``
    /// to go on, which may wait.
    package mutating func readResident(into memory: inout MutableRawSpan) -> Int {
        let limit = min(Int64(memory.byteCount), length - offset - Int64(Self.pieceSize))
        guard limit > 0 else { return 0 }
        let count = file.readResident(Int(limit), into: &memory, at: offset)
        offset += Int64(count)
        return count
    }

    /// Checks that nothing comes after the last byte.
    private func checkEnd() throws(FileError) {
        // Not by the length alone: files that the kernel makes up say that they have none.
        let excess = try piece(1, at: length)
        guard !excess.isEmpty else { return }
        throw .lengthChanged(expected: length, actual: max(try Self.length(of: file), length + 1))
    }

    private func piece(_ count: Int, at offset: Int64) throws(FileError) -> Data {
        try Self.asking { () throws(SystemError) in try file.readPiece(count, at: offset) }
    }

    /// How many bytes a file has; only a regular file has a length.
    private static func length(of file: OpenFile) throws(FileError) -> Int64 {
        let status = try asking { () throws(SystemError) in try file.status() }
        guard !status.isDirectory else { throw .isDirectory }
        guard status.isRegular else { throw .isNotRegular }
        return status.size
    }

    private static func asking<Value>(_ body: () throws(SystemError) -> Value) throws(FileError) -> Value {
        do { return try body() } catch { throw .system(error) }
    }
}
