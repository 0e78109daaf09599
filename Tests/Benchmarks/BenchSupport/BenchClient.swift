import CBenchMeter
public import FoundationEssentials

/// What the Swift clients of the benchmark share: their arguments, their loop and the checks.
///
/// Each client is a program of its own, so that none pays for what another links. The loop is the plain way to write
/// it: as many child tasks as requests in flight, each of which awaits one request after the other.
public struct BenchClient: Sendable {
    /// A ready response, as far as it is checked.
    public struct Answer: Sendable {
        let status: Int?
        let length: Int

        /// Creates an answer.
        ///
        /// - Parameters:
        ///   - status: The status code, if there was a response.
        ///   - length: How many bytes the body had.
        public init(status: Int?, length: Int) {
            self.status = status
            self.length = length
        }
    }

    /// How many requests are in flight at once.
    public let concurrency: Int
    /// The file with the certificate of the server's authority, for `https`.
    public let authorityFile: String?
    /// Whether all requests shall share one HTTP/2 connection.
    public let usesHTTP2: Bool
    /// Whether the bodies shall be decoded as ``Person``.
    public let decodesJSON: Bool
    /// Whether the tasks shall prefer the client's own executor.
    public let prefersExecutor: Bool

    private let url: URL
    private let warmupURL: URL
    private let requests: Int
    private let warmup: Int
    private let warmupConcurrency: Int
    private let length: Int

    /// Reads the `name=value` arguments that the harness gives to every client.
    ///
    /// - Throws: ``BenchFailure`` when one is missing or malformed.
    public init() throws {
        var values: [String: String] = [:]
        for argument in CommandLine.arguments.dropFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1).map { String($0) }
            guard parts.count == 2 else { throw BenchFailure("not name=value: \(argument)") }
            values[parts[0]] = parts[1]
        }
        func number(_ name: String) throws -> Int {
            guard let value = values[name], let number = Int(value) else { throw BenchFailure("\(name)=NUMBER?") }
            return number
        }
        guard let url = values["url"].flatMap({ URL(string: $0) }),
            let warmupURL = values["warmup-url"].flatMap({ URL(string: $0) })
        else { throw BenchFailure("url=URL or warmup-url=URL is missing") }
        self.url = url
        self.warmupURL = warmupURL
        requests = try number("requests")
        concurrency = try number("concurrency")
        warmup = try number("warmup")
        warmupConcurrency = try number("warmup-concurrency")
        length = try number("length")
        authorityFile = values["ca-file"]
        usesHTTP2 = values["http2"] == "1"
        decodesJSON = values["json"] == "1"
        prefersExecutor = values["executor"] == "1"
    }

    /// Warms up, then sends the requests and writes what was measured to standard output.
    ///
    /// - Parameter send: Sends one request and returns its answer.
    /// - Throws: What `send` throws, or ``BenchFailure`` when an answer is wrong.
    public func run(_ send: @escaping @Sendable (URL) async throws -> Answer) async throws {
        try await repeating(warmup, to: warmupURL, width: warmupConcurrency, send)
        bench_meter_start()
        try await repeating(requests, to: url, width: concurrency, send)
        bench_meter_finish(requests)
    }

    private func repeating(
        _ count: Int, to url: URL, width: Int, _ send: @escaping @Sendable (URL) async throws -> Answer
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for child in 0..<width {
                let share = count / width + (child < count % width ? 1 : 0)
                group.addTask {
                    for _ in 0..<share {
                        let answer = try await send(url)
                        guard answer.status == 200, answer.length == length else {
                            throw BenchFailure("the response was wrong: \(answer), not 200 with \(length) bytes")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// Says what went wrong in a client or in the harness.
public struct BenchFailure: Error, CustomStringConvertible {
    /// What went wrong.
    public let description: String

    /// Creates a failure.
    ///
    /// - Parameter description: What went wrong.
    public init(_ description: String) {
        self.description = description
    }
}
