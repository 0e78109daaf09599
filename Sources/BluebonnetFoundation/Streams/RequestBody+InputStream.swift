public import Bluebonnet
public import Foundation

extension RequestBody {
    /// Returns a body whose bytes are read from a stream while the request is sent.
    ///
    /// A Foundation stream blocks the thread that reads it. Bluebonnet therefore reads the stream on a dedicated
    /// thread. The thread opens the stream if the stream is not open. The thread reads up to 64 KiB at a time, as fast
    /// as the network accepts the bytes. At the end of the stream, the thread closes the stream and ends.
    ///
    /// - A stream can be read only once. If a retry or a redirect must send the body again, the request fails.
    /// - If the stream fails, the request fails with `.requestBody(.sequenceFailed)`. The underlying error is the error
    ///   of the stream.
    /// - If you cancel the request, the request ends at once. If the stream's `read` method is running, the thread ends
    ///   when `read` returns.
    ///
    /// - Parameters:
    ///   - stream: The stream to send. The caller must not use it after this call.
    ///   - length: The number of bytes in the stream; `nil`, the default, if the number is not known. Without a length,
    ///     the body is sent in chunks over HTTP/1.1 (RFC 9112 §7.1). If you pass a length and the stream has more or
    ///     fewer bytes, the request fails with `.requestBody(.lengthMismatch)`.
    /// - Returns: The body to send.
    public static func inputStream(_ stream: sending InputStream, length: Int64? = nil) -> RequestBody {
        .stream(InputStreamPieces(stream: OwnedInputStream(stream)), length: length)
    }
}

extension Session {
    /// Creates a request whose body is read from a stream; see `RequestBody.inputStream(_:length:)`.
    ///
    /// A `Content-Length` in `headers` sets the length of the stream.
    ///
    /// - Parameters:
    ///   - stream: The stream to send. The caller must not use it after this call.
    ///   - convertible: The URL to request: a `URL`, a string or another `URLConvertible`.
    ///   - method: The HTTP method; POST by default.
    ///   - headers: The header fields; they replace fields of the session with the same names.
    ///   - interceptor: An interceptor that adapts and retries this request; none by default. It runs after the
    ///     session's interceptor.
    ///   - requestModifier: A closure that changes the request before it is adapted.
    /// - Returns: The new request.
    public nonisolated func upload(
        _ stream: sending InputStream, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil
    ) -> UploadRequest {
        let length = headers?["Content-Length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
        return upload(
            .inputStream(stream, length: length), to: convertible, method: method, headers: headers,
            interceptor: interceptor, requestModifier: requestModifier)
    }

    /// Creates a request whose body is read from a stream; see `RequestBody.inputStream(_:length:)`.
    ///
    /// - Parameters:
    ///   - stream: The stream to send. The caller must not use it after this call.
    ///   - convertible: The request without the body. If it has a body, the stream replaces that body.
    ///   - interceptor: An interceptor that adapts and retries this request; none by default. It runs after the
    ///     session's interceptor.
    /// - Returns: The new request.
    public nonisolated func upload(
        _ stream: sending InputStream, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(.inputStream(stream), with: convertible, interceptor: interceptor)
    }
}

extension MultipartFormData {
    /// Appends a file whose bytes are read from a stream; see `RequestBody.inputStream(_:length:)`.
    ///
    /// After this call, the form can be sent only once. Copies of the form share the stream. You can therefore send
    /// either the form or one of its copies, but not both.
    ///
    /// - Parameters:
    ///   - stream: The stream to read. The caller must not use it after this call.
    ///   - length: The number of bytes in the stream. If the stream has more or fewer bytes, the request fails.
    ///   - name: The name of the form field.
    ///   - fileName: The name of the file.
    ///   - mimeType: The media type of the file.
    public mutating func append(
        _ stream: sending InputStream, withLength length: UInt64, name: String, fileName: String, mimeType: String
    ) {
        append(
            InputStreamPieces(stream: OwnedInputStream(stream)), length: Int64(clamping: length), withName: name,
            fileName: fileName, mimeType: mimeType)
    }
}

/// The bytes of a stream as an asynchronous sequence, which a dedicated thread reads on demand.
///
/// A Foundation stream blocks the thread that reads the stream. On the global executor, the stream would block a thread
/// that other tasks need.
private struct InputStreamPieces: AsyncSequence {
    let stream: OwnedInputStream

    func makeAsyncIterator() -> Iterator { Iterator(InputStreamWorker(stream)) }

    /// Ends the thread when it is released.
    final class Iterator: AsyncIteratorProtocol, Sendable {
        private let worker: InputStreamWorker

        fileprivate init(_ worker: InputStreamWorker) { self.worker = worker }

        deinit { worker.abandon() }

        func next() async throws -> Data? { try await worker.next() }
    }
}

extension InputStreamPieces: Sendable {}

/// Reads a stream on a dedicated thread, one piece for each call of `next()`.
private final class InputStreamWorker: Sendable {
    private typealias Reply = CheckedContinuation<Data?, any Error>

    private enum State {
        /// No piece was requested yet.
        case unstarted
        /// The thread waits for a request.
        case idle
        /// The thread reads a piece for a waiting task.
        case asked(Reply)
        /// No piece will be requested any more; the thread ends when its read returns.
        case abandoned
    }

    private let stream: OwnedInputStream
    private let state = ConditionLock(State.unstarted)

    init(_ stream: OwnedInputStream) { self.stream = stream }

    /// Returns the next piece.
    ///
    /// If the task is cancelled, this method returns at once, even if the stream's `read` does not return.
    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { ask($0) }
        } onCancel: {
            abandon()
        }
    }

    private func ask(_ reply: Reply) {
        let (isFirst, isAbandoned) = state.withLock { state in
            switch state {
            case .unstarted:
                state = .asked(reply)
                return (true, false)
            case .idle:
                state = .asked(reply)
                return (false, false)
            case .asked, .abandoned: return (false, true)
            }
        }
        if isAbandoned { reply.resume(throwing: CancellationError()) }
        guard isFirst else { return }
        let thread = Thread { self.run() }
        thread.name = "input stream"
        thread.start()
    }

    func abandon() {
        let reply = state.withLock { state -> Reply? in
            defer { state = .abandoned }
            if case .asked(let reply) = state { return reply }
            return nil
        }
        reply?.resume(throwing: CancellationError())
    }

    /// The body of the thread.
    private func run() {
        do {
            try stream.begin()
        } catch {
            answer(.failure(error))
            return
        }
        defer { stream.end() }
        while isAsked() {
            let piece = Result { try stream.read() }
            answer(piece)
            guard case .success(.some) = piece else { return }
        }
    }

    /// Waits until a piece is requested; returns `false` if no piece will be requested any more.
    private func isAsked() -> Bool {
        state.wait { state in
            switch state {
            case .unstarted, .idle: nil
            case .asked: true
            case .abandoned: false
            }
        }
    }

    /// Answers the task that waits, if there is one.
    private func answer(_ piece: Result<Data?, any Error>) {
        let reply = state.withLock { state -> Reply? in
            guard case .asked(let reply) = state else { return nil }
            state = .idle
            return reply
        }
        reply?.resume(with: piece)
    }
}

/// A stream that only its reader uses.
// Safety: only the thread that has claimed the stream uses it.
private struct OwnedInputStream: @unchecked Sendable {
    private let stream: InputStream

    init(_ stream: InputStream) { self.stream = stream }

    /// The streams that threads are reading now.
    private static let claimed = ConditionLock<Set<ObjectIdentifier>>([])

    /// Claims the stream for the calling thread, and opens the stream.
    ///
    /// The stream may already be open if it was not read yet.
    func begin() throws {
        guard Self.claimed.withLock({ $0.insert(ObjectIdentifier(stream)).inserted }) else { throw Self.notReplayable }
        switch stream.streamStatus {
        case .notOpen: stream.open()
        case .opening, .open, .reading, .writing, .error: break
        case .atEnd, .closed:
            release()
            throw Self.notReplayable
        @unknown default: break
        }
        if let error = failure {
            end()
            throw error
        }
    }

    /// Reads some bytes and blocks the thread; returns `nil` at the end.
    func read() throws -> Data? {
        var bytes = Data(count: Self.pieceSize)
        // Safety: the pointer refers to `buffer.count` bytes and is not used after the call.
        let count = unsafe bytes.withUnsafeMutableBytes { buffer -> Int in
            guard let start = buffer.baseAddress else { return 0 }
            return unsafe stream.read(start.assumingMemoryBound(to: UInt8.self), maxLength: buffer.count)
        }
        guard count >= 0 else { throw failure ?? CocoaError(.fileReadUnknown) }
        return count == 0 ? nil : bytes.prefix(count)
    }

    /// Closes the stream and releases the claim.
    func end() {
        stream.close()
        release()
    }

    private func release() {
        _ = Self.claimed.withLock { $0.remove(ObjectIdentifier(stream)) }
    }

    /// The stream's error; `nil` if the stream has not failed.
    ///
    /// The error is read only after a failure, because Foundation traps in other states.
    private var failure: (any Error)? { stream.streamStatus == .error ? stream.streamError : nil }

    private static var notReplayable: BodySequenceError {
        BodySequenceError(
            RequestError(.requestBody(.notReplayable), underlying: URLError(.requestBodyStreamExhausted)))
    }

    private static let pieceSize = 64 * 1024
}
