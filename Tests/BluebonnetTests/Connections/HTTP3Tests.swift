import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

/// Requests over HTTP/3, to hypercorn (aioquic).
@Suite(.enabled(if: Libcurl.hasHTTP3, "libcurl without HTTP/3")) struct HTTP3Tests {
    private static func session(_ change: (inout Session.Configuration) -> Void = { _ in }) throws -> Session {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.httpVersion = .http3Only
        configuration.tls.caFile = try TestCertificates().authority
        change(&configuration)
        return Session(configuration: configuration)
    }

    @Test func `a GET over HTTP 3`() async throws {
        let session = try Self.session()
        let response = await session.request(try TestServers.httpbinHTTP2.url("/get?a=b")).serializingData().response
        #expect(response.response?.httpVersion == .http3, "\(response)")
        #expect(response.metrics?.httpVersion == .http3)
        #expect(try response.result.get().count > 0)
        await session.shutdown()
    }

    @Test func `a thousand requests use one connection`() async throws {
        let session = try Self.session()
        let url = try TestServers.httpbinHTTP2.url("/status/204")
        var connections: Set<Int> = []
        for _ in 0..<50 {
            try await withThrowingTaskGroup(of: Int?.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let response = await session.request(url).serializingData(emptyResponseCodes: [204]).response
                        #expect(response.response?.httpVersion == .http3, "\(response)")
                        return response.metrics?.localAddress?.port
                    }
                }
                for try await port in group { if let port { connections.insert(port) } }
            }
        }
        #expect(connections.count == 1)
        await session.shutdown()
    }

    @Test func `bodies are sent and received`() async throws {
        let session = try Self.session()
        let data = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let posted = session.upload(data, to: try TestServers.httpbinHTTP2.url("/post")).serializingData()
        #expect(try await posted.value.count > 400_000)
        let (pieces, piece) = AsyncStream<Data>.makeStream()
        let streamed = session.upload(.stream { pieces }, to: try TestServers.httpbinHTTP2.url("/post")).serializingString()
        for text in ["one", "two", "three"] { piece.yield(Data(text.utf8)) }
        piece.finish()
        #expect(try await streamed.value.contains("onetwothree"))
        let bytes = session.request(try TestServers.httpbinHTTP2.url("/bytes/100000")).serializingData()
        #expect(try await bytes.value.count == 100_000)
        var count = 0
        for try await piece in session.streamRequest(try TestServers.httpbinHTTP2.url("/stream-bytes/1000000")).streamTask().bytes {
            count += piece.count
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(count == 102_400)
        await session.shutdown()
    }

    @Test func `redirects, cookies, codings, HEAD and errors`() async throws {
        let session = try Self.session()
        let redirected = await session.request(try TestServers.httpbinHTTP2.url("/redirect/3")).serializingData().response
        #expect(redirected.response?.httpVersion == .http3, "\(redirected)")
        let cookies = try await session.request(try TestServers.httpbinHTTP2.url("/cookies/set?a=b")).serializingString().value
        #expect(cookies.contains("\"a\": \"b\""))
        #expect(try await session.request(try TestServers.httpbinHTTP2.url("/gzip")).serializingString().value.contains("gzipped"))
        let head = await session.request(try TestServers.httpbinHTTP2.url("/bytes/100"), method: .head).serializingData().response
        #expect(head.response?.headers["Content-Length"] == "100", "\(head)")
        let missing = await session.request(try TestServers.httpbinHTTP2.url("/status/404")).validate().serializingData().response
        #expect(missing.response?.statusCode == 404)
        await session.shutdown()
    }

    @Test func `the server's certificate is checked`() async throws {
        let session = try Self.session { $0.tls.caFile = nil }
        let response = await session.request(try TestServers.httpbinHTTP2.url("/get")).serializingData().response
        guard case .trust? = response.error?.kind else { Issue.record("\(response)"); return }
        await session.shutdown()
    }

    @Test func `an evaluator`() async throws {
        for accept in [true, false] {
            var configuration = Session.Configuration()
            configuration.proxy = .none
            configuration.httpVersion = .http3Only
            configuration.tls.caFile = try TestCertificates().authority
            let session = Session(configuration: configuration, serverTrustManager: ServerTrustManager(evaluators: ["127.0.0.1": ClosureTrustEvaluator(accept)]))
            let response = await session.request(try TestServers.httpbinHTTP2.url("/get")).serializingData().response
            print(accept, response.debugDescription)
            await session.shutdown()
        }
    }
    struct ClosureTrustEvaluator: AsyncServerTrustEvaluating {
        let accept: Bool
        init(_ accept: Bool) { self.accept = accept }
        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
            try await Task.sleep(for: .milliseconds(30))
            if !accept { throw CancellationError() }
        }
    }
}
