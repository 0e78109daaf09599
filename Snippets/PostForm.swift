// Sends parameters as a form, as JSON and in a query, and prints the requests
// that the server receives.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

// snippet.parameters
struct Order: Encodable, Sendable {
    var tea = "Earl Grey"
    var grams = 250
    var extras = ["lemon", "honey"]
    var isGift = true
}
// snippet.end

enum PostForm {
    static func run() async throws {
        // The response shows the received request.
        let server = try await LocalServer { router in
            router.fallback { request in
                let type =
                    request.headers["Content-Type"].map { "\n\($0)" } ?? ""
                return .text(
                    "\(request.method) \(request.target)\(type)\n\(request.text)"
                )
            }
        }
        let session = Session()
        let url = server.url("/orders")
        try await form(session, url)
        try await customForm(session, url)
        try await json(session, url)
        try await query(session, url)
        try await ready(session, url)
        await session.shutdown()
    }

    static func form(_ session: Session, _ url: any URLConvertible) async throws
    {
        // snippet.form
        let answer = try await session.request(
            url, method: .post, parameters: Order()
        )
        .validate()
        .serializingString()
        .value
        // snippet.end
        show("A form", answer)
    }

    static func customForm(_ session: Session, _ url: any URLConvertible)
        async throws
    {
        // snippet.custom-form
        let encoder = URLEncodedFormEncoder(
            arrayEncoding: .noBrackets, boolEncoding: .literal,
            keyEncoding: .convertToSnakeCase,
            spaceEncoding: .plusReplaced)
        let answer =
            try await session
            .request(
                url, method: .post, parameters: Order(),
                encoder: .urlEncodedForm(encoder: encoder)
            )
            .validate()
            .serializingString()
            .value
        // snippet.end
        show("A form as another server wants it", answer)
    }

    static func json(_ session: Session, _ url: any URLConvertible) async throws
    {
        // snippet.json
        let answer = try await session.request(
            url, method: .post, parameters: Order(), encoder: .json
        )
        .validate()
        .serializingString()
        .value
        // snippet.end
        show("JSON", answer)
    }

    static func query(_ session: Session, _ url: any URLConvertible)
        async throws
    {
        // snippet.query
        let answer = try await session.request(
            url, parameters: ["sort": "price", "page": "2"]
        )
        .validate()
        .serializingString()
        .value
        // snippet.end
        show("A query", answer)
    }

    static func ready(_ session: Session, _ url: any URLConvertible)
        async throws
    {
        // snippet.request
        var request = try HTTPRequest(
            url: url, method: .put, headers: [.contentType("text/plain")])
        request.body = .data(Data("two boxes, please".utf8))
        request.timeouts = Timeouts(connect: .seconds(5), total: .seconds(20))
        let answer = try await session.request(request)
            .validate().serializingString().value
        // snippet.end
        show("A request made by hand", answer)
    }

    static func show(_ title: String, _ answer: String) {
        print("\(title):")
        for line in answer.split(whereSeparator: \.isNewline) {
            print("    \(line)")
        }
    }
}

try await PostForm.run()
