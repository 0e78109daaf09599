import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

/// Uploads that are interrupted at moments that differ from one to the next.
///
/// Every request ends, every sequence is released, and every connection and file is closed.
@Suite(.timeLimit(.minutes(10 * raceMultiplier))) struct UploadRaces {
    /// The source of the interruption.
    enum Interruption: CaseIterable {
        case cancellation, suspension, earlyAnswer, reset, nothing
    }

    private static let piece = 40_000
    private static let count = 12
    private static var length: Int { piece * count }

    /// Reads bodies to the end or up to the length in the path, and then responds or aborts.
    private static func server() async throws -> LocalServer {
        try await LocalServer { router in
            router.streaming("/:end/:limit") { request, body in
                let limit = request.parameters["limit"].flatMap { Int($0) } ?? 0
                while body.bytesRead < limit, try await body.read() != nil {}
                switch request.parameters["end"] {
                case "answer": return .text("early", status: 413)
                case "reset": return .script(.reset)
                default: return .text("\(body.bytesRead + (try await body.discard()))")
                }
            }
        }
    }

    private static func dawdle(_ iteration: Int) async {
        for _ in 0..<iteration * 7 % 53 { await Task.yield() }
    }

    /// Creates a body from a sequence or a file, with or without its length.
    private static func body(_ iteration: Int, _ file: URL) -> (body: RequestBody, record: Pieces.Record?) {
        let pieces = Pieces(count, of: piece) { number in
            if number.isMultiple(of: 3) { await dawdle(number + iteration) }
        }
        switch iteration % 4 {
        case 0: return (.stream(pieces), pieces.record)
        case 1: return (.stream(pieces, length: pieces.length), pieces.record)
        case 2: return (.stream(length: pieces.length) { pieces }, pieces.record)
        default: return (.file(file), nil)
        }
    }

    @Test(arguments: Interruption.allCases)
    func `Interrupting an upload ends it once and releases its body`(interruption: Interruption) async throws {
        let server = try await Self.server()
        let directory = try TestDirectory()
        let file = directory.url("file")
        try Data(count: Self.length).write(to: file)
        let session = TestHarness.session { if interruption != .nothing { $0.continueTimeout = nil } }
        let whole = "\(Self.length)"
        try await race(groups: 12, of: 20) { iteration in
            let limit = iteration * 7919 % Self.length
            let end =
                switch interruption {
                case .earlyAnswer: "answer"
                case .reset: "reset"
                default: "read"
                }
            let (body, record) = Self.body(iteration, file)
            let request = session.upload(body, to: server.url("/\(end)/\(limit)"))
            let task = request.serializingString()
            async let answer = task.response
            await Self.dawdle(iteration)
            switch interruption {
            case .cancellation: request.cancel()
            case .suspension:
                for _ in 0..<3 {
                    request.suspend()
                    await Self.dawdle(iteration)
                    request.resume()
                    await Self.dawdle(iteration + 1)
                }
            default: break
            }
            let response = await answer
            switch interruption {
            case .cancellation:
                #expect(response.value == whole || response.error?.isCancellation == true, "\(response)")
            case .suspension, .nothing: #expect(response.value == whole, "\(response)")
            case .earlyAnswer: #expect(response.value == "early", "\(response)")
            case .reset: #expect(response.error?.kind == .connection(.lost), "\(response)")
            }
            // A sequence that was not requested was never begun; a sequence that was is released.
            guard let record, record.begun > 0 || response.value == whole else { return }
            await record.isOver.wait()
        }
        let left = await session.withAllRequests { $0.count }
        #expect(left == 0)
        await session.shutdown()
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `Shutting down ends all uploads and releases their bodies`() async throws {
        let server = try await Self.server()
        let directory = try TestDirectory()
        let file = directory.url("file")
        try Data(count: Self.length).write(to: file)
        for round in 0..<40 * raceMultiplier {
            let session = TestHarness.session()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for member in 0..<8 {
                    tasks.addTask {
                        let (body, record) = Self.body(member, file)
                        await Self.dawdle(member + round)
                        let response = await session.upload(body, to: server.url("/read/0")).serializingString()
                            .response
                        let kind = response.error?.kind
                        #expect(kind == nil || kind == .sessionShutDown || kind == .cancelled, "\(response)")
                        if let record, record.begun > 0 { await record.isOver.wait() }
                    }
                }
                tasks.addTask {
                    await Self.dawdle(round * 3)
                    if round.isMultiple(of: 3) { await session.cancelAllRequests() }
                    await session.shutdown()
                }
                try await tasks.waitForAll()
            }
        }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func `Stopping the server ends all uploads`() async throws {
        let directory = try TestDirectory()
        let file = directory.url("file")
        try Data(count: Self.length).write(to: file)
        for round in 0..<40 * raceMultiplier {
            let server = try await Self.server()
            let session = TestHarness.session()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for member in 0..<8 {
                    tasks.addTask {
                        let (body, record) = Self.body(member, file)
                        let response = await session.upload(body, to: server.url("/read/0")).serializingString()
                            .response
                        let kind = response.error?.kind
                        let isRight =
                            switch kind {
                            case nil, .connection, .invalidResponse: true
                            default: false
                            }
                        #expect(isRight, "\(response)")
                        if let record, record.begun > 0 { await record.isOver.wait() }
                    }
                }
                tasks.addTask {
                    await Self.dawdle(round * 3)
                    await server.closeConnections(resetting: round.isMultiple(of: 2))
                    await server.stop()
                }
                try await tasks.waitForAll()
            }
            await session.shutdown()
        }
    }

    @Test func `Interrupted uploads leave no open descriptor`() async throws {
        await #expect(processExitsWith: .success) {
            let server = try await UploadRaces.server()
            let directory = try TestDirectory()
            let file = directory.url("file")
            try Data(count: UploadRaces.length).write(to: file)
            func storm() async throws -> Int {
                let session = TestHarness.session()
                try await race(groups: 8, of: 20) { iteration in
                    let (body, record) = UploadRaces.body(iteration, file)
                    let ends = ["read", "answer", "reset"]
                    let url = server.url("/\(ends[iteration % 3])/\(iteration * 7919 % UploadRaces.length)")
                    let request = session.upload(body, to: url)
                    async let answer = request.serializingString().response
                    await UploadRaces.dawdle(iteration)
                    if iteration.isMultiple(of: 5) { request.cancel() }
                    _ = await answer
                    if let record, record.begun > 0 { await record.isOver.wait() }
                }
                await session.shutdown()
                try await server.waitForOpenConnections(atMost: 0)
                return try ProcessResources.now().descriptors
            }
            let first = try await storm()
            // A reader of a file may be about to end; what leaks grows with every storm.
            var last = first
            for _ in 0..<3 { last = try await storm() }
            #expect(last <= first + 8)
        }
    }
}
