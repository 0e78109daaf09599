// Follows redirects, inspects the redirected requests, and decides about
// redirects.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum Redirects {
    static func run() async throws {
        let away = try await LocalServer { router in
            router.get("/elsewhere") { request in
                .text(
                    "Authorization: \(request.headers["Authorization"] ?? "none")"
                )
            }
        }
        let server = try await LocalServer { router in
            router.get("/old", .redirect(to: "/older", status: 301))
            router.get("/older", .redirect(to: "/new"))
            router.get("/new", .text("Here it is."))
            router.get(
                "/away", .redirect(to: away.url("/elsewhere").absoluteString))
            router.get("/round", .redirect(to: "/round"))
        }
        let session = Session()
        try await follow(session, server)
        try await stay(session, server)
        try await decide(session, server)
        await lose(session, server)
        await session.shutdown()
    }

    static func follow(_ session: Session, _ server: LocalServer) async throws {
        // snippet.follow
        let response = await session.request(server.url("/old"))
            .validate().serializingString().response
        print(try response.result.get())
        for step in response.response?.history ?? [] {
            let target = step.headers["Location"] ?? "nowhere"
            print("\(step.statusCode) from \(step.url.path()) to \(target)")
        }
        // snippet.end
    }

    static func stay(_ session: Session, _ server: LocalServer) async throws {
        // snippet.stay
        let response = await session.request(server.url("/old"))
            .redirect(using: .doNotFollow)
            .serializingData(emptyResponseCodes: [301])
            .response
        print("Moved to \(response.headers["Location"] ?? "nowhere")")
        // snippet.end
    }

    static func decide(_ session: Session, _ server: LocalServer) async throws {
        // snippet.decide
        let text = try await session.request(
            server.url("/away"),
            headers: [.authorization(bearerToken: "secret")]
        )
        .redirect(
            using: .modify { request, newRequest, response in
                // `newRequest` does not contain the token, because it has
                // another origin.
                guard newRequest.url.host() == "127.0.0.1" else { return nil }
                return newRequest
            }
        )
        .serializingString()
        .value
        // snippet.end
        print(text)
    }

    static func lose(_ session: Session, _ server: LocalServer) async {
        let error = await session.request(server.url("/round"))
            .serializingString().response.error
        if case .redirect(let reason)? = error?.kind, case .loop = reason {
            print("Round and round.")
        }
    }
}

try await Redirects.run()
