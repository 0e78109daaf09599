// Sends and receives JSON values over a WebSocket, and tests the code without a
// network.

import Bluebonnet
import BluebonnetTesting
import FoundationEssentials

struct Subscription: Codable, Sendable {
    var symbol: String
}

struct Quote: Codable, Sendable {
    var symbol: String
    var price: Double
}

// snippet.values
/// Returns the first price of a symbol that is at least as high as a limit.
func price(
    of symbol: String, reaching limit: Double, from url: String,
    _ session: Session
) async throws -> Double? {
    let task = session.webSocket(url, protocols: ["quotes.v1"]).webSocketTask()
    try await task.send(json: Subscription(symbol: symbol))
    for try await quote in task.decodables(of: Quote.self)
    where quote.symbol == symbol && quote.price >= limit {
        return quote.price
    }
    return nil
}
// snippet.end

enum Market {
    static func run() async throws {
        try await askServer()
        try await askStub()
    }

    static func askServer() async throws {
        // snippet.server
        let server = try await LocalServer { router in
            router.webSocket(
                "/quotes", protocols: ["quotes.v1"],
                first: [.text(#"{"symbol":"-","price":0}"#)]
            ) {
                message in
                guard case .text(let text) = message else {
                    return [.close(.unsupportedData)]
                }
                let symbol = try JSONDecoder().decode(
                    Subscription.self, from: Data(text.utf8)
                ).symbol
                return (1...5).map {
                    .text(#"{"symbol":"\#(symbol)","price":\#($0)}"#)
                }
            }
        }
        // snippet.end
        let session = Session()
        let found = try await price(
            of: "TEA", reaching: 3,
            from: "ws://127.0.0.1:\(server.port)/quotes",
            session)
        print("server:", found ?? "none")
        await session.shutdown()
    }

    static func askStub() async throws {
        // snippet.stub
        let transport = StubTransport()
        transport.stub(
            .get, "/quotes",
            .webSocket { _ in
                [
                    .text(#"{"symbol":"TEA","price":1}"#),
                    .close(.goingAway, reason: "the market is closed"),
                ]
            })
        let session = Session(transport: transport)
        let found = try await price(
            of: "TEA", reaching: 3, from: "wss://market.example/quotes", session
        )
        // snippet.end
        print("stub:", found ?? "none")
        await session.shutdown()
    }
}

try await Market.run()
