import FoundationEssentials
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
        case .system, .isNotRegular: RequestError(.requestBody(.fileUnreadable(path: path)), detail: words)
        }
    }
}

/// A sequence whose elements are a request's body.
struct SequenceBodySource<Pieces: AsyncSequence & Sendable>: RequestBodySource
where Pieces.Element: DataProtocol & Sendable {
    let length: Int64?
    private let makeSequence: @Sendable () -> Pieces
    /// Who may iterate the sequence, if that is possible only once.
    private let claim: OneTimeClaim?

    init(once sequence: Pieces, length: Int64?) {
        self.length = length
        makeSequence = { sequence }
        claim = OneTimeClaim()
    }

    init(length: Int64?, _ makeSequence: @escaping @Sendable () -> Pieces) {
        self.length = length
        self.makeSequence = makeSequence
        claim = nil
    }

    var isReplayable: Bool { claim == nil }

    func open() throws(RequestError) -> OpenBody {
        if let length, length < 0 {
            throw RequestError(.requestBody(.lengthMismatch(expected: length, actual: 0)))
        }
        if claim?.isTaken == true { throw RequestError(.requestBody(.notReplayable)) }
        return OpenBody(length: length, reader: ClaimedReader(claim: claim, makeSequence: makeSequence))
    }
}

/// Begins its sequence with the first piece: one that nobody asked for can still be read by another.
private struct ClaimedReader<Pieces: AsyncSequence & Sendable>: BodyReader
where Pieces.Element: DataProtocol & Sendable {
    let claim: OneTimeClaim?
    let makeSequence: @Sendable () -> Pieces
    private var reader: SequenceReader<Pieces>?

    init(claim: OneTimeClaim?, makeSequence: @escaping @Sendable () -> Pieces) {
        self.claim = claim
        self.makeSequence = makeSequence
    }

    mutating func next() async throws -> Data? {
        if reader == nil {
            guard claim?.take() ?? true else { throw RequestError(.requestBody(.notReplayable)) }
            reader = SequenceReader(makeSequence())
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

/// Lets the first who asks have something.
final class OneTimeClaim: Sendable {
    private let taken = Atomic<Bool>(false)

    /// Whether somebody has asked.
    var isTaken: Bool { taken.load(ordering: .acquiring) }

    /// Returns whether the caller is the first.
    func take() -> Bool { !taken.exchange(true, ordering: .acquiringAndReleasing) }
}
