import BluebonnetTesting
import FoundationEssentials
import Synchronization
import TestSupport
import Testing

@testable import Bluebonnet

/// Where the races of downloads are run: on the engine against a server of this process, and without a network.
enum DownloadRaceTransport: CaseIterable, Sendable {
    case engine, stub

    static let body = Data.pattern(count: 50_000)

    /// A session, what to download, and the server, which has to live as long.
    func session() async throws -> (Session, URL, RangeOrigin?) {
        switch self {
        case .engine:
            let origin = try await RangeOrigin { $0.body = Self.body }
            return (TestHarness.session(), origin.url, origin)
        case .stub:
            let transport = StubTransport { request in
                let start = request.headers["Range"].flatMap { Int($0.dropFirst(6).dropLast()) }
                guard let start else { return .response(headers: ["ETag": "\"one\""], body: Self.body) }
                let range = "bytes \(start)-\(Self.body.count - 1)/\(Self.body.count)"
                return .response(
                    status: 206, headers: ["ETag": "\"one\"", "Content-Range": range],
                    body: Data(Self.body.dropFirst(start)))
            }
            return (Session(transport: transport), try "http://stub.test/file.bin".asURL(), nil)
        }
    }
}

/// Downloads that are cancelled, suspended, dropped and shut down at any moment.
@Suite(.timeLimit(.minutes(10 * raceMultiplier))) struct DownloadRaces {
    /// Downloads a file of a number, and does something to it meanwhile.
    private typealias Body = @Sendable (_ iteration: Int, _ directory: String) async throws -> Void

    /// Repeats `body` in groups that run at once, 300 times in all, in a directory of their own.
    private func race(_ body: @escaping Body) async throws {
        let directory = try TestDirectory()
        let path = directory.path
        try await TestSupport.race(groups: 15, of: 20) { try await body($0, path) }
    }

    private static func dawdle(_ iteration: Int) async {
        for _ in 0..<(iteration * 7) % 101 { await Task.yield() }
    }

    private static func isThere(_ path: String) -> Bool { FileSystem.status(path, followingLinks: false) != nil }

    /// Expects a complete file if the response reports a file, and no files other than announced partial files.
    private static func expect(_ answer: DownloadResponse<URL, RequestError>, _ file: URL, isDiscarded: Bool = false) {
        let directory = file.deletingLastPathComponent().path
        let partial = FileSystem.path(".\(file.lastPathComponent).part", in: directory)
        switch answer.result {
        case .success(let url):
            #expect(url == file && isThere(file.path))
            #expect(!isThere(partial) && !isThere(partial + ".resume"))
        case .failure(let error):
            #expect(error.isCancellation || error.kind == .sessionShutDown, "\(error)")
            let isKept = answer.resumeData != nil
            #expect(isThere(partial) == isKept && isThere(partial + ".resume") == isKept)
            #expect(!isKept || !isDiscarded)
        }
        // The file may have been moved before the cancellation.
        if isThere(file.path) {
            #expect((try? Data(contentsOf: file)) == DownloadRaceTransport.body)
        }
    }

    private static func end(_ session: Session, _ origin: RangeOrigin?) async throws {
        #expect(await session.withAllRequests { $0.isEmpty })
        await session.shutdown()
        try await origin?.server.waitForOpenConnections(atMost: 0)
    }

    @Test(arguments: DownloadRaceTransport.allCases)
    func `cancelling at any moment ends a download once and keeps its resume data`(track: DownloadRaceTransport)
        async throws
    {
        let (session, url, origin) = try await track.session()
        try await race { iteration, directory in
            let file = URL(filePath: "\(directory)/\(iteration)", directoryHint: .notDirectory)
            let request = session.download(url, to: .file(file)).validate()
            let task = request.serializingURL()
            async let answer = task.response
            await Self.dawdle(iteration)
            let keeps = !iteration.isMultiple(of: 3)
            if keeps { request.cancel() } else { request.cancel(producingResumeData: false) }
            let first = await answer
            Self.expect(first, file, isDiscarded: !keeps)
            #expect(await task.response.error?.kind == first.error?.kind)
            guard let data = first.resumeData else { return }
            let resumed = session.download(resumingWith: data, to: .file(file, options: .removePreviousFile))
            Self.expect(await resumed.serializingURL().response, file)
        }
        try await Self.end(session, origin)
    }

    @Test(arguments: DownloadRaceTransport.allCases)
    func `cancelling a waiting task ends all waits and keeps resume data`(track: DownloadRaceTransport) async throws {
        let (session, url, origin) = try await track.session()
        try await race { iteration, directory in
            let file = URL(filePath: "\(directory)/\(iteration)", directoryHint: .notDirectory)
            let task = session.download(url, to: .file(file, options: .automaticallyResume)).serializingURL()
            let waiters = (0..<3).map { _ in Task { await task.response } }
            await Self.dawdle(iteration)
            waiters[iteration % 3].cancel()
            for waiter in waiters { Self.expect(await waiter.value, file) }
        }
        try await Self.end(session, origin)
    }

    @Test(arguments: DownloadRaceTransport.allCases)
    func `suspending and resuming many times loses no bytes`(track: DownloadRaceTransport) async throws {
        let (session, url, origin) = try await track.session()
        try await race { iteration, directory in
            let file = URL(filePath: "\(directory)/\(iteration)", directoryHint: .notDirectory)
            let request = session.download(url, to: .file(file)).validate()
            let task = request.serializingURL()
            await withTaskGroup(of: Void.self) { storm in
                for thread in 0..<3 {
                    storm.addTask {
                        for step in 0..<6 {
                            let isSuspending = (thread + step + iteration).isMultiple(of: 2)
                            _ = isSuspending ? request.suspend() : request.resume()
                            await Self.dawdle(iteration / 10)
                        }
                    }
                }
            }
            request.resume()
            let answer = await task.response
            #expect(answer.value == file, "\(answer)")
            Self.expect(answer, file)
        }
        try await Self.end(session, origin)
    }

    @Test(arguments: DownloadRaceTransport.allCases)
    func `shutting down during downloads ends all of them`(track: DownloadRaceTransport) async throws {
        let directory = try TestDirectory()
        let path = directory.path
        for round in 0..<30 * raceMultiplier {
            let (session, url, origin) = try await track.session()
            await withTaskGroup(of: Void.self) { tasks in
                for member in 0..<8 {
                    tasks.addTask {
                        let file = URL(filePath: "\(path)/\(round)-\(member)", directoryHint: .notDirectory)
                        await Self.dawdle(member + round)
                        Self.expect(await session.download(url, to: .file(file)).serializingURL().response, file)
                    }
                }
                tasks.addTask {
                    await Self.dawdle(round * 3)
                    if round.isMultiple(of: 3) { await session.cancelAllRequests() }
                    let end = Task { await session.shutdown() }
                    if round.isMultiple(of: 2) { end.cancel() }
                    await end.value
                }
            }
            try await origin?.server.waitForOpenConnections(atMost: 0)
        }
    }

    @Test(arguments: DownloadRaceTransport.allCases)
    func `downloads complete after their session is released`(track: DownloadRaceTransport) async throws {
        let directory = try TestDirectory()
        for round in 0..<30 * raceMultiplier {
            let (tasks, origin) = try await { [path = directory.path] in
                let (session, url, origin) = try await track.session()
                let tasks = (0..<8).map { member in
                    session.download(url, to: .file(URL(filePath: "\(path)/\(round)-\(member)"))).serializingURL()
                }
                return (tasks, origin)
            }()
            for (member, task) in tasks.enumerated() {
                let file = try await task.value
                #expect(file.lastPathComponent == "\(round)-\(member)")
                #expect(try Data(contentsOf: file) == DownloadRaceTransport.body)
            }
            try await origin?.server.waitForOpenConnections(atMost: 0)
        }
        #expect(directory.names.count == 240 * raceMultiplier)
    }

    @Test func `downloads leave no open descriptor however they end`() async throws {
        await #expect(processExitsWith: .success) {
            let directory = try TestDirectory()
            for round in 0..<3 {
                let (session, url, origin) = try await DownloadRaceTransport.engine.session()
                var descriptors = 0
                for number in 0..<100 {
                    let file = directory.url("\(round)-\(number)")
                    let request = session.download(url, to: .file(file, options: .automaticallyResume))
                    switch number % 4 {
                    case 0: break
                    case 1: request.validate(statusCode: [201])
                    case 2: request.validate { _, _, _ in .failure(TestFailure("no")) }
                    default: request.onHTTPResponse { _ in .cancel }
                    }
                    _ = await request.serializingURL().response
                    try await origin?.server.waitForOpenConnections(atMost: 1)
                    if number == 19 { descriptors = try ProcessResources.now().descriptors }
                }
                #expect(try ProcessResources.now().descriptors <= descriptors + 2)
                await session.shutdown()
            }
            #expect(directory.names.count == 75)
        }
    }
}
