import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

extension EventScenario {
    // MARK: Kinds of request

    static let kinds = [
        EventScenario(
            testDescription: "upload",
            events: ["resume", "initial", "body", "created"] + exchange() + ["String", "finish"],
            run: {
                _ = await $0.session.upload(Data("abc".utf8), to: $0.server.url("/echo")).serializingString().response
            }
        ),
        EventScenario(
            testDescription: "multipart",
            events: ["resume", "initial", "body", "created"] + exchange() + ["String", "finish"],
            run: { scene in
                let request = scene.session.upload(
                    multipartFormData: { $0.append(Data("abc".utf8), withName: "a") }, to: scene.server.url("/echo"))
                _ = await request.serializingString().response
            }),
        EventScenario(
            testDescription: "upload of a file that is not there",
            events: [
                "resume", "initial", "body", "created", "task 1 of attempt 1", "body: unreadable",
                "complete 1: unreadable", "String: unreadable", "finish",
            ],
            run: {
                let file = URL(filePath: "/nowhere/\(UUID())")
                _ = await $0.session.upload(file, to: $0.server.url("/echo")).serializingString().response
            }),
        EventScenario(
            testDescription: "stream",
            events: start + ["task 1 of attempt 1", "head 200", "valid", "metrics", "complete 1", "finish"],
            run: { for try await _ in $0.session.streamRequest($0.server.url("/ok")).validate().streamTask().lines {} }),
        EventScenario(
            testDescription: "stream that is refused",
            events: start + ["task 1 of attempt 1", "head 404", "valid: status", "metrics", "complete 1", "finish"],
            run: {
                let lines = $0.session.streamRequest($0.server.url("/none")).validate().streamTask().lines
                do { for try await _ in lines {} } catch {}
            }),
        EventScenario(
            testDescription: "head before the body",
            events: start + exchange() + ["valid", "String", "finish"],
            run: {
                _ = await $0.session.request($0.server.url("/ok")).onHTTPResponse { _ in }.validate()
                    .serializingString().response
            }),
        EventScenario(
            testDescription: "download",
            events: start + exchange() + ["destination", "file of 1", "URL", "finish"],
            run: {
                let file = try await $0.session.download($0.server.url("/ok")).serializingURL().value
                try FileManager.default.removeItem(at: file)
            }),
        EventScenario(
            testDescription: "download whose file is validated",
            events: start + ["task 1 of attempt 1", "head 200", "valid", "metrics", "complete 1", "valid file"]
                + ["destination", "file of 1", "Data", "finish"],
            run: {
                let request = $0.session.download($0.server.url("/ok")).validate().validate { _, _, _ in .success(()) }
                _ = try await request.serializingData().value
                if let file = request.fileURL { try FileManager.default.removeItem(at: file) }
            }),
        EventScenario(
            testDescription: "download whose file is refused",
            events: start + exchange() + ["valid file: status", "file of 1: status", "URL: status", "finish"],
            run: {
                let request = $0.session.download($0.server.url("/ok"))
                    .validate { _, _, _ in .failure(TestFailure("no")) }
                _ = await request.serializingURL().response
            }),
        EventScenario(
            testDescription: "download that is refused",
            events: start
                + [
                    "task 1 of attempt 1", "head 404", "valid: status", "metrics", "complete 1", "URL: status",
                    "finish",
                ],
            run: { _ = await $0.session.download($0.server.url("/none")).validate().serializingURL().response }),
        EventScenario(
            testDescription: "download without a place for its file",
            events: ["resume", "initial", "initial: download", "URL: download", "finish"],
            run: {
                let destination = DownloadDestination.file(URL(filePath: "/dev/null/no/folder/file"))
                _ = await $0.session.download($0.server.url("/ok"), to: destination).serializingURL().response
            }),
    ]

    // MARK: Control

    /// Open when a delay has begun.
    private static let delay = Gate()

    static let control = [
        EventScenario(
            testDescription: "cancelled before the start", startsImmediately: false,
            events: ["cancel", "String: cancelled", "finish"],
            run: {
                let task = $0.session.request($0.server.url("/ok")).serializingString()
                task.cancel()
                task.cancel()
                _ = await task.response
            }),
        EventScenario(
            testDescription: "cancelled in flight",
            events: start
                + ["task 1 of attempt 1", "cancel", "metrics", "complete 1: cancelled", "String: cancelled", "finish"],
            run: {
                let task = $0.session.request($0.server.url("/late")).serializingString()
                _ = try await $0.server.nextRequest()
                task.cancel()
                _ = await task.response
            }),
        EventScenario(
            testDescription: "cancelled while it is adapted",
            interceptor: Interceptor(adapters: [
                Adapter { request, state in
                    let session = state.session
                    await session.withAllRequests { for request in $0 { request.cancel() } }
                    try await ContinuousClock().sleep(for: .seconds(100))
                    return request
                }
            ]),
            events: ["resume", "initial", "cancel", "adapted: cancelled", "String: cancelled", "finish"],
            run: { _ = await $0.session.request($0.server.url("/ok")).serializingString().response }),
        EventScenario(
            testDescription: "cancelled before a retry",
            configure: {
                $0.sleep = { duration in
                    delay.open()
                    try await ContinuousClock().sleep(for: duration)
                }
            }, interceptor: Interceptor(retriers: [Retrier { _, _, _ in .retryWithDelay(.seconds(100)) }]),
            events: start + exchange(status: 404)
                + ["valid: status", "again after 100.0 seconds: status", "cancel", "String: cancelled", "finish"],
            run: {
                let task = $0.session.request($0.server.url("/none")).validate().serializingString()
                async let response = task.response
                await delay.wait()
                task.cancel()
                _ = await response
            }),
        EventScenario(
            testDescription: "suspended and resumed",
            events: start
                + [
                    "task 1 of attempt 1", "suspend", "resume", "head 200", "metrics", "complete 1", "String", "finish",
                ],
            run: {
                let task = $0.session.request($0.server.url("/late")).serializingString()
                _ = try await $0.server.nextRequest()
                task.suspend()
                task.suspend()
                task.resume()
                task.resume()
                $0.gate.open()
                _ = await task.response
                task.suspend()
                task.cancel()
            }),
        EventScenario(
            testDescription: "suspended before the start", startsImmediately: false,
            events: ["suspend"] + start + exchange() + ["String", "finish"],
            run: {
                let task = $0.session.request($0.server.url("/ok")).suspend().serializingString()
                task.resume()
                _ = await task.response
            }),
        EventScenario(
            testDescription: "never started", startsImmediately: false, events: [],
            run: { _ = $0.session.request($0.server.url("/ok")).serializingString() }),
        EventScenario(
            testDescription: "all cancelled before the start", startsImmediately: false,
            events: ["resume", "cancel", "initial: cancelled", "String: cancelled", "finish"],
            run: {
                let task = $0.session.request($0.server.url("/ok")).serializingString()
                await $0.session.cancelAllRequests()
                task.resume()
                _ = await task.response
            }),
    ]
}
