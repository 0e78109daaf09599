import BluebonnetTesting
import Foundation
import TestSupport
import Testing

@testable import BluebonnetCallbacks

@Suite(.timeLimit(.minutes(10))) struct HandlerQueueTests {
    private let session = Session(transport: StubTransport { _ in .text("here") })
    private let url = "http://stub.test/"

    @Test func `A handler is called on its queue`() async {
        let log = CallLog<Void>()
        let queue = DispatchQueue(label: "mine")
        session.request(url)
            .onURLRequestCreation(on: queue) { _ in
                dispatchPrecondition(condition: .onQueue(queue))
                log.note(())
            }
            .onHTTPResponse(on: queue) { _ in
                dispatchPrecondition(condition: .onQueue(queue))
                log.note(())
            }
            .cURLDescription(on: queue) { _ in
                dispatchPrecondition(condition: .onQueue(queue))
                log.note(())
            }
            .downloadProgress(queue: queue) { _ in dispatchPrecondition(condition: .onQueue(queue)) }
            .response(queue: queue) { _ in
                dispatchPrecondition(condition: .onQueue(queue))
                dispatchPrecondition(condition: .notOnQueue(.main))
                log.note(())
            }
        _ = await log.wait(for: 4)
    }

    @Test func `A handler without a queue is called on the main queue, in the main actor's isolation`() async {
        let log = CallLog<Void>()
        let scene = MainScene()
        await scene.begin(session.request(url), log)
        _ = await log.wait(for: 4)
        #expect(await scene.text == "here")
    }

    @Test func `No part of a request runs on the main queue unless its handlers do`() async {
        let log = CallLog<Void>()
        let queue = DispatchQueue(label: "mine")
        await MainActor.run {
            _ = session.request(url)
                .adapt { request, _ in
                    dispatchPrecondition(condition: .notOnQueue(.main))
                    return request
                }
                .validate { _, _, _ in
                    dispatchPrecondition(condition: .notOnQueue(.main))
                    return .success(())
                }
                .response(
                    queue: queue,
                    responseSerializer: ClosureResponseSerializer { _ in
                        dispatchPrecondition(condition: .notOnQueue(.main))
                    }
                ) { _ in log.note(()) }
        }
        _ = await log.wait(for: 1)
    }
}

/// A user of handlers that belongs to the main actor.
@MainActor private final class MainScene {
    var text = ""
    var count = 0

    func begin(_ request: DataRequest, _ log: CallLog<Void>) {
        request
            .onURLRequestCreation { _ in
                dispatchPrecondition(condition: .onQueue(.main))
                self.count += 1
                log.note(())
            }
            .onHTTPResponse { response in
                dispatchPrecondition(condition: .onQueue(.main))
                self.count += response.statusCode
                log.note(())
            }
            .onHTTPResponse { _, completionHandler in
                dispatchPrecondition(condition: .onQueue(.main))
                self.count += 1
                log.note(())
                completionHandler(.allow)
            }
            .downloadProgress { progress in
                dispatchPrecondition(condition: .onQueue(.main))
                self.count += Int(progress.completedUnitCount)
            }
            .responseString { response in
                dispatchPrecondition(condition: .onQueue(.main))
                self.text = response.value ?? ""
                log.note(())
            }
    }
}

@Suite(.timeLimit(.minutes(10))) struct BlockedMainThreadTests {
    @Test func `A program with a blocked main thread receives its response on another queue`() async throws {
        let server = try await LocalServer { router in router.get("/") { _ in .text("1234567") } }
        let program = try RunningProgram("CallbackProgram", [server.url.absoluteString])
        let outcome = await program.outcome()
        #expect(outcome.code == 0 && String(decoding: outcome.output, as: UTF8.self) == "7\n")
    }
}
