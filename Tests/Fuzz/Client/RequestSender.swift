import Bluebonnet
import Foundation

/// The outcome of a request.
struct Outcome: Sendable {
    var bytes: [UInt8] = []
    var response: HTTPResponse?
    /// `nil` when it succeeded.
    var error: RequestError?
    /// The body was left before its end.
    var wasLeft = false
    var source = ResponseSource.network
}

/// Makes one request in the way that its plan says.
struct RequestSender {
    let session: Session
    let plan: ExchangePlan
    let directory: String
    /// The milliseconds that a control request may take beyond its limits.
    let slack: Int

    func perform() async -> Outcome {
        switch plan.interference {
        case .cancelTask(let milliseconds):
            let task = Task { await run() }
            try? await Task.sleep(for: .milliseconds(milliseconds))
            task.cancel()
            return await task.value
        default: return await run()
        }
    }

    private func run() async -> Outcome {
        guard let request = makeRequest() else { return Outcome() }
        switch plan.kind {
        case .data, .head: return await read(session.request(request).serializingData())
        case .uploadData, .uploadFile, .uploadSequence:
            return await read(session.upload(body, with: request).serializingData())
        case .multipart: return await read(session.upload(multipartFormData: form, with: request).serializingData())
        case .string: return await read(session.request(request).serializingString())
        case .json: return await read(session.request(request).serializingJSON())
        case .download: return await download(request)
        case .bytes, .lines, .events: return await stream(request)
        case .eventSource: return await listen(request)
        case .socket:
            return await SocketClient(session: session, plan: plan).run(request) { await interfering($0, $1) }
        }
    }

    private func makeRequest() -> HTTPRequest? {
        guard let url = URL(string: plan.url) else { return nil }
        var request = HTTPRequest(url: url, method: plan.kind == .head ? .head : plan.kind.hasBody ? .post : .get)
        request.headers.update(name: "X-T", value: plan.mark.text)
        if plan.seed % 3 == 0, let secret = plan.secrets[plan.place.host] {
            request.headers.update(name: "Authorization", value: "X \(secret.text)")
        }
        if plan.place.speech == .h2c { request.httpVersion = .http2PriorKnowledge }
        if plan.place.isControl {
            // Its server is right, but the machine may stand still for as long as the session's limits.
            let (limits, slack) = (plan.settings, slack / 4)
            request.timeouts = Timeouts(
                connect: .milliseconds(limits.connect + slack), idle: .milliseconds(limits.idle + slack),
                total: .milliseconds(limits.total + slack))
        }
        return request
    }

    // MARK: Bodies to send

    private var body: RequestBody {
        let data = Data(repeating: 66, count: plan.bodySize)
        switch plan.kind {
        case .uploadFile:
            let url = URL(filePath: directory + "/upload-\(plan.mark.value)")
            try? data.write(to: url)
            return .file(url)
        case .uploadSequence:
            let length = plan.seed % 2 == 0 ? Int64(plan.bodySize) : nil
            return .stream(length: length) { Pieces(rest: plan.bodySize) }
        default: return .data(data)
        }
    }

    private var form: MultipartFormData {
        var form = MultipartFormData()
        form.append("text", withName: "field")
        form.append(Data(repeating: 67, count: plan.bodySize), withName: "data", fileName: "a.bin", mimeType: "a/b")
        return form
    }

    // MARK: Ways to read

    private func read<Value>(_ task: DataTask<Value>) async -> Outcome {
        let response = await interfering(task.request) { await task.response }
        return Outcome(
            bytes: Array(response.data ?? Data()), response: response.response, error: response.error,
            source: response.source)
    }

    private func download(_ request: HTTPRequest) async -> Outcome {
        let url = URL(filePath: directory + "/download-\(plan.mark.value)")
        defer { try? FileManager.default.removeItem(at: url) }
        let task = session.download(request, to: .file(url)).serializingURL()
        let response = await interfering(task.request) { await task.response }
        return Outcome(
            bytes: response.value.flatMap(Self.bytes) ?? [], response: response.response,
            error: response.error)
    }

    /// What is in a file; `Data(contentsOf:)` loses 4 KiB of memory for each that is empty.
    private static func bytes(of file: URL) -> [UInt8]? {
        try? (FileHandle(forReadingFrom: file).readToEnd()).map(Array.init) ?? []
    }

    private func stream(_ request: HTTPRequest) async -> Outcome {
        let task = session.streamRequest(request).streamTask()
        return await interfering(task.request) {
            var outcome = Outcome()
            do throws(RequestError) {
                if plan.seed % 4 == 0 { outcome.response = try await task.response }
                switch plan.kind {
                case .lines:
                    try await read(task.lines, into: &outcome) { Array(($0 + "\n").utf8) }
                case .events:
                    try await read(task.serverSentEvents, into: &outcome) { Array(($0.data + "\n").utf8) }
                default:
                    try await read(task.bytes, into: &outcome) { Array($0) }
                }
            } catch {
                outcome.error = error
            }
            outcome.response = outcome.response ?? task.request.response
            return outcome
        }
    }

    private func read<Body: AsyncSequence>(
        _ body: Body, into outcome: inout Outcome, _ bytes: (Body.Element) -> [UInt8]
    ) async throws(RequestError) where Body.Failure == RequestError {
        var pieces = 0
        for try await piece in body {
            outcome.bytes += bytes(piece)
            pieces += 1
            switch plan.interference {
            case .leave(let count) where pieces > count:
                outcome.wasLeft = true
                return
            case .dawdle(let milliseconds) where pieces < 20: try? await Task.sleep(for: .milliseconds(milliseconds))
            default: break
            }
        }
    }

    private func listen(_ request: HTTPRequest) async -> Outcome {
        var configuration = EventSource.Configuration()
        configuration.reconnectionTime = .milliseconds(10)
        configuration.maximumReconnectionDelay = .milliseconds(50)
        configuration.maximumAttempts = 2
        configuration.maximumEventBytes = 100_000
        let source = session.eventSource(request, configuration: configuration)
        let reader = Task {
            var outcome = Outcome()
            do throws(RequestError) {
                var events = 0
                for try await event in source {
                    outcome.bytes += Array((event.data + "\n").utf8)
                    events += 1
                    if events > 50 { break }
                }
            } catch {
                outcome.error = error
            }
            outcome.wasLeft = true
            return outcome
        }
        let patience = Task {
            try await Task.sleep(for: .milliseconds(700))
            reader.cancel()
        }
        let outcome = await withTaskCancellationHandler {
            await reader.value
        } onCancel: {
            reader.cancel()
        }
        patience.cancel()
        return outcome
    }

    // MARK: Interference

    private func interfering<Result>(_ request: some Request, _ body: () async -> Result) async -> Result {
        let interference = plan.interference
        let other: Task<Void, any Error>? =
            switch interference {
            case .cancel(let milliseconds):
                Task {
                    try await Task.sleep(for: .milliseconds(milliseconds))
                    request.cancel()
                }
            case .suspend(let after, let pause, let times):
                Task {
                    for _ in 0..<times {
                        try await Task.sleep(for: .milliseconds(after))
                        request.suspend()
                        try? await Task.sleep(for: .milliseconds(pause))
                        request.resume()
                    }
                }
            default: nil
            }
        let result = await body()
        other?.cancel()
        return result
    }
}

/// A body in pieces of an odd size.
private struct Pieces: AsyncSequence, AsyncIteratorProtocol, Sendable {
    var rest: Int

    func makeAsyncIterator() -> Pieces { self }

    mutating func next() async -> Data? {
        guard rest > 0 else { return nil }
        let count = Swift.min(rest, 7001)
        rest -= count
        return Data(repeating: 68, count: count)
    }
}
