public import FoundationEssentials

/// The body of a request (RFC 9110 §6.4).
///
/// After a redirect or for a retry, Bluebonnet may have to send a body again. A body in memory or in a file can be sent
/// again. A body from a sequence can be sent again only if a closure creates the sequence. A body from a file
/// descriptor cannot be sent again. A multipart form can be sent again if all of its parts can be sent again.
public struct RequestBody: Sendable {
    private enum Storage {
        case data(Data)
        case source(any RequestBodySource)
    }

    private let storage: Storage

    /// Returns a body with bytes in memory.
    ///
    /// - Parameter data: The bytes of the body.
    /// - Returns: A body that can be sent any number of times.
    public static func data(_ data: Data) -> RequestBody {
        RequestBody(storage: .data(data))
    }

    /// Returns a body that is read from a file while it is sent.
    ///
    /// Bluebonnet opens the file on the global executor when it sends the request. The size of the file at that time is
    /// the `Content-Length`. If the file cannot be opened, or its size changes while it is sent, the request fails with
    /// `.requestBody(…)`.
    ///
    /// - Parameter url: The URL of the file.
    /// - Returns: A body that can be sent any number of times.
    public static func file(_ url: URL) -> RequestBody {
        RequestBody(storage: .source(FileBodySource(url: url)))
    }

    /// Returns a body with some bytes of a file, such as a part of a multipart upload to object storage.
    ///
    /// The bytes are read while they are sent, as with ``file(_:)``. If the file ends before the range, the request
    /// fails with `.requestBody(.lengthMismatch)`. The file may change after the range.
    ///
    /// - Parameters:
    ///   - url: The URL of the file.
    ///   - range: The positions of the bytes; the first byte of the file has the position 0.
    /// - Returns: A body that can be sent any number of times.
    public static func file(_ url: URL, range: Range<Int64>) -> RequestBody {
        RequestBody(storage: .source(FileBodySource(url: url, range: range)))
    }

    /// Returns a body that is read from a sequence while it is sent.
    ///
    /// Bluebonnet reads the sequence on the global executor, as fast as the network accepts the bytes. Bluebonnet
    /// iterates the sequence only once, so the body cannot be sent again.
    ///
    /// - Parameters:
    ///   - sequence: The pieces of the body, of any size.
    ///   - length: The total number of bytes; `nil`, the default, if the number is unknown. With `nil`, HTTP/1.1 uses
    ///     the chunked transfer coding (RFC 9112 §7.1). If you pass a length and the sequence has more or fewer bytes,
    ///     the request fails with `.requestBody(.lengthMismatch)`.
    /// - Returns: A body that can be sent once.
    public static func stream<Pieces: AsyncSequence & Sendable>(
        _ sequence: Pieces, length: Int64? = nil
    ) -> RequestBody where Pieces.Element: DataProtocol & Sendable {
        RequestBody(storage: .source(SequenceSource(once: sequence, length: length)))
    }

    /// Returns a body that is read from an open file descriptor, such as standard input, a pipe or a socket.
    ///
    /// Bluebonnet reads from the current position to the end, as fast as the network accepts the bytes. If no bytes are
    /// available, a separate thread waits for bytes. The body has a copy of the descriptor, so the program may close
    /// its own descriptor. The copy and the original share one position. Bluebonnet closes the copy when it has read
    /// the whole body, or when the request that reads the body has ended. If no request has begun to read, the copy is
    /// closed when the body is released. The descriptor can be blocking or
    /// non-blocking. If the request ends early, bytes that were read but not sent are lost. While Bluebonnet reads from
    /// a pipe or a terminal, no other program may read from it.
    ///
    /// - Parameters:
    ///   - descriptor: The number of the descriptor; 0 is standard input.
    ///   - length: The number of bytes to read; `nil`, the default, for all bytes to the end. With `nil`, HTTP/1.1 uses
    ///     the chunked transfer coding (RFC 9112 §7.1). If there are fewer bytes, the request fails with
    ///     `.requestBody(.lengthMismatch)`. If there are more bytes, Bluebonnet does not read the rest.
    /// - Returns: A body that can be sent once. If reading fails, the request fails with
    ///   `.requestBody(.fileUnreadable)` and the path `/dev/fd/NUMBER`.
    public static func fileDescriptor(_ descriptor: Int32, length: Int64? = nil) -> RequestBody {
        let pieces = DescriptorPieces(descriptor: descriptor, length: length)
        return RequestBody(storage: .source(SequenceSource(once: pieces, length: length)))
    }

    /// Returns a body that is read from a new sequence each time the body is sent.
    ///
    /// - Parameters:
    ///   - length: The total number of bytes in each sequence; `nil`, the default, if the number is unknown. With
    ///     `nil`, HTTP/1.1 uses the chunked transfer coding (RFC 9112 §7.1). If a sequence has a different number of
    ///     bytes, the request fails with `.requestBody(.lengthMismatch)`.
    ///   - makeSequence: A closure that creates the sequence. The closure runs on the global executor each time the
    ///     body is sent.
    /// - Returns: A body that can be sent any number of times.
    public static func stream<Pieces: AsyncSequence & Sendable>(
        length: Int64? = nil, _ makeSequence: @escaping @Sendable () -> Pieces
    ) -> RequestBody where Pieces.Element: DataProtocol & Sendable {
        RequestBody(storage: .source(SequenceSource(length: length, make: makeSequence)))
    }

    /// Returns a body that sends a multipart form (RFC 7578).
    ///
    /// Bluebonnet reads the parts while it sends the body. If the request has no `Content-Type` field, Bluebonnet adds
    /// the `Content-Type` of the form; if the field has no boundary, Bluebonnet adds it. If a part cannot be sent, the
    /// request fails with `.multipartEncoding(…)`.
    ///
    /// - Parameter form: The form to send.
    /// - Returns: A body that can be sent again if all parts can be sent again.
    public static func multipart(_ form: MultipartFormData) -> RequestBody {
        RequestBody(storage: .source(MultipartBodySource(form: form)))
    }

    package static func source(_ source: any RequestBodySource) -> RequestBody {
        RequestBody(storage: .source(source))
    }

    /// The bytes of a body in memory; `nil` for all other bodies.
    public var data: Data? { if case .data(let data) = storage { data } else { nil } }

    /// The media type of a form body; `nil` for all other bodies.
    package var contentType: String? {
        if case .source(let source as MultipartBodySource) = storage { source.form.contentType } else { nil }
    }

    /// The number of bytes to send, if it is known before the body is opened.
    package var length: Int64? {
        switch storage {
        case .data(let data): Int64(data.count)
        case .source(let source): source.length
        }
    }

    /// Whether the body can be sent again.
    public var isReplayable: Bool { if case .source(let source) = storage { source.isReplayable } else { true } }

    /// Whether a file is open while the body is sent.
    var usesFile: Bool { if case .source(let source) = storage { source.usesFile } else { false } }

    /// Opens a body that is not in memory; returns `nil` for a body in memory.
    ///
    /// The method may block on file access. Do not call this method on the event loop.
    package func open() throws(RequestError) -> OpenBody? {
        if case .source(let source) = storage { try source.open() } else { nil }
    }
}

extension RequestBody {
    /// The file that is sent; `nil` for other bodies.
    package var fileURL: URL? {
        if case .source(let source as FileBodySource) = storage { source.url } else { nil }
    }

    /// Returns the same body with a stated length, if this is a sequence and the length is known.
    package func with(length: Int64?) -> RequestBody {
        guard let length, case .source(var source as SequenceSource) = storage else { return self }
        source.length = length
        return RequestBody(storage: .source(source))
    }
}

extension RequestBody: SecretKeeping {
    /// The length of the body without its content, or a note that the length is unknown.
    package var text: String { length.map { "\($0) bytes" } ?? "an unknown number of bytes" }
}

/// The source of a body that is not in memory.
package protocol RequestBodySource: Sendable {
    /// The number of bytes in the body, if it is known before the source is opened.
    var length: Int64? { get }

    /// Whether the source can be opened again.
    var isReplayable: Bool { get }

    /// Whether a file is open while the source is read.
    var usesFile: Bool { get }

    /// Opens the source.
    func open() throws(RequestError) -> OpenBody
}

extension RequestBodySource {
    var usesFile: Bool { false }
}

/// Reads a request's body once, from beginning to end, in pieces.
///
/// A reader belongs to the task that passes the body's bytes to a transfer. This task runs on the global executor and
/// never on the event loop. Each time a body is sent again, a new reader reads the body.
package protocol BodyReader {
    /// Returns at least one byte, or `nil` at the end of the body.
    ///
    /// After the method has returned `nil` or thrown an error, the task does not call it again. Cancelling the task
    /// ends a wait for bytes.
    mutating func next() async throws -> Data?

    /// Passes the pieces to `receive` until the body ends or `receive` returns `false`; returns whether it has ended.
    ///
    /// After the method has returned or thrown an error, the task calls no method of the reader. A reader that only
    /// passes on the pieces of another reader implements this method, so that no piece passes through both.
    mutating func forward(to receive: (Data) async -> Bool) async throws -> Bool
}

extension BodyReader {
    package mutating func forward(to receive: (Data) async -> Bool) async throws -> Bool {
        while let piece = try await next() {
            guard await receive(piece) else { return false }
        }
        return true
    }
}

/// A body that is ready to be read, with its size if the size is known.
package struct OpenBody: Sendable {
    /// The number of bytes that the reader produces, if it is known.
    package let length: Int64?
    /// Creates the reader; the task that reads the body calls this closure once.
    package let makeReader: @Sendable () -> any BodyReader
    /// The file of the body, if there is one.
    ///
    /// Bytes of a file can be read from the system's page cache without blocking.
    let file: FileBody?

    package init(length: Int64?, reader: @escaping @autoclosure @Sendable () -> any BodyReader) {
        self.length = length
        makeReader = reader
        file = nil
    }

    init(file: FileBody) {
        length = file.length
        makeReader = { file }
        self.file = file
    }
}

extension RequestBody {
    /// A sequence of the body's bytes in pieces; no piece is empty.
    ///
    /// Each iteration opens the body again. If ``isReplayable`` is `false`, the body can be read only once, so
    /// no request can send it after an iteration. If the body cannot be read, the iteration throws `.requestBody(…)`
    /// or `.multipartEncoding(…)`. If the body comes from your own sequence, the iteration throws the errors of the
    /// sequence unchanged.
    public var pieces: some AsyncSequence<Data, any Error> & Sendable { Pieces(body: self) }

    /// A sequence of a body's bytes in pieces; no piece is empty.
    package struct Pieces: AsyncSequence, Sendable {
        fileprivate let body: RequestBody

        /// Creates an iterator over the body.
        ///
        /// - Returns: An iterator that opens the body when the first piece is requested.
        package func makeAsyncIterator() -> Iterator { Iterator(body: body) }

        /// An iterator over the pieces of a body.
        package struct Iterator: AsyncIteratorProtocol {
            /// The body, until it is opened.
            private var body: RequestBody?
            private var reader: (any BodyReader)?

            fileprivate init(body: RequestBody) { self.body = body }

            /// Returns the next bytes.
            ///
            /// The method may block on file access.
            ///
            /// - Returns: The next bytes, or `nil` at the end of the body and after an error.
            /// - Throws: `.requestBody(…)` or `.multipartEncoding(…)` if the body cannot be read, or the error of the
            ///   sequence that the body comes from.
            package mutating func next() async throws -> Data? {
                if let body = body.take() {
                    if let data = body.data { return data.isEmpty ? nil : data }
                    reader = try body.open()?.makeReader()
                }
                guard var reader = reader.take() else { return nil }
                do {
                    let piece = try await reader.next()
                    if piece != nil { self.reader = reader }
                    return piece
                } catch let error as RequestError where error.kind == .requestBody(.sequenceFailed) {
                    throw error.underlying ?? error
                }
            }
        }
    }
}

extension RequestBody {
    /// Whether the stated length of a body outside memory is 0.
    var isStatedEmpty: Bool { data == nil && length == 0 }

    /// Reads a body with a stated length of 0 to its end; throws if it is not empty or cannot be read.
    func confirmEmpty() async throws(RequestError) {
        guard var reader = try open()?.makeReader() else { return }
        do {
            while let piece = try await reader.next() {
                guard piece.isEmpty else {
                    throw RequestError(.requestBody(.lengthMismatch(expected: 0, actual: Int64(piece.count))))
                }
            }
        } catch {
            throw error as? RequestError ?? RequestError(.requestBody(.sequenceFailed), underlying: error)
        }
    }
}
