import BluebonnetTesting
import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Stale responses that are validated behind the caller's back (RFC 5861 §3).
@Suite(.timeLimit(.minutes(10)))
struct StaleWhileRevalidateTests {
    private static let window: HTTPHeaders = [
        "Cache-Control": "max-age=60, stale-while-revalidate=60", "ETag": "\"1\"",
    ]

    /// A session whose stored response is stale, and whose server then gives other responses.
    private static func scene(
        after: Double = 70, then answer: @escaping StubTransport.Handler
    ) async throws -> CacheTestSession {
        let isFirst = Locked(true)
        let scene = CacheTestSession { request in
            isFirst.withLock({ Swift.exchange(&$0, with: false) })
                ? .text("old", headers: window) : try await answer(request)
        }
        #expect(await scene.answer().source == .network)
        scene.clock.advance(by: after)
        return scene
    }

    @Test func `the stale response comes at once, and the new one with the next request`() async throws {
        let gate = Gate()
        let scene = try await Self.scene { _ in
            await gate.wait()
            return .text("new", headers: Self.window)
        }
        // The server responds only after this response.
        let first = await scene.answer(headers: ["X-Caller": "1"])
        #expect(first.source == .cache && first.text == "old" && first.headers["Age"] == "70")
        let sent = try await scene.transport.request(2)
        #expect(sent.headers["If-None-Match"] == "\"1\"" && sent.headers["X-Caller"] == "1")
        gate.open()
        await scene.settle()
        let second = await scene.answer()
        #expect(second.source == .cache && second.text == "new" && scene.transport.requestCount == 2)
    }

    @Test func `many requests are validated once`() async throws {
        let gate = Gate()
        let scene = try await Self.scene { _ in
            await gate.wait()
            return .text("", status: 304, headers: Self.window)
        }
        await withTaskGroup(of: Void.self) { tasks in
            for index in 0..<200 {
                tasks.addTask { #expect(await scene.answer(headers: ["X-Number": "\(index % 2)"]).text == "old") }
            }
        }
        #expect(scene.transport.requestCount == 2)
        gate.open()
        await scene.settle()
        #expect(await scene.answer().headers["Age"] == "0")
        #expect(scene.transport.requestCount == 2)
    }

    @Test func `after the window, the response is validated first`() async throws {
        let scene = try await Self.scene(after: 121) { _ in .text("", status: 304, headers: Self.window) }
        #expect(await scene.answer().source == .validated)
    }

    @Test(arguments: [
        (StubTransport.Response.status(503), "old"), (.failure(RequestError(.connection(.refused))), "old"),
        (.text("gone", status: 404, headers: ["Cache-Control": "max-age=60"]), "gone"),
        (.text("gone", status: 404, headers: ["Cache-Control": "no-store"]), "third"),
        (.text("new", headers: ["Cache-Control": "no-store"]), "third"),
    ])
    func `a failure of the server keeps the stored response, and other responses replace or remove it`(
        _ answer: StubTransport.Response, then expected: String
    ) async throws {
        let count = Locked(0)
        let scene = try await Self.scene { _ in
            count.withLock { count in
                count += 1
                return count == 1 ? answer : .text("third")
            }
        }
        #expect(await scene.answer().text == "old")
        _ = try await scene.transport.request(2)
        await scene.settle()
        #expect(await scene.answer().text == expected)
    }

    @Test func `the validation does not need its caller`() async throws {
        let gate = Gate()
        let scene = try await Self.scene { _ in
            await gate.wait()
            return .text("new", headers: Self.window)
        }
        let request = scene.session.request(scene.url())
        let task = request.serializingData()
        _ = await task.response
        request.cancel()
        gate.open()
        await scene.settle()
        #expect(await scene.answer().text == "new")
    }

    @Test func `the shutdown of the session ends the validation`() async throws {
        let scene = try await Self.scene { _ in .never }
        #expect(await scene.answer().source == .cache)
        _ = try await scene.transport.request(2)
        await scene.session.shutdown()
        #expect(scene.transport.runningCount == 0)
    }

    @Test(
        arguments: [
            ("max-age=60, stale-while-revalidate=60, must-revalidate", [:]),
            ("max-age=60, stale-while-revalidate=60, no-cache", [:]), ("max-age=60", [:]),
            ("max-age=60, stale-while-revalidate=5", [:]),
            ("max-age=60, stale-while-revalidate=60", ["Cache-Control": "no-cache"]),
            ("max-age=60, stale-while-revalidate=60", ["Cache-Control": "max-age=600"]),
            ("max-age=60, stale-while-revalidate=60", ["Cache-Control": "min-fresh=0"]),
        ] as [(String, HTTPHeaders)])
    func `other responses and requests are validated first`(control: String, fields: HTTPHeaders) async throws {
        let scene = CacheTestSession { request in
            request.headers.contains("If-None-Match")
                ? .status(304)
                : .text("old", headers: ["Cache-Control": control, "ETag": "\"1\""])
        }
        _ = await scene.answer()
        scene.clock.advance(by: 70)
        #expect(await scene.answer(headers: fields).source == .validated)
    }
}
