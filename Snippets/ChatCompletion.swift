// Streams the answer of a language model (LLM) word by word, as chat programs
// do.
//
// The API is that of many providers: a POST whose response is a stream of
// server-sent events that ends with `[DONE]`.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

// snippet.model
struct Message: Codable, Sendable {
    var role: String
    var content: String
}

struct ChatRequest: Codable, Sendable {
    var model: String
    var messages: [Message]
    var stream = true
}

struct Chunk: Codable, Sendable {
    struct Choice: Codable, Sendable { var delta: Delta }
    struct Delta: Codable, Sendable { var content: String? }
    var choices: [Choice]
}
// snippet.end

// snippet.chat
struct ChatClient {
    let session: Session

    init(baseURL: URL, key: String) {
        var configuration = Session.Configuration()
        configuration.baseURL = baseURL
        configuration.headers.update(.authorization(bearerToken: key))
        session = Session(configuration: configuration)
    }

    /// Posts once, and yields the words as they arrive.
    ///
    /// Stopping the loop stops the request.
    func answer(to messages: [Message]) -> AsyncThrowingStream<
        String, any Error
    > {
        AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    var configuration = EventSource.Configuration()
                    // An answer that was cut off throws an error.
                    configuration.finalData = "[DONE]"
                    let events = session.eventSource(
                        "chat/completions", method: .post,
                        parameters: ChatRequest(
                            model: "m-1", messages: messages),
                        encoder: .json, configuration: configuration
                    ) {
                        // A model may think for some time before its first
                        // word.
                        $0.timeouts.idle = .seconds(120)
                    }
                    for try await event in events {
                        let chunk = try event.decodeData(as: Chunk.self)
                        for case let word? in chunk.choices.map(\.delta.content)
                        {
                            continuation.yield(word)
                        }
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { @Sendable _ in task.cancel() }
        }
    }
}
// snippet.end

let server = try await LocalServer { router in
    router.post("/v1/chat/completions") { request in
        guard request.headers["Authorization"] == "Bearer key-1" else {
            return .status(401)
        }
        let asked =
            try JSONDecoder().decode(ChatRequest.self, from: request.body)
            .messages
            .last?.content ?? ""
        let words =
            "You asked \"\(asked)\" Bluebonnets bloom from March to May."
            .split(separator: " ")
        return .stream(headers: ["Content-Type": "text/event-stream"]) {
            writer in
            for word in words {
                let chunk = Chunk(choices: [
                    .init(delta: .init(content: "\(word) "))
                ])
                let text = String(
                    decoding: try JSONEncoder().encode(chunk), as: UTF8.self)
                try await writer.write("data: \(text)\n\n")
                try await Task.sleep(for: .milliseconds(30))
            }
            try await writer.write("data: [DONE]\n\n")
        }
    }
}
let client = ChatClient(baseURL: server.url("/v1/"), key: "key-1")
for try await word in client.answer(to: [
    Message(role: "user", content: "When do bluebonnets bloom?")
]) {
    print(word, terminator: "")
}
print()
await client.session.shutdown()
