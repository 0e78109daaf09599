// Authenticates after a server's challenge, and sends credentials without a
// challenge.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

enum BasicAndDigest {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.fallback { request in
                guard let field = request.headers["Authorization"] else {
                    let challenge =
                        request.path == "/basic"
                        ? "Basic"
                        : "Digest nonce=once, qop=auth, algorithm=SHA-256,"
                    return .text(
                        "Who?", status: 401,
                        headers: ["WWW-Authenticate": "\(challenge) realm=here"]
                    )
                }
                return .text("Come in, with \(field.prefix { $0 != " " })")
            }
        }
        let session = Session()
        try await answer(session, server.url("/digest"))
        try await choose(session, server.url("/basic"))
        try await unasked(session, server.url("/basic"))
        await refused(session, server.url("/basic"))
        await session.shutdown()
    }

    static func answer(_ session: Session, _ url: URL) async throws {
        // snippet.answer
        let text = try await session.request(url)
            .authenticate(username: "me", password: "secret")
            .validate()
            .serializingString()
            .value
        // snippet.end
        print(text)
    }

    static func choose(_ session: Session, _ url: URL) async throws {
        // snippet.schemes
        let digestOnly = Credential(
            username: "me", password: "secret", schemes: .digest)
        let response = await session.request(url)
            .authenticate(using: digestOnly).serializingString().response
        // snippet.end
        print("Basic was asked for: \(response.statusCode ?? 0)")
    }

    static func unasked(_ session: Session, _ url: URL) async throws {
        // snippet.unasked
        let headers: HTTPHeaders = [
            .authorization(username: "me", password: "secret")
        ]
        let text = try await session.request(url, headers: headers)
            .validate().serializingString().value
        // snippet.end
        print(text)
    }

    static func refused(_ session: Session, _ url: URL) async {
        // snippet.refused
        let response = await session.request(url)
            .validate().serializingString().response
        if response.error?.statusCode == 401 {
            let challenge = response.headers["WWW-Authenticate"]
            print("The server asks: \(challenge ?? "")")
        }
        // snippet.end
    }
}

try await BasicAndDigest.run()
