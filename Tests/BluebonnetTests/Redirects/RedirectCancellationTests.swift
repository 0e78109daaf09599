import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// A request is cancelled at each point of a redirect, and answers at once.
@Suite(.timeLimit(.minutes(10)))
struct RedirectCancellationTests {
    enum Kind: CaseIterable { case data, upload, stream, download }

    /// Starts a request, waits until it is at the point, cancels it, and expects the answer.
    private func expectCancellation(
        of kind: Kind, _ url: URL, in session: Session, using handler: any RedirectHandler = .follow,
        at point: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let answer: Task<RequestError?, Never>
        let request: any Request
        switch kind {
        case .data:
            let data = session.request(url).redirect(using: handler)
            request = data
            answer = Task { await data.serializingData().response.error }
        case .upload:
            let upload = session.upload(Data("body".utf8), to: url, method: .put).redirect(using: handler)
            request = upload
            answer = Task { await upload.serializingData().response.error }
        case .stream:
            let stream = session.streamRequest(url).redirect(using: handler)
            request = stream
            answer = Task {
                do throws(RequestError) {
                    _ = try await stream.streamTask().response
                    return nil
                } catch {
                    return error
                }
            }
        case .download:
            let download = session.download(url).redirect(using: handler)
            request = download
            answer = Task { await download.serializingData().response.error }
        }
        try await point()
        request.cancel()
        #expect(await answer.value?.kind == .cancelled, sourceLocation: sourceLocation)
        #expect(request.state == .cancelled, sourceLocation: sourceLocation)
        await session.shutdown()
    }

    @Test(arguments: Kind.allCases)
    func `while the redirect is awaited`(_ kind: Kind) async throws {
        let server = try await LocalServer.scripted(.waitForRequest, .stall)
        try await expectCancellation(of: kind, server.url("/a"), in: TestHarness.session()) {
            _ = try await server.nextRequest()
        }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test(arguments: Kind.allCases, ["Content-Length: 100", "Content-Length: 1000000", "X-Length: unknown"])
    func `while its body does not end`(_ kind: Kind, length: String) async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.on(
                "/a",
                .script(
                    .bytes("HTTP/1.1 302 Found\r\nLocation: /b\r\n\(length)\r\n\r\nmoved"), .wait { gate.open() },
                    .stall))
            router.on("/b", .script(.wait { gate.open() }, .stall))
        }
        try await expectCancellation(of: kind, server.url("/a"), in: TestHarness.session()) { await gate.wait() }
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test(arguments: Kind.allCases)
    func `while a handler does not return`(_ kind: Kind) async throws {
        let (begun, gate) = (Gate(), Gate())
        defer { gate.open() }
        let server = try await LocalServer { router in router.on("/a", .redirect(to: "/b")) }
        let handler = Redirector(
            behavior: .modify { _, newRequest, _ in
                begun.open()
                // A task that is never cancelled.
                await Task.detached { await gate.wait() }.value
                return newRequest
            })
        try await expectCancellation(of: kind, server.url("/a"), in: TestHarness.session(), using: handler) {
            await begun.wait()
        }
        #expect(server.requests.map(\.path) == ["/a"])
    }

    @Test(arguments: Kind.allCases)
    func `from within the handler`(_ kind: Kind) async throws {
        let server = try await LocalServer { router in router.on("/a", .redirect(to: "/b")) }
        let cancelled = Gate()
        let handler = Redirector(
            behavior: .modify { request, newRequest, _ in
                request.cancel()
                cancelled.open()
                return newRequest
            })
        try await expectCancellation(of: kind, server.url("/a"), in: TestHarness.session(), using: handler) {
            await cancelled.wait()
        }
        #expect(server.requests.map(\.path) == ["/a"])
    }

    @Test(arguments: Kind.allCases)
    func `after it was followed`(_ kind: Kind) async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.on("/a", .redirect(to: "/b"))
            router.on("/b", .script(.wait { gate.open() }, .stall))
        }
        try await expectCancellation(of: kind, server.url("/a"), in: TestHarness.session()) { await gate.wait() }
        try await server.waitForOpenConnections(atMost: 0)
    }
}
