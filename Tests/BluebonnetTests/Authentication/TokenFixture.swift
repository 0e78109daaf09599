import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

/// A token with a number, which can report that it has expired.
struct Token: AuthenticationCredential, Equatable {
    let number: Int
    var requiresRefresh = false

    var field: HTTPHeader { .authorization(bearerToken: "token-\(number)") }
}

/// Numbers the tokens, and refreshes them as the test specifies.
final class TokenAuthenticator: Authenticator {
    private let count = Locked(0)
    private let refreshing: @Sendable (Token, Session) async throws -> Token

    init(_ refreshing: @escaping @Sendable (Token, Session) async throws -> Token) {
        self.refreshing = refreshing
    }

    /// Brings the next token.
    convenience init() {
        self.init { token, _ in Token(number: token.number + 1) }
    }

    /// How many refreshes have begun.
    var refreshCount: Int { count.withLock { $0 } }

    func apply(_ credential: Token, to request: inout HTTPRequest) {
        request.headers.update(credential.field)
    }

    @concurrent
    func refresh(_ credential: Token, for session: Session) async throws -> Token {
        count.withLock { $0 += 1 }
        return try await refreshing(credential, session)
    }

    func didRequest(
        _ request: HTTPRequest, with response: HTTPResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }

    func isRequest(_ request: HTTPRequest, authenticatedWith credential: Token) -> Bool {
        request.headers["Authorization"] == credential.field.value
    }
}

/// The shared parts of the tests of authentication.
enum TokenFixture {
    static let url = "http://api.example/data"

    /// Answers 200 to a token of at least this number, and 401 to others.
    static func transport(accepting number: Int) -> StubTransport {
        StubTransport { request in
            let text = request.headers["Authorization"]?.dropFirst("Bearer token-".count)
            guard let sent = text.flatMap({ Int($0) }), sent >= number else { return .status(401) }
            return .text("data")
        }
    }

    /// Sends a number of requests at the same time and returns their errors; `nil` for a successful request.
    static func errors(of count: Int, in session: Session, url: String = url) async -> [RequestError?] {
        let tasks = (0..<count).map { _ in session.request(url).validate().serializingString() }
        var errors: [RequestError?] = []
        for task in tasks { errors.append(await task.response.error) }
        return errors
    }
}
