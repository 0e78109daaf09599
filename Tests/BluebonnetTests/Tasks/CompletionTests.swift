import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Closures that are called with the response of a task.
@Suite(.timeLimit(.minutes(10))) struct CompletionTests {
    private static let url = "http://stub.test/rose"

    private func session(
        _ answer: StubTransport.Response = .text("petals"), startRequestsImmediately: Bool = true
    ) -> Session {
        Session(startRequestsImmediately: startRequestsImmediately, transport: StubTransport { _ in answer })
    }

    /// Waits for the values that the closures received.
    private final class Calls<Value: Sendable>: Sendable {
        private let (stream, continuation) = AsyncStream.makeStream(of: Value.self)

        func note(_ value: Value) { continuation.yield(value) }

        func first(_ count: Int) async -> [Value] {
            var values: [Value] = []
            for await value in stream.prefix(count) { values.append(value) }
            return values
        }
    }

    @Test func `closures are called in order with the same response, even if they are added late`() async {
        let calls = Calls<String>()
        let task = session().request(Self.url).serializingString()
        for number in 0..<5 { task.onCompletion { calls.note("\(number) \($0.value ?? "")") } }
        #expect(await calls.first(5) == (0..<5).map { "\($0) petals" })
        #expect(await task.response.value == "petals")
        task.onCompletion { calls.note("late \($0.value ?? "")") }
        #expect(await calls.first(1) == ["late petals"])
    }

    @Test func `a closure that is added while an earlier one runs is called after it`() async {
        let calls = Calls<String>()
        let task = session().request(Self.url).serializingString()
        task.onCompletion { _ in
            task.onCompletion { _ in calls.note("second") }
            usleep(50_000)
            calls.note("first")
        }
        #expect(await calls.first(2) == ["first", "second"])
    }

    @Test func `closures that are added after the response are called in order`() async {
        let calls = Calls<Int>()
        let task = session().request(Self.url).serializingString()
        _ = await task.response
        for number in 0..<1_000 { task.onCompletion { _ in calls.note(number) } }
        #expect(await calls.first(1_000) == Array(0..<1_000))
    }

    @Test func `a closure and a waiting task get the same response`() async {
        let calls = Calls<Int?>()
        let task = session(.status(404)).request(Self.url).validate().serializingData()
        task.onCompletion { calls.note($0.error?.statusCode) }
        #expect(await task.response.error?.statusCode == 404)
        #expect(await calls.first(1) == [404])
    }

    @Test func `code for data and downloads is written once`() async throws {
        func length<Source: SerializingRequest>(
            _ request: Source
        ) async -> SerializedResponse<Source, Int, RequestError> {
            await request.serializingString().response.map(\.count)
        }
        let data: DataResponse<Int, RequestError> = await length(session().request(Self.url))
        #expect(data.value == 6 && data.data == Data("petals".utf8))
        let file: DownloadResponse<Int, RequestError> = await length(session().download(Self.url))
        #expect(file.value == 6)
        try FileManager.default.removeItem(at: #require(file.fileURL))
    }

    @Test func `the request, the task and the session need not be retained`() async {
        let calls = Calls<String?>()
        session(.delayed(.milliseconds(5), .text("petals"))).request(Self.url).serializingString().onCompletion {
            calls.note($0.value)
        }
        #expect(await calls.first(1) == ["petals"])
    }

    @Test func `a request that never starts ends when it is cancelled or its session is shut down`() async {
        let calls = Calls<RequestError.Kind?>()
        let session = session(startRequestsImmediately: false)
        let request = session.request(Self.url)
        request.serializingString().onCompletion { calls.note($0.error?.kind) }
        request.cancel()
        #expect(await calls.first(1) == [.cancelled])
        session.request(Self.url).serializingString().onCompletion { calls.note($0.error?.kind) }
        await session.shutdown()
        #expect(await calls.first(1) == [.sessionShutDown])
        session.request(Self.url).serializingString().onCompletion { calls.note($0.error?.kind) }
        #expect(await calls.first(1) == [.sessionShutDown])
    }

    @Test func `no closure is called on the thread that adds it or cancels the request`() async {
        let calls = Calls<Bool>()
        for step in 0..<200 {
            let request = session().request(Self.url)
            let lock = Locked(false)
            // If it were called within these calls, it would deadlock.
            lock.withLock { isBusy in
                isBusy = true
                request.serializingString().onCompletion { _ in calls.note(lock.withLock { $0 }) }
                if step % 2 == 0 { request.cancel() }
                isBusy = false
            }
        }
        #expect(await calls.first(200).allSatisfy { !$0 })
    }

    @Test func `a download reports its file`() async throws {
        let calls = Calls<Data?>()
        session().download(Self.url).serializingURL().onCompletion { response in
            calls.note(response.value.flatMap { try? Data(contentsOf: $0) })
        }
        #expect(await calls.first(1) == [Data("petals".utf8)])
    }
}
