// Sends a token with every request, and refreshes the token when it expires.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

// snippet.credential
struct OAuthCredential: AuthenticationCredential {
    let accessToken: String
    let refreshToken: String
    let expiration: Date

    // Refresh the token early, because a request takes time to reach the
    // server.
    var requiresRefresh: Bool {
        Date(timeIntervalSinceNow: 5 * 60) > expiration
    }
}
// snippet.end

// snippet.authenticator
struct OAuthAuthenticator: Authenticator {
    let tokenURL: URL

    struct Answer: Decodable {
        let accessToken: String
        let refreshToken: String
        let expiresIn: Double
    }

    func apply(_ credential: OAuthCredential, to request: inout HTTPRequest) {
        request.headers.update(
            .authorization(bearerToken: credential.accessToken))
    }

    func refresh(_ credential: OAuthCredential, for session: Session)
        async throws
        -> OAuthCredential
    {
        // This request can use the same session, because it does not wait for
        // the current refresh.
        let parameters = [
            "grant_type": "refresh_token",
            "refresh_token": credential.refreshToken,
        ]
        let answer = try await session.request(
            tokenURL, method: .post, parameters: parameters
        )
        .validate()
        .serializingDecodable(Answer.self)
        .value
        return OAuthCredential(
            accessToken: answer.accessToken, refreshToken: answer.refreshToken,
            expiration: Date(timeIntervalSinceNow: answer.expiresIn))
    }

    func didRequest(
        _ request: HTTPRequest, with response: HTTPResponse,
        failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }

    func isRequest(
        _ request: HTTPRequest, authenticatedWith credential: OAuthCredential
    ) -> Bool {
        request.headers["Authorization"]
            == HTTPHeader.authorization(bearerToken: credential.accessToken)
            .value
    }
}
// snippet.end

enum BearerToken {
    static func run() async throws {
        let server = try await LocalServer { router in
            router.get("/me") { request in
                request.headers["Authorization"] == "Bearer new"
                    ? .text("Ada") : .status(401)
            }
            router.post(
                "/token",
                .json([
                    "accessToken": Value.text("new"),
                    "refreshToken": .text("next"),
                    "expiresIn": .number(3600),
                ]))
        }
        let url = server.url("/me")
        let tokenURL = server.url("/token")

        // snippet.session
        let interceptor = AuthenticationInterceptor(
            authenticator: OAuthAuthenticator(tokenURL: tokenURL),
            credential: OAuthCredential(
                accessToken: "old", refreshToken: "stored",
                expiration: Date(timeIntervalSinceNow: 3600)))
        let session = Session(interceptor: interceptor)

        // Call `validate()`, so that a 401 fails the request and reaches the
        // interceptor.
        let name = try await session.request(url)
            .validate().serializingString().value
        // snippet.end
        print("Hello, \(name).")

        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...100 {
                group.addTask {
                    try await session.request(url)
                        .validate().serializingString()
                        .value
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let refreshes = server.requests.count { $0.path == "/token" }
        print("\(names.count) more requests, \(refreshes) refresh.")
        await session.shutdown()
    }

    /// The JSON object that the server returns.
    enum Value: Encodable {
        case text(String)
        case number(Int)

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .number(let number): try container.encode(number)
            }
        }
    }
}

try await BearerToken.run()
