import CBenchMeter
public import FoundationEssentials

/// The shared parts of the benchmark's Swift clients: their arguments, their loop and the checks.
///
/// Each client is a separate program, so that the libraries of one client do not affect another client. The client
/// starts one child task for each request in flight. Each child task sends one request after the other.
public struct BenchClient: Sendable {
    /// A ready response, as far as it is checked.
    public struct BenchResponse: Sendable {
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
    /// Whether all requests shall share one HTTP/3 connection; `http3=1`.
    public let usesHTTP3: Bool
    /// Whether the bodies shall be decoded as ``Person``.
    public let decodesJSON: Bool
    /// Whether the tasks shall prefer the client's own executor.
    public let prefersExecutor: Bool
    /// Whether the session has adapters, a retry policy and cookies.
    public let isIntercepted: Bool
    /// Whether there shall be no cookies either.
    public let isBare: Bool
    /// Whether every request uses a new connection with a full handshake.
    public let makesHandshakes: Bool
    /// Whether the session has a monitor that collects metrics; `metrics=1`.
    public let hasMetrics: Bool
    /// Where the session has a cache, if it has one; `cache=memory`, `cache=files`.
    public let cache: String?
    /// The number of event loops; `loops=1`.
    public let loops: Int
    /// The workload.
    public let workload: Workload

    /// The number of WebSockets to open; `sockets=0`, which stands for one for each request in flight.
    public let sockets: Int
    /// Whether WebSockets send texts; `text=1`.
    public let sendsText: Bool
    /// The number of requests to measure.
    public let requests: Int
    /// The number of requests before them.
    public let warmup: Int
    /// The URL of the requests.
    public var url: URL { job.url }
    /// The length of a right body or message.
    public var length: Int { job.length }

    private let job: Job
    private let warmupJob: Job
    private let warmupConcurrency: Int

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
        guard let workload = Workload(rawValue: values["workload"] ?? "requests") else {
            throw BenchFailure("workload=NAME?")
        }
        self.workload = workload
        requests = try number("requests")
        concurrency = try number("concurrency")
        warmup = try number("warmup")
        warmupConcurrency = try number("warmup-concurrency")
        let length = try number("length")
        let warmupLength = values["warmup-length"] == nil ? length : try number("warmup-length")
        job = Job(url: url, length: length, file: values["file"].map { URL(filePath: $0) })
        warmupJob = Job(
            url: warmupURL, length: warmupLength, file: values["warmup-file"].map { URL(filePath: $0) })
        authorityFile = values["ca-file"]
        usesHTTP2 = values["http2"] == "1"
        usesHTTP3 = values["http3"] == "1"
        decodesJSON = values["json"] == "1"
        prefersExecutor = values["executor"] == "1"
        isIntercepted = values["intercepted"] == "1"
        makesHandshakes = values["handshakes"] == "1"
        isBare = values["bare"] == "1"
        hasMetrics = values["metrics"] == "1"
        cache = values["cache"]
        sockets = values["sockets"] == nil ? 0 : try number("sockets")
        sendsText = values["text"] == "1"
        loops = values["loops"] == nil ? 1 : try number("loops")
    }

    /// Warms up, sends the requests, and writes the measurements to standard output.
    ///
    /// - Parameter send: Sends one request and returns its answer.
    /// - Throws: What `send` throws, or ``BenchFailure`` when an answer is wrong.
    public func run(_ send: @escaping @Sendable (URL) async throws -> BenchResponse) async throws {
        try await runJobs { try await send($0.url) }
    }

    /// Warms up, runs the jobs, and writes the measurements to standard output.
    ///
    /// - Parameter perform: Does one job and returns its answer, with the length of the body that was moved.
    /// - Throws: What `perform` throws, or ``BenchFailure`` when an answer is wrong.
    public func runJobs(_ perform: @escaping @Sendable (Job) async throws -> BenchResponse) async throws {
        try await repeating(warmup, warmupJob, width: warmupConcurrency, perform)
        bench_meter_start()
        try await repeating(requests, job, width: concurrency, perform)
        bench_meter_finish(requests)
    }

    /// Measures work that warms up by itself, and writes the measurements to standard output.
    ///
    /// - Parameters:
    ///   - requests: The number of requests that the work makes.
    ///   - work: The work.
    /// - Returns: The result of the work.
    /// - Throws: The error of the work.
    public func measure<Result>(_ requests: Int, _ work: () async throws -> Result) async throws -> Result {
        bench_meter_start()
        let result = try await work()
        bench_meter_finish(requests)
        return result
    }

    /// Like ``run(_:)``, for a client with completion handlers; each handler starts the next request.
    ///
    /// - Parameter send: Sends one request, and calls its second argument with the answer, once.
    /// - Throws: The error of an answer, or ``BenchFailure`` when one is wrong.
    public func runHandlers(
        _ send: @escaping @Sendable (URL, @escaping @Sendable (Result<BenchResponse, any Error>) -> Void) -> Void
    ) async throws {
        try await repeating(warmup, warmupJob, width: warmupConcurrency, send)
        bench_meter_start()
        try await repeating(requests, job, width: concurrency, send)
        bench_meter_finish(requests)
    }

    private func repeating(
        _ count: Int, _ job: Job, width: Int,
        _ send: @escaping @Sendable (URL, @escaping @Sendable (Result<BenchResponse, any Error>) -> Void) -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in shares(of: count, among: width) where share > 0 {
                group.addTask {
                    try await withCheckedThrowingContinuation { continuation in
                        Chain(job: job, send: send) { continuation.resume(with: $0) }.proceed(for: share)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Decodes the lines of the job's file, which are read and cut beforehand; for ``Workload/linesInMemory``.
    ///
    /// - Throws: ``BenchFailure`` when a line is wrong, what reading and decoding throw.
    public func decodeLinesInMemory() async throws {
        // As in the clients, a thread of the pool decodes. The locks of a process with one thread are cheaper, and a
        // decoder locks nine times per line.
        try await Task.detached { try decodeAllLines() }.value
    }

    private func decodeAllLines() throws {
        guard let file = job.file else { throw BenchFailure("file=PATH?") }
        var lines: [Data] = []
        var splitter = LineSplitter()
        splitter.append(try Data(contentsOf: file)) { lines.append(Data($0)) }
        guard lines.count == job.length else { throw BenchFailure("\(lines.count) lines, not \(job.length)") }
        let decoder = JSONDecoder()
        for line in lines.prefix(warmupJob.length) { _ = try decoder.decode(Event.self, from: line) }
        var counter = EventCounter()
        bench_meter_start()
        for line in lines { try counter.add(try decoder.decode(Event.self, from: line)) }
        bench_meter_finish(1)
    }

    private func repeating(
        _ count: Int, _ job: Job, width: Int, _ perform: @escaping @Sendable (Job) async throws -> BenchResponse
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in shares(of: count, among: width) {
                group.addTask {
                    for _ in 0..<share { try job.check(try await perform(job)) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// How many requests each of those makes that are in flight at once.
    private func shares(of count: Int, among width: Int) -> [Int] {
        (0..<width).map { count / width + ($0 < count % width ? 1 : 0) }
    }

    /// One request after the other, each made by the handler of the one before.
    private struct Chain: Sendable {
        let job: Job
        let send: @Sendable (URL, @escaping @Sendable (Result<BenchResponse, any Error>) -> Void) -> Void
        let finish: @Sendable (Result<Void, any Error>) -> Void

        func proceed(for remaining: Int) {
            guard remaining > 0 else { return finish(.success(())) }
            send(job.url) { answer in
                do {
                    try job.check(try answer.get())
                    proceed(for: remaining - 1)
                } catch {
                    finish(.failure(error))
                }
            }
        }
    }
}

extension Job {
    /// Finds an answer that is not the expected one.
    fileprivate func check(_ answer: BenchClient.BenchResponse) throws {
        guard answer.status == 200, answer.length == length else {
            throw BenchFailure("the response was wrong: \(answer), not 200 with length \(length)")
        }
    }
}

/// A failure of a client or of the harness.
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
