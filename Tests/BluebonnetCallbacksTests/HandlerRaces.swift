import BluebonnetTesting
import Foundation
import TestSupport
import Testing

@testable import BluebonnetCallbacks

/// Handlers of requests that are cancelled, tried again, dropped and shut down at any moment.
@Suite(.timeLimit(.minutes(10))) struct HandlerRaces {
    private static let queues = [
        DispatchQueue(label: "one"), DispatchQueue(label: "two"), DispatchQueue.global(),
        DispatchQueue(label: "wide", attributes: .concurrent),
    ]

    /// Repeats `body` in groups that run at once, 10,000 times in all.
    private func race(_ body: @escaping @Sendable (_ iteration: Int) async throws -> Void) async throws {
        for group in 0..<100 {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for member in 0..<100 { tasks.addTask { try await body(group * 100 + member) } }
                try await tasks.waitForAll()
            }
        }
    }

    private func dawdle(_ iteration: Int) async {
        for _ in 0..<iteration % 23 { await Task.yield() }
    }

    /// Adds as many handlers to a request, on any queues.
    private func add(_ count: Int, to request: DataRequest, _ log: CallLog<Int>, _ iteration: Int, first: Int = 0) {
        for number in first..<(first + count) {
            request.responseData(queue: Self.queues[(iteration + number) % Self.queues.count]) { _ in log.note(number) }
        }
    }

    @Test func `Cancelling against completion, with handlers that come late`() async throws {
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

    @Test func `Retries against cancelling`() async throws {
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

    @Test func `Sessions and requests that nobody keeps, and sessions that are shut down`() async throws {
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
