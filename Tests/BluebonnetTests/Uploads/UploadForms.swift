import Bluebonnet
import FoundationEssentials
import Glibc

/// The sources of a body.
enum BodyForm: CaseIterable, Sendable {
    case data, file, sequence, measuredSequence, replayableSequence, form

    /// Whether the length is known before the body is sent.
    var isMeasured: Bool { self != .sequence && self != .replayableSequence }

    /// Creates a body from the first bytes of a pattern.
    func body(_ count: Int, in directory: borrowing TestDirectory) throws -> RequestBody {
        let bytes = Pieces.bytes(count)
        switch self {
        case .data: return .data(bytes)
        case .file:
            let url = directory.url("body-\(count)")
            try bytes.write(to: url)
            return .file(url)
        case .sequence: return .stream(Self.pieces(count))
        case .measuredSequence: return .stream(Self.pieces(count), length: Int64(count))
        case .replayableSequence: return .stream { Self.pieces(count) }
        case .form:
            var form = MultipartFormData(boundary: Self.boundary)
            form.append(bytes, withName: "file", fileName: "name", mimeType: "application/octet-stream")
            return .multipart(form)
        }
    }

    /// The bytes that a server receives for this body.
    func sent(_ count: Int) -> Data {
        guard self == .form else { return Pieces.bytes(count) }
        let head =
            "--\(Self.boundary)\r\nContent-Disposition: form-data; name=\"file\"; filename=\"name\"\r\n"
            + "Content-Type: application/octet-stream\r\n\r\n"
        return Data(head.utf8) + Pieces.bytes(count) + Data("\r\n--\(Self.boundary)--\r\n".utf8)
    }

    private static let boundary = "a-boundary"

    private static func pieces(_ count: Int) -> Pieces {
        count % 1000 == 0 ? Pieces(count / 1000, of: 1000) : Pieces(1, of: count)
    }
}

extension TestDirectory {
    /// Extends a file with sparse zeros, or truncates it.
    func resize(_ name: String, to length: Int64) throws {
        guard unsafe truncate(path(name), Int(length)) == 0 else { throw TestFailure("truncate: \(errno)") }
    }
}
