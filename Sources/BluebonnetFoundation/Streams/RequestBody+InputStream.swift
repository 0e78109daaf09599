public import Bluebonnet
public import Foundation

extension RequestBody {
    /// Returns a body that is read from a stream while it is sent, as fast as the network takes it.
    ///
    /// Streams block, so a thread is made that reads this one in pieces of 64 KiB, each when it is needed, and ends with
    /// it. A stream that has not been opened is opened, and in the end closed. It can be read once: a retry, or a
    /// redirect that keeps the body, ends with `.requestBody(.notReplayable)`. A stream that fails ends the request with
    /// `.requestBody(.sequenceFailed)` around its error. When the request is cancelled, it answers at once, while the
    /// thread waits for as long as its stream does.
    ///
    /// - Parameters:
    ///   - stream: The stream; from now on, the caller must not use it.
    ///   - length: How many bytes it has; if that is not known, HTTP/1.1 frames the body as chunks (RFC 9112 §7.1). Any
    ///     other number of bytes ends the request with `.requestBody(.lengthMismatch)`.
    /// - Returns: The body.
    public static func inputStream(_ stream: sending InputStream, length: Int64? = nil) -> RequestBody {
        .stream(InputStreamPieces(stream: OwnedInputStream(stream)), length: length)
    }
}

extension Session {
    /// Makes a request whose body is read from a stream, as `RequestBody.inputStream(_:length:)` says.
    ///
    /// - Parameters:
    ///   - stream: The stream; from now on, the caller must not use it.
    ///   - convertible: Where the request goes.
    ///   - method: What is asked; POST by default.
    ///   - headers: The fields to send.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    ///   - requestModifier: Changes the request before it is adapted.
    /// - Returns: The request.
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

    /// Makes a request whose body is read from a stream, as `RequestBody.inputStream(_:length:)` says.
    ///
    /// - Parameters:
    ///   - stream: The stream; from now on, the caller must not use it.
    ///   - convertible: The rest of the request; its own body is not sent.
    ///   - interceptor: Adapts and retries this request, after the session's interceptor.
    /// - Returns: The request.
    public nonisolated func upload(
        _ stream: sending InputStream, with convertible: any HTTPRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil
    ) -> UploadRequest {
        upload(.inputStream(stream), with: convertible, interceptor: interceptor)
    }
}

extension MultipartFormData {
    /// Appends a file whose bytes are read from a stream, as `RequestBody.inputStream(_:length:)` reads one.
    ///
    /// The form can then be opened once, whichever copy of it.
    ///
    /// - Parameters:
    ///   - stream: The stream; from now on, the caller must not use it.
    ///   - length: How many bytes it has; another number of bytes is an error.
    ///   - name: The field's name.
    ///   - fileName: The file's name.
    ///   - mimeType: The media type.
    public mutating func append(
        _ stream: sending InputStream, withLength length: UInt64, name: String, fileName: String, mimeType: String
    ) {
        append(
            InputStreamPieces(stream: OwnedInputStream(stream)), length: Int64(clamping: length), withName: name,
            fileName: fileName, mimeType: mimeType)
    }
}

/// The bytes of a stream, which a thread of its own reads when they are asked for.
///
/// Foundation's streams block: reading them on the pool would block a thread that other tasks need.
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

/// Reads a stream on a thread of its own, one piece whenever it is asked for one.
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

    /// Waits for a piece; cancelling the task answers at once, even when the stream does not.
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

    /// Waits to be asked; returns whether it was.
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

/// A stream without other users, and the record of the streams that are being read.
// Safety: after it was handed over, only the one thread uses the stream that has claimed it.
private struct OwnedInputStream: @unchecked Sendable {
    private let stream: InputStream

    init(_ stream: InputStream) { self.stream = stream }

    /// The streams that a thread is reading now.
    private static let claimed = ConditionLock<Set<ObjectIdentifier>>([])

    /// Makes the calling thread the one that reads the stream, and opens it.
    ///
    /// A stream that was opened, and not read yet, is fine.
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

    /// Waits for some bytes; `nil` at the end.
    func read() throws -> Data? {
        var bytes = Data(count: Self.pieceSize)
        // Safety: the pointer is to as many bytes as are named, and ends with the call.
        let count = unsafe bytes.withUnsafeMutableBytes { buffer -> Int in
            guard let start = buffer.baseAddress else { return 0 }
            return unsafe stream.read(start.assumingMemoryBound(to: UInt8.self), maxLength: buffer.count)
        }
        guard count >= 0 else { throw failure ?? CocoaError(.fileReadUnknown) }
        return count == 0 ? nil : bytes.prefix(count)
    }

    /// Closes the stream; no thread claims it from then on.
    func end() {
        stream.close()
        release()
    }

    private func release() {
        _ = Self.claimed.withLock { $0.remove(ObjectIdentifier(stream)) }
    }

    /// Asking a stream for its error that has none traps in Foundation.
    private var failure: (any Error)? { stream.streamStatus == .error ? stream.streamError : nil }

    private static var notReplayable: BodySequenceError {
        BodySequenceError(
            RequestError(.requestBody(.notReplayable), underlying: URLError(.requestBodyStreamExhausted)))
    }

    private static let pieceSize = 64 * 1024
}
