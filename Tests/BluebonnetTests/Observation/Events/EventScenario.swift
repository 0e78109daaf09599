import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// Actions with a session, and the events that its monitors receive.
struct EventScenario: Sendable, CustomTestStringConvertible {
    /// The server and the session of a scenario.
    struct ScenarioSession: Sendable {
        let session: Session
        let server: LocalServer
        let gate: Gate
    }

    let testDescription: String
    var configure: @Sendable (inout Session.Configuration) -> Void = { _ in }
    var interceptor: Interceptor?
    var startsImmediately = true
    let events: [String]
    let run: @Sendable (ScenarioSession) async throws -> Void

    /// The events of a successful exchange, with or without validation.
    static func exchange(_ id: Int = 1, attempt: Int = 1, status: Int = 200) -> [String] {
        ["task \(id) of attempt \(attempt)", "head \(status)", "metrics", "complete \(id)"]
    }

    static let start = ["resume", "initial", "created"]

    static var all: [EventScenario] { ends + attempts + kinds + control }

    // MARK: How requests end

    static let ends = [
        EventScenario(
            testDescription: "success", events: start + exchange() + ["valid", "String", "finish"],
            run: { _ = await $0.session.request($0.server.url("/ok")).validate().serializingString().response }),
        EventScenario(
            testDescription: "404 that is refused",
            events: start + exchange(status: 404) + ["valid: status", "String: status", "finish"],
            run: { _ = await $0.session.request($0.server.url("/none")).validate().serializingString().response }),
        EventScenario(
            testDescription: "404 that is none's business",
            events: start + exchange(status: 404) + ["String", "finish"],
            run: { _ = await $0.session.request($0.server.url("/none")).serializingString().response }),
        EventScenario(
            testDescription: "no connection",
            events: start + [
                "task 1 of attempt 1", "metrics", "complete 1: connection", "String: connection", "finish",
            ],
            run: {
                await $0.server.stop()
                _ = await $0.session.request($0.server.url("/ok")).serializingString().response
            }),
        EventScenario(
            testDescription: "no URL", events: ["resume", "initial: no URL", "Data: no URL", "finish"],
            run: { _ = await $0.session.request("no URL").serializingData().response }),
        EventScenario(
            testDescription: "invalid request", events: ["resume", "initial: invalid", "Data: invalid", "finish"],
            run: {
                _ = await $0.session.request($0.server.url("/ok"), headers: ["A B": "c"]).serializingData().response
            }),
        EventScenario(
            testDescription: "serializer that fails",
            events: ["suspend"] + start + exchange() + ["Int: serializer", "String", "finish"],
            run: {
                let request = $0.session.request($0.server.url("/ok"))
                // Only when both are there is anything served.
                request.suspend()
                let tasks = (request.serializingDecodable(Int.self), request.serializingString())
                request.resume()
                _ = await (tasks.0.response, tasks.1.response)
            }),
        EventScenario(
            testDescription: "timeout", configure: { $0.timeouts.idle = .milliseconds(200) },
            events: start + ["task 1 of attempt 1", "metrics", "complete 1: timeout", "String: timeout", "finish"],
            run: { _ = await $0.session.request($0.server.url("/late")).serializingString().response }),
        EventScenario(
            testDescription: "a session that was shut down", events: ["resume", "Data: shut down", "finish"],
            run: {
                await $0.session.shutdown()
                _ = await $0.session.request($0.server.url("/ok")).serializingData().response
            }),
        EventScenario(
            testDescription: "a session that is shut down before the start", startsImmediately: false,
            events: ["Data: shut down", "finish"],
            run: { scene in
                let task = scene.session.request(scene.server.url("/ok")).serializingData()
                async let response = task.response
                while await scene.session.withAllRequests({ $0.isEmpty }) { await Task.yield() }
                await scene.session.shutdown()
                _ = await response
            }),
        EventScenario(
            testDescription: "serializer that comes late", events: start + exchange() + ["String", "finish", "Data"],
            run: {
                let request = $0.session.request($0.server.url("/ok"))
                _ = await request.serializingString().response
                _ = await request.serializingData().response
            }),
    ]

    // MARK: Attempts

    static let attempts = [
        EventScenario(
            testDescription: "adapter", interceptor: Interceptor(adapters: [Adapter { request, _ in request }]),
            events: ["resume", "initial", "adapted", "created"] + exchange() + ["String", "finish"],
            run: { _ = await $0.session.request($0.server.url("/ok")).serializingString().response }),
        EventScenario(
            testDescription: "adapter that fails",
            interceptor: Interceptor(adapters: [Adapter { _, _ in throw TestFailure("no") }]),
            events: ["resume", "initial", "adapted: adapter", "Data: adapter", "finish"],
            run: { _ = await $0.session.request($0.server.url("/ok")).serializingData().response }),
        EventScenario(
            testDescription: "retry, then success", interceptor: .retrying { _ in .retry },
            events: start + exchange(status: 503)
                + ["valid: status", "again: status", "retrying", "initial", "created"] + exchange(2, attempt: 2) + [
                    "valid", "String", "finish",
                ],
            run: { _ = await $0.session.request($0.server.url("/busy")).validate().serializingString().response }),
        EventScenario(
            testDescription: "retry with a delay, then failure",
            configure: { $0.sleep = { _ in } },
            interceptor: .retrying { $0 == 0 ? .retryWithDelay(.seconds(9)) : .doNotRetry },
            events: start + exchange(status: 404)
                + ["valid: status", "again after 9.0 seconds: status", "retrying", "initial", "created"]
                + exchange(2, attempt: 2, status: 404) + ["valid: status", "String: status", "finish"],
            run: { _ = await $0.session.request($0.server.url("/none")).validate().serializingString().response }),
        EventScenario(
            testDescription: "serializer that fails, then retry",
            interceptor: .retrying { $0 == 0 ? .retry : .doNotRetry },
            events: start + exchange() + ["again: serializer", "retrying", "initial", "created"]
                + exchange(2, attempt: 2) + ["Int: serializer", "finish"],
            run: { _ = await $0.session.request($0.server.url("/ok")).serializingDecodable(Int.self).response }),
        EventScenario(
            testDescription: "redirect",
            events: start + exchange(status: 302) + ["redirected to /ok by 302"] + exchange(2) + ["String", "finish"],
            run: { _ = await $0.session.request($0.server.url("/redirect")).serializingString().response }),
        EventScenario(
            testDescription: "redirect that is not followed",
            events: start + exchange(status: 302) + ["Data", "finish"],
            run: {
                _ = await $0.session.request($0.server.url("/redirect")).redirect(using: Redirector.doNotFollow)
                    .serializingResponse(using: DataResponseSerializer(emptyResponseCodes: [302])).response
            }),
    ]
}

extension RequestInterceptor where Self == Interceptor {
    /// Decides by how many retries there were.
    fileprivate static func retrying(_ decide: @escaping @Sendable (Int) -> RetryResult) -> Interceptor {
        Interceptor(retriers: [Retrier { request, _, _ in decide(request.retryCount) }])
    }
}
