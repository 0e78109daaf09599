public import FoundationEssentials

/// The content of a request, or its source (RFC 9110 §6.4).
///
/// A body in memory or in a file can be sent again, when a request is retried or redirected; a body made of a sequence
/// can be sent again if the sequence can be created again.
public struct RequestBody: Sendable {
    private enum Storage {
        case data(Data)
        case source(any RequestBodySource)
    }

    private let storage: Storage

    /// Returns a body of bytes in memory.
    ///
    /// - Parameter data: The bytes.
    /// - Returns: The body; it can be sent any number of times.
    public static func data(_ data: Data) -> RequestBody {
        RequestBody(storage: .data(data))
    }

    /// Returns a body that is read from a file while it is sent.
    ///
    /// The file is opened, on the global pool, when the request is sent, and its size then is the `Content-Length`. A
    /// file that cannot be opened, or changes its size meanwhile, ends the request with `.requestBody(…)`.
    ///
    /// - Parameter url: The file's URL.
    /// - Returns: The body; it can be sent any number of times.
    public static func file(_ url: URL) -> RequestBody {
        RequestBody(storage: .source(FileBodySource(url: url)))
    }

    /// Returns a body that is taken from a sequence while it is sent, as fast as the network takes it.
    ///
    /// The sequence is iterated once, on the global pool; so the body cannot be sent a second time.
    ///
    /// - Parameters:
    ///   - sequence: The pieces of the body, of any size.
    ///   - length: How many bytes they have together; if that is not known, HTTP/1.1 frames the body as chunks
    ///     (RFC 9112 §7.1). Any other number of bytes ends the request with `.requestBody(.lengthMismatch)`.
    /// - Returns: The body.
    public static func stream<Pieces: AsyncSequence & Sendable>(
        _ sequence: Pieces, length: Int64? = nil
    ) -> RequestBody where Pieces.Element: DataProtocol & Sendable {
        RequestBody(storage: .source(SequenceSource(once: sequence, length: length)))
    }

    /// Returns a body that is taken from a sequence while it is sent, and from another like it if it is sent again.
    ///
    /// - Parameters:
    ///   - length: How many bytes a sequence has; if that is not known, HTTP/1.1 frames the body as chunks
    ///     (RFC 9112 §7.1). Any other number of bytes ends the request with `.requestBody(.lengthMismatch)`.
    ///   - makeSequence: Makes the sequence; called on the global pool, each time the body is sent.
    /// - Returns: The body.
    public static func stream<Pieces: AsyncSequence & Sendable>(
        length: Int64? = nil, _ makeSequence: @escaping @Sendable () -> Pieces
    ) -> RequestBody where Pieces.Element: DataProtocol & Sendable {
        RequestBody(storage: .source(SequenceSource(length: length, make: makeSequence)))
    }

    /// Returns a body that is a form, whose parts are read while it is sent.
    ///
    /// A request with such a body has the form's `Content-Type`, unless it has one of its own. What is wrong with a part
    /// ends the request with `.multipartEncoding(…)`.
    ///
    /// - Parameter form: The form (RFC 7578).
    /// - Returns: The body; it can be sent again if all parts can.
    public static func multipart(_ form: MultipartFormData) -> RequestBody {
        RequestBody(storage: .source(MultipartBodySource(form: form)))
    }

    package static func source(_ source: any RequestBodySource) -> RequestBody {
        RequestBody(storage: .source(source))
    }

    /// The bytes, if they are in memory.
    public var data: Data? { if case .data(let data) = storage { data } else { nil } }

    /// The media type that goes with the body, if there is one.
    var contentType: String? {
        if case .source(let source as MultipartBodySource) = storage { source.form.contentType } else { nil }
    }

    /// How many bytes will be sent, if that is known before the body is opened.
    package var length: Int64? {
        switch storage {
        case .data(let data): Int64(data.count)
        case .source(let source): source.length
        }
    }

    /// Whether the body can be sent a second time.
    public var isReplayable: Bool {
        switch storage {
        case .data: true
        case .source(let source): source.isReplayable
        }
    }

    /// Opens a body that is not in memory; returns `nil` for one that is.
    ///
    /// May wait for a disk, so it is never called on the loop.
    package func open() throws(RequestError) -> OpenBody? {
        switch storage {
        case .data: nil
        case .source(let source): try source.open()
        }
    }
}

extension RequestBody: SecretKeeping {
    /// The body's length, if it is known, but not its content.
    package var text: String { length.map { "\($0) bytes" } ?? "an unknown number of bytes" }
}

/// Where the bytes of a body come from that is not in memory.
package protocol RequestBodySource: Sendable {
    /// How many bytes there will be, if that is known without opening the source.
    var length: Int64? { get }

    /// Whether the source can be opened a second time.
    var isReplayable: Bool { get }

    /// Opens the source.
    func open() throws(RequestError) -> OpenBody
}

/// Produces the bytes of a request's body once, from its beginning to its end, in pieces.
///
/// Belongs to the one task that feeds a transfer; that runs on the global pool, never on the loop. A body that is sent
/// again gets a new reader.
package protocol BodyReader {
    /// Returns the next bytes, none of them empty, or `nil` at the end.
    ///
    /// It is not called again after it returned `nil` or threw. Cancelling the task ends a wait.
    mutating func next() async throws -> Data?
}

/// A body that is ready to be sent: its size is known, if it ever will be, and its first bytes can be read.
package struct OpenBody: Sendable {
    /// How many bytes the reader will produce, if that is known.
    package let length: Int64?
    /// Makes what reads them; called once, by the task that reads.
    package let makeReader: @Sendable () -> any BodyReader
    /// The body as a file, if it is one: what the system has of it in memory can be read without waiting.
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
    /// The bytes of the body in pieces, as they would be sent; no piece is empty.
    ///
    /// Each iteration opens the body again. A body that is not replayable can be opened only once: reading it here
    /// leaves nothing to send.
    public var pieces: some AsyncSequence<Data, any Error> & Sendable { Pieces(body: self) }

    /// The bytes of a body in pieces, none of them empty.
    package struct Pieces: AsyncSequence, Sendable {
        fileprivate let body: RequestBody

        /// Creates a reader of the body.
        ///
        /// - Returns: The iterator; it opens the body with the first piece.
        package func makeAsyncIterator() -> Iterator { Iterator(body: body) }

        /// Reads a body.
        package struct Iterator: AsyncIteratorProtocol {
            /// The body, until it is opened.
            private var body: RequestBody?
            private var reader: (any BodyReader)?

            fileprivate init(body: RequestBody) { self.body = body }

            /// Returns the next bytes.
            ///
            /// May wait for a disk.
            ///
            /// - Returns: The bytes, or `nil` at the end of the body and after an error.
            /// - Throws: `.requestBody(…)` or `.multipartEncoding(…)` for a body that cannot be read, or what the sequence
            ///   throws that it is made of.
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
    /// Whether the bytes come from somewhere that is said to have none.
    var isStatedEmpty: Bool { data == nil && length == 0 }

    /// Reads a body that is said to be empty to its end; throws if it is not, or cannot be read.
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
