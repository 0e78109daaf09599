import BluebonnetTesting
import Foundation
import TestSupport
import Testing

@testable import BluebonnetCallbacks

/// Handlers of requests that are cancelled, tried again, dropped and shut down at any moment.
@Suite(.timeLimit(.minutes(10 * raceMultiplier))) struct HandlerRaces {
    private static let queues = [
        DispatchQueue(label: "one"), DispatchQueue(label: "two"), DispatchQueue.global(),
        DispatchQueue(label: "wide", attributes: .concurrent),
    ]

    /// Adds as many handlers to a request, on any queues.
    private func add(_ count: Int, to request: DataRequest, _ log: CallLog<Int>, _ iteration: Int, first: Int = 0) {
        for number in first..<(first + count) {
            request.responseData(queue: Self.queues[(iteration + number) % Self.queues.count]) { _ in log.note(number) }
        }
    }

    @Test func `Cancelling during completion, with handlers that are added late`() async throws {
        let session = Session(transport: StubTransport { _ in .json(["name": "Alba"]) })
        try await race { iteration in
            let log = CallLog<Int>()
            let request = session.request("http://stub.test/")
            add(3, to: request, log, iteration)
            await dawdle(iteration)
            request.cancel()
            add(2, to: request, log, iteration, first: 3)
            #expect(await log.wait(for: 5) == [0, 1, 2, 3, 4])
        }
        try await expectNothingIsLeft(session)
    }

    @Test func `Cancelling during retries`() async throws {
        let session = Session(transport: StubTransport { _ in .status(503) })
        let retrier = Retrier { request, _, _ in request.retryCount < 5 ? .retry : .doNotRetry }
        try await race { iteration in
            let log = CallLog<Int>()
            let request = session.request("http://stub.test/").validate().retry(using: retrier)
            add(3, to: request, log, iteration)
            await dawdle(iteration)
            if iteration % 2 == 0 { request.cancel() }
            #expect(await log.wait(for: 3) == [0, 1, 2])
        }
        try await expectNothingIsLeft(session)
    }

    @Test func `Sessions and requests that are not retained, and sessions that are shut down`() async throws {
        try await race { iteration in
            let log = CallLog<Int>()
            do {
                let session = Session(
                    startRequestsImmediately: iteration % 3 != 0, transport: StubTransport { _ in .ok })
                let request = session.request("http://stub.test/")
                add(3, to: request, log, iteration)
                if iteration % 2 == 0 {
                    await dawdle(iteration)
                    await session.shutdown()
                } else {
                    request.resume()
                }
            }
            #expect(await log.wait(for: 3) == [0, 1, 2])
        }
    }

    @Test func `Streams that are cancelled, and whose sessions are shut down, end once for each handler`() async throws
    {
        try await race { iteration in
            let session = Session(
                startRequestsImmediately: iteration % 4 != 0, transport: StubTransport { _ in .text("petals") })
            let ends = CallLog<Int>()
            let request = session.streamRequest("http://stub.test/")
            for number in 0..<3 {
                request.responseStream(on: Self.queues[(iteration + number) % Self.queues.count]) { stream in
                    if stream.completion != nil { ends.note(number) }
                }
            }
            await dawdle(iteration)
            if iteration % 2 == 0 { request.cancel() }
            await session.shutdown()
            #expect(await ends.wait(for: 3).sorted() == [0, 1, 2])
        }
    }

    @Test func `Downloads that are cancelled, retried and shut down`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await race(groups: 20) { iteration in
            let session = Session(transport: StubTransport { _ in iteration % 3 == 0 ? .status(503) : .text("petals") })
            let log = CallLog<Int>()
            let file = directory.appendingPathComponent("\(iteration)")
            let request = session.download(
                "http://stub.test/", to: .file(file, options: [.createIntermediateDirectories])
            )
            .validate().retry(using: Retrier { request, _, _ in request.retryCount < 3 ? .retry : .doNotRetry })
            request.responseURL(queue: Self.queues[iteration % Self.queues.count]) { _ in log.note(0) }
                .responseData(queue: Self.queues[(iteration + 1) % Self.queues.count]) { _ in log.note(1) }
            await dawdle(iteration)
            if iteration % 2 == 0 { request.cancel { _ in } }
            request.responseString(queue: Self.queues[(iteration + 2) % Self.queues.count]) { _ in log.note(2) }
            await session.shutdown()
            #expect(await log.wait(for: 3) == [0, 1, 2])
        }
    }

    @Test func `Real exchanges, cancelled or not`() async throws {
        let session = Session()
        let url = try TestServers.nginx.url("/small.json")
        try await race { iteration in
            let log = CallLog<Int>()
            let request = session.request(url)
            add(2, to: request, log, iteration)
            await dawdle(iteration)
            if iteration % 2 == 0 { request.cancel() }
            add(1, to: request, log, iteration, first: 2)
            #expect(await log.wait(for: 3) == [0, 1, 2])
        }
        try await expectNothingIsLeft(session)
    }

    private func expectNothingIsLeft(_ session: Session) async throws {
        #expect(await session.withAllRequests { $0.isEmpty })
        await session.shutdown()
    }
}
