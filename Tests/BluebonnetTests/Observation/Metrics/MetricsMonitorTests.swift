import BluebonnetTesting
import FoundationEssentials
import TestSupport
import Testing

@testable import Bluebonnet

@Suite(.timeLimit(.minutes(10))) struct MetricsMonitorTests {
    private let metrics = MetricsMonitor()

    private func session(
        interceptor: (any RequestInterceptor)? = nil, cache: ResponseCache? = nil
    ) -> Session {
        var configuration = Session.Configuration()
        configuration.cache = cache
        return Session(configuration: configuration, interceptor: interceptor, eventMonitors: [metrics])
    }

    /// The figures of a metric that have these attributes, and may have others.
    private func series(
        _ instrument: MetricsMonitor.Instrument, _ attributes: [String: String] = [:]
    ) -> [MetricsMonitor.Series] {
        metrics.snapshot().filter { series in
            series.instrument == instrument
                && attributes.allSatisfy { name, value in
                    series.attributes.contains { $0.name == name && $0.value == value }
                }
        }
    }

    private func sum(_ instrument: MetricsMonitor.Instrument, _ attributes: [String: String] = [:]) -> Double {
        series(instrument, attributes).reduce(0) { $0 + $1.sum }
    }

    private func count(_ instrument: MetricsMonitor.Instrument, _ attributes: [String: String] = [:]) -> Int {
        series(instrument, attributes).reduce(0) { $0 + $1.count }
    }

    @Test func `Exchanges are counted by host, route, method and status`() async throws {
        let server = try await LocalServer { router in
            router.get("/users/1", .text("Ada"))
            router.get("/users/2", .status(404))
            router.post("/users", .status(201))
        }
        let session = session()
        for id in 1...2 {
            let request = session.request(server.url("/users/\(id)")).tag(RouteTag.self, "/users/{id}")
            _ = try await request.serializingNothing().value
        }
        _ = try await session.upload(Data("12345".utf8), to: server.url("/users")).serializingNothing().value
        await session.shutdown()

        let target = ["server.address": "127.0.0.1", "server.port": "\(server.port)"]
        #expect(count(.requestDuration, target) == 3 && count(.requestDuration) == 3)
        let found = ["url.template": "/users/{id}", "http.response.status_code": "200", "http.request.method": "GET"]
        #expect(count(.requestDuration, found.merging(["network.protocol.version": "1.1"]) { $1 }) == 1)
        #expect(sum(.responseBodySize, found) == 3)
        #expect(series(.requestDuration, found).allSatisfy { !$0.attributes.contains { $0.name == "error.type" } })
        let missing = ["http.response.status_code": "404", "error.type": "404"]
        #expect(count(.requestDuration, missing) == 1 && sum(.requests, missing) == 1)
        #expect(sum(.requestBodySize) == 5 && count(.requestBodySize, ["http.request.method": "POST"]) == 1)
        #expect(sum(.connectionUses, ["bluebonnet.connection.reused": "false"]) == 1)
        #expect(sum(.connectionUses, ["bluebonnet.connection.reused": "true"]) == 2)
        #expect(sum(.responses, ["bluebonnet.response.source": "network"]) == 3)
        #expect(sum(.requests) == 3 && sum(.activeRequests) == 0 && count(.activeRequests) == 6)
        #expect(series(.handshakeDuration).isEmpty && series(.retries).isEmpty && series(.redirects).isEmpty)
    }

    @Test func `A retry and the error of each attempt are counted`() async throws {
        let attempts = Locked(0)
        let server = try await LocalServer { router in
            router.get("/") { _ in
                let isFirst = attempts.withLock { count in
                    count += 1
                    return count == 1
                }
                return isFirst ? .status(503) : .text("fine")
            }
        }
        let session = session(interceptor: Retrier { _, _, _ in .retry })
        _ = try await session.request(server.url).validate().serializingString().value
        await session.shutdown()
        #expect(sum(.retries, ["server.port": "\(server.port)"]) == 1 && series(.redirects).isEmpty)
        #expect(count(.requestDuration, ["http.response.status_code": "503", "error.type": "503"]) == 1)
        #expect(count(.requestDuration, ["http.response.status_code": "200"]) == 1)
        #expect(sum(.requests, ["http.response.status_code": "200"]) == 1 && sum(.requests) == 1)
    }

    @Test func `A redirect is counted for the server that it leads to`() async throws {
        let target = try await LocalServer { $0.get("/b", .text("x")) }
        let location = target.url("/b").absoluteString
        let server = try await LocalServer { $0.get("/a", .redirect(to: location)) }
        let session = session()
        let request = session.request(server.url("/a")).tag(RouteTag.self, "/a")
        _ = try await request.serializingString().value
        await session.shutdown()
        #expect(sum(.redirects) == 1 && sum(.redirects, ["server.port": "\(target.port)", "url.template": "/a"]) == 1)
        #expect(count(.requestDuration, ["http.response.status_code": "302"]) == 1 && series(.retries).isEmpty)
        #expect(sum(.requests, ["server.port": "\(server.port)", "http.response.status_code": "200"]) == 1)
    }

    @Test func `A failed connection and a lost connection have types of errors`() async throws {
        let refusing = try UnreachableServer(.refusesConnections)
        let losing = try await LocalServer.scripted(.waitForRequest, .reset)
        let session = session()
        for url in [refusing.url, losing.url] {
            #expect(await session.request(url).serializingString().response.error != nil)
        }
        await session.shutdown()
        for type in ["connection.refused", "connection.lost"] {
            #expect(count(.requestDuration, ["error.type": type]) == 1, "\(metrics.prometheusText)")
            #expect(sum(.requests, ["error.type": type]) == 1)
        }
        #expect(series(.responses).isEmpty && sum(.activeRequests) == 0 && sum(.connectionUses) == 1)
    }

    @Test func `The gauge of active requests is 0 again after a cancellation`() async throws {
        let gate = Gate()
        let server = try await LocalServer { router in
            router.get("/") { _ in
                await gate.wait()
                return .ok
            }
        }
        let session = session()
        let task = session.request(server.url).serializingNothing()
        _ = try await server.nextRequest()
        await session.earlierEventsDelivered()
        #expect(sum(.activeRequests) == 1)
        task.cancel()
        _ = await task.response
        await session.shutdown()
        gate.open()
        #expect(sum(.activeRequests) == 0 && count(.activeRequests) == 2)
        #expect(sum(.requests, ["error.type": "cancelled"]) == 1)
    }

    @Test func `A response from the cache has a source and no duration`() async throws {
        let server = try await LocalServer { router in
            router.get("/") { _ in .text("x", headers: ["Cache-Control": "max-age=1000"]) }
        }
        let session = session(cache: ResponseCache())
        for _ in 1...3 { _ = try await session.request(server.url).serializingString().value }
        await session.shutdown()
        #expect(server.requestCount == 1)
        #expect(sum(.responses, ["bluebonnet.response.source": "network"]) == 1)
        #expect(sum(.responses, ["bluebonnet.response.source": "cache"]) == 2)
        #expect(sum(.responses, ["bluebonnet.cache.status": "hit"]) == 2)
        #expect(sum(.responses, ["bluebonnet.cache.status": "uri-miss"]) == 1)
        #expect(count(.requestDuration) == 1 && sum(.activeRequests) == 0)
    }

    @Test func `An unknown method has a common figure, and a request that is not sent has its error`() async throws {
        let session = Session(eventMonitors: [metrics], transport: StubTransport { _ in .text("x") })
        for name in ["BREW", "WHEN"] {
            let method = HTTPMethod(rawValue: name)
            _ = await session.request("http://stub.test/", method: method).serializingString().response
        }
        let request = session.request("nothing://stub.test/").tag(RouteTag.self, "/none")
        _ = await request.serializingString().response
        await session.shutdown()
        #expect(sum(.requests, ["http.request.method": "_OTHER", "server.port": "80"]) == 2)
        #expect(sum(.requests, ["error.type": "invalid_request", "url.template": "/none"]) == 1)
        #expect(series(.activeRequests).count == 1)
    }

    @Test func `The host of an IPv6 address has no brackets`() throws {
        let url = try #require(URL(string: "https://user:pw@[::1]/"))
        let measurements = MetricsMonitor.Measurement.started(ExchangeRecord(request: HTTPRequest(url: url)))
        #expect(measurements.map(\.instrument) == [.activeRequests])
        #expect(measurements[0].attributes.map(\.value) == ["GET", "::1", "443"])
    }

    @Test func `A handshake takes the time between the connection and its end`() throws {
        let request = HTTPRequest(url: try #require(URL(string: "https://stub.test/")))
        var metrics = TransferMetrics()
        (metrics.connect, metrics.tlsHandshake, metrics.queue) = (.milliseconds(20), .milliseconds(50), .seconds(2))
        let record = ExchangeRecord(request: request, metrics: metrics)
        let all = MetricsMonitor.Measurement.ended(record, RequestError(.timedOut(.idle)))
        let values = Dictionary(uniqueKeysWithValues: all.map { ($0.instrument, $0.value) })
        #expect(
            values == [
                .activeRequests: -1, .requestDuration: 0, .timeInQueue: 2, .connectionUses: 1, .handshakeDuration: 0.03,
            ])
        #expect(all.first { $0.instrument == .requestDuration }?.attributes.last?.value == "timed_out.idle")
    }

    @Test func `The closure receives the same measurements as the metrics`() async throws {
        let table = Locked(MetricsTable(maximumSets: 1_000))
        let monitor = MetricsMonitor { measurement in table.withLock { $0.add(measurement) } }
        let session = Session(eventMonitors: [monitor], transport: StubTransport { _ in .text("x") })
        _ = try await session.request("http://stub.test/").serializingString().value
        await session.shutdown()
        #expect(monitor.snapshot() == table.withLock { $0 }.sorted && monitor.snapshot().count >= 4)
    }

    @Test func `A monitor of a single request receives that request alone`() async throws {
        let done = Gate()
        let monitor = MetricsMonitor { if $0.instrument == .requests { done.open() } }
        let session = Session(transport: StubTransport { _ in .text("x") })
        _ = try await session.request("http://other.test/").serializingString().value
        let request = session.request("http://stub.test/").eventMonitor(monitor)
        _ = try await request.serializingString().value
        await done.wait()
        let hosts = monitor.snapshot().flatMap(\.attributes).filter { $0.name == "server.address" }.map(\.value)
        #expect(Set(hosts) == ["stub.test"])
        await session.shutdown()
    }
}
