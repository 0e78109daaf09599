// Cancels requests in three ways: through their task, explicitly, and with a
// timeout. Also suspends a request.

import Bluebonnet
import BluebonnetTesting

enum Cancellation {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/slow") { _ in
                try await Task.sleep(for: .seconds(60))
                return .ok
            }
            router.get("/quick", .text("here I am"))
        }
        let session = Session()
        try await byTask(session, server)
        await byHand(session, server)
        await byTimeout(session, server)
        try await withoutTheRequest(session, server)
        try await heldBack(session, server)
        try await all(session, server)
        try await asAWhole(session, server)
        // snippet.shutdown
        await session.shutdown()
        // snippet.end
        await afterShutdown(session, server)
        await withDeadline(server)
    }

    static func byTask(_ session: Session, _ server: LocalServer) async throws {
        // snippet.task
        let task = Task {
            try await session.request(server.url("/slow"))
                .serializingString().value
        }
        // The server has received the request.
        _ = try await server.nextRequest()
        task.cancel()
        let result = await task.result
        // snippet.end
        print("Its task was cancelled:       \(result)")
    }

    static func byHand(_ session: Session, _ server: LocalServer) async {
        // snippet.request
        let request = session.request(server.url("/slow"))
        let task = request.serializingString()
        request.cancel()
        let error = await task.response.error
        // snippet.end
        print(
            "It was cancelled by hand:     \(error?.isCancellation == true), state \(request.state)"
        )
    }

    static func byTimeout(_ session: Session, _ server: LocalServer) async {
        // snippet.timeout
        let request = session.request(server.url("/slow")) { request in
            request.timeouts = Timeouts(
                connect: .seconds(5), idle: .milliseconds(200),
                total: .seconds(10))
        }
        let error = await request.serializingString().response.error
        // snippet.end
        print(
            "Nothing came for too long:    \(error?.isTimeout == true), \(error.map { "\($0.kind)" } ?? "no error")"
        )
    }

    static func withoutTheRequest(_ session: Session, _ server: LocalServer)
        async throws
    {
        // snippet.shared
        let shared = session.request(server.url("/quick"))
            .serializingString(automaticallyCancelling: false)
        let impatient = Task { await shared.result }
        impatient.cancel()
        let value = try await shared.value  // the request was not cancelled
        // snippet.end
        print("Only one of two gave up:      \(value)")
    }

    static func heldBack(_ session: Session, _ server: LocalServer) async throws
    {
        // snippet.suspend
        let request = session.request(server.url("/quick")).suspend()
        // This does not start the request, because it is suspended.
        let task = request.serializingString()
        print("It was held back:             \(request.state)")
        request.resume()
        let value = try await task.value
        // snippet.end
        print("It was resumed:               \(value), \(request.state)")
    }

    static func all(_ session: Session, _ server: LocalServer) async throws {
        // snippet.all
        let tasks = (1...3).map { _ in
            session.request(server.url("/slow")).serializingData()
        }
        await session.cancelAllRequests()
        // snippet.end
        var ended = 0
        for task in tasks
        where await task.response.error?.isCancellation == true {
            ended += 1
        }
        print("All were cancelled:           \(ended) of \(tasks.count)")
    }

    static func afterShutdown(_ session: Session, _ server: LocalServer) async {
        let result = await session.request(server.url("/quick"))
            .serializingString().result
        print("Its session was shut down:    \(result)")
    }

    static func asAWhole(_ session: Session, _ server: LocalServer) async throws
    {
        // snippet.whole
        let request = session.request(
            server.url("/slow"), interceptor: RetryPolicy())
        let limit = Task {
            try await Task.sleep(for: .milliseconds(200))
            request.cancel()
        }
        let result = await request.serializingString().result
        limit.cancel()
        // snippet.end
        print("It took too long as a whole:  \(result)")
    }

    static func withDeadline(_ server: LocalServer) async {
        let session = Session()
        let held = session.streamRequest(server.url("/slow"))
            .streamTask().streamingData()
        // snippet.deadline
        let deadline = Task {
            try await Task.sleep(for: .milliseconds(200))
            await session.cancelAllRequests()
        }
        await session.shutdown()
        deadline.cancel()
        // snippet.end
        withExtendedLifetime(held) {
            print("The shutdown did not wait longer.")
        }
    }
}

try await Cancellation.run()
