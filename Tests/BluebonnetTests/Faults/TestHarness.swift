import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// The shared parts of the tests of faults.
enum TestHarness {
    // MARK: Sessions

    /// Creates a session without a proxy, with timeouts that prevent a test from hanging.
    ///
    /// The environment variable `BLUEBONNET_TEST_EVENT_LOOPS` is the number of its event loops.
    static func session(
        startRequestsImmediately: Bool = true, _ configure: (inout Session.Configuration) -> Void = { _ in }
    ) -> Session {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        // Longer than a test waits for its turn on a machine with one slow core.
        configuration.timeouts = Timeouts(connect: .seconds(120), idle: .seconds(120))
        if let loops = ProcessInfo.processInfo.environment["BLUEBONNET_TEST_EVENT_LOOPS"].flatMap(Int.init) {
            configuration.eventLoops = Session.Configuration.EventLoopCount(loops)
        }
        configure(&configuration)
        return Session(configuration: configuration, startRequestsImmediately: startRequestsImmediately)
    }

    /// Creates a session that trusts the authority of the test servers.
    static func trustingSession(_ configure: (inout Session.Configuration) -> Void = { _ in }) throws -> Session {
        let authority = try TestCertificates().authority
        return session {
            $0.tls.caFile = authority
            configure(&$0)
        }
    }

    /// Waits until the event loops of a session have performed the earlier commands.
    static func performEarlierCommands(of session: Session) async {
        guard let transport = session.context.transport as? CurlTransport else { return }
        for engine in transport.engines { _ = await engine.isShutDown }
    }

    // MARK: Servers

    /// Starts a server that reads a request and answers it with these bytes, then closes the connection.
    static func server(answering bytes: [UInt8]) async throws -> LocalServer {
        try await .scripted(.waitForRequest, .bytes(bytes))
    }

    /// Starts a server that reads a request and answers it with this text, then closes the connection.
    static func server(answering text: String) async throws -> LocalServer {
        try await server(answering: Array(text.utf8))
    }

    // MARK: Expectations

    /// An address and a port, as in libcurl's error text.
    static func words(_ address: String, port: Int) -> String {
        Libcurl.version > 0x08_0e_01 ? "\(address):\(port)" : "\(address) port \(port)"
    }

    /// Expects that a request fails: with this kind of error, whose one-line description contains these texts and the
    /// URL.
    ///
    /// Expects, too, that the request has ended and that its session has forgotten it.
    @discardableResult
    static func expect<Value>(
        _ task: DataTask<Value>, in session: Session, failsWith kind: RequestError.Kind, saying words: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> RequestError {
        let answer = await task.response
        let error = try #require(answer.error, "there is no error but \(answer)", sourceLocation: sourceLocation)
        let text = error.description
        #expect(error.kind == kind, "\(text)", sourceLocation: sourceLocation)
        #expect(text.hasPrefix(kind.description), sourceLocation: sourceLocation)
        for word in words { #expect(text.contains(word), sourceLocation: sourceLocation) }
        if let request = answer.request {
            let end = "[\(request.method.rawValue) \(request.url.redactedDescription)]"
            #expect(text.hasSuffix(end), sourceLocation: sourceLocation)
            #expect(error.attempts == 1, sourceLocation: sourceLocation)
        }
        #expect(!text.contains { $0.isNewline || $0 == "\0" }, sourceLocation: sourceLocation)
        let request = task.request
        // The failure of one serializer is not that of the request, which may have others.
        if case .serialization = kind {
            #expect(request.error == nil, sourceLocation: sourceLocation)
        } else {
            #expect(request.error?.kind == kind, sourceLocation: sourceLocation)
        }
        #expect(request.state == (kind == .cancelled ? .cancelled : .finished), sourceLocation: sourceLocation)
        let running = await session.withAllRequests { $0.map(\.id) }
        #expect(!running.contains(request.id), sourceLocation: sourceLocation)
        return error
    }

    /// Shuts the session down and expects that no connection of its is left.
    static func end(_ session: Session, _ server: LocalServer) async throws {
        await session.shutdown()
        try await server.waitForOpenConnections(atMost: 0)
    }
}

/// A failure of a test's own code.
struct TestFailure: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
