public import Bluebonnet
public import Foundation

extension RequestBody {
    /// Returns a body that is read from a stream while it is sent, as fast as the network takes it.
    ///
    /// Foundation's streams block, so a dedicated thread reads the stream in pieces of 64 KiB, each when it is needed.
    /// The stream is opened if it is not open yet, and closed at the end; then the thread ends.
    ///
    /// - A stream can be read only once. A retry, or a redirect that keeps the body, fails with
    ///   `.requestBody(.notReplayable)`.
    /// - If the stream fails, the request fails with `.requestBody(.sequenceFailed)` around the stream's error.
    /// - If the request is cancelled, it ends at once, but the thread waits until the stream returns from its read.
    ///
    /// - Parameters:
    ///   - stream: The stream to send. The caller must not use it after this call.
    ///   - length: The number of bytes of the stream; `nil`, the default, if it is not known. HTTP/1.1 then sends the
    ///     body in chunks (RFC 9112 §7.1). If the stream has a different number of bytes, the request fails with
    ///     `.requestBody(.lengthMismatch)`.
    /// - Returns: The body to send.
    public static func inputStream(_ stream: sending InputStream, length: Int64? = nil) -> RequestBody {
        .stream(InputStreamPieces(stream: OwnedInputStream(stream)), length: length)
    }
}

extension Session {
    /// Creates a request whose body is read from a stream, as `RequestBody.inputStream(_:length:)` describes.
    ///
    /// A `Content-Length` in `headers` states the length of the stream.
    ///
    /// - Parameters:
    ///   - stream: The stream to send. The caller must not use it after this call.
    ///   - convertible: The URL to request: a `URL`, a string or another `URLConvertible`.
    ///   - method: The HTTP method; POST by default.
    ///   - headers: Header fields; they replace session fields of the same name.
    ///   - interceptor: An interceptor that adapts and retries this request, after the session's interceptor.
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

    /// Creates a request whose body is read from a stream, as `RequestBody.inputStream(_:length:)` describes.
    ///
    /// - Parameters:
    ///   - stream: The stream to send. The caller must not use it after this call.
    ///   - convertible: The rest of the request. Its own body is not sent.
    ///   - interceptor: An interceptor that adapts and retries this request, after the session's interceptor.
    /// - Returns: The new request.
    public nonisolated func upload(
        _ stream: sending InputStream, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(.inputStream(stream), with: convertible, interceptor: interceptor)
    }
}

extension MultipartFormData {
    /// Appends a file whose bytes are read from a stream, as `RequestBody.inputStream(_:length:)` describes.
    ///
    /// The form can then be sent only once, even if it is copied.
    ///
    /// - Parameters:
    ///   - stream: The stream to read. The caller must not use it after this call.
    ///   - length: The number of bytes of the stream. If the stream has a different number of bytes, the request fails.
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

/// The bytes of a stream, which a dedicated thread reads on demand.
///
/// Foundation's streams block, so reading them on the global pool would block a thread that other tasks need.
private struct InputStreamPieces: AsyncSequence {
    let stream: OwnedInputStream

    func makeAsyncIterator() -> Iterator { Iterator(worker: InputStreamWorker(stream)) }

    struct Iterator: AsyncIteratorProtocol {
        private let worker: InputStreamWorker
        private let lifetime: Lifetime

        fileprivate init(worker: InputStreamWorker) {
            self.worker = worker
            lifetime = Lifetime(worker)
        }

        mutating func next() async throws -> Data? { try await worker.next() }

        /// Ends the thread when the iterator is released.
        private final class Lifetime: Sendable {
            private let worker: InputStreamWorker

            init(_ worker: InputStreamWorker) { self.worker = worker }

            deinit { worker.abandon() }
        }
    }
}

extension InputStreamPieces: Sendable {}

/// Reads a stream on a dedicated thread, one piece for each request.
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

    /// Waits for a piece; cancelling the task ends the wait at once, even if the stream does not return.
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

    private func answer(_ piece: Result<Data?, any Error>) {
        let reply = state.withLock { state -> Reply? in
            guard case .asked(let reply) = state else { return nil }
            state = .idle
            return reply
        }
        reply?.resume(with: piece)
    }
}

/// A stream that belongs to its reader, and the record of the streams that are being read.
// Safety: after it was handed over, only the thread that has claimed the stream uses it.
private struct OwnedInputStream: @unchecked Sendable {
    private let stream: InputStream

    init(_ stream: InputStream) { self.stream = stream }

    /// The streams that a thread is reading now.
    private static let claimed = ConditionLock<Set<ObjectIdentifier>>([])

    /// Makes the calling thread the one that reads the stream, and opens it.
    ///
    /// A stream that is already open, but was not read yet, is accepted.
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

    /// Reads some bytes, blocking the thread; returns `nil` at the end.
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

    /// Closes the stream and releases its claim.
    func end() {
        stream.close()
        release()
    }

    private func release() {
        _ = Self.claimed.withLock { $0.remove(ObjectIdentifier(stream)) }
    }

    /// The stream's error, read only after a failure, because Foundation otherwise traps.
    private var failure: (any Error)? { stream.streamStatus == .error ? stream.streamError : nil }

    private static var notReplayable: BodySequenceError {
        BodySequenceError(
            RequestError(.requestBody(.notReplayable), underlying: URLError(.requestBodyStreamExhausted)))
    }

    private static let pieceSize = 64 * 1024
}
