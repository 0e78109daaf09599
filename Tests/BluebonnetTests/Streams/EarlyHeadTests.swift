import BluebonnetTesting
import FoundationEssentials
import Glibc
import Testing

@testable import Bluebonnet

/// A transport whose responses are quicker than it is to return the exchange.
@Suite(.timeLimit(.minutes(10))) struct EarlyHeadTests {
    @Test(arguments: [200, 500])
    func `a body is received although its head arrives before its exchange is known`(status: Int) async throws {
        for _ in 1...50 {
            let session = Session(transport: EarlyHeadTransport(status: status))
            let task = session.streamRequest("http://example.com/a").validate().streamTask()
            let (body, error) = await StreamFixture.body(task.bytes)
            #expect(body == Data((status == 200 ? "body" : "").utf8))
            #expect(error?.statusCode == (status == 200 ? nil : 500))
            #expect(error?.body == (status == 200 ? nil : Data("body".utf8)))
            await session.shutdown()
        }
    }

    @Test func `a request completes although its outcome arrives before its exchange is known`() async throws {
        for _ in 1...50 {
            let session = Session(transport: EarlyHeadTransport(status: 200))
            let request = session.request("http://example.com/a")
            #expect(try await request.serializingString().value == "body")
            let asked = session.request("http://example.com/a").onHTTPResponse { _ in .allow }
            #expect(try await asked.serializingString().value == "body")
            await session.shutdown()
        }
    }
}

/// Reports heads, and the beginnings of bodies, before it returns the exchange.
private struct EarlyHeadTransport: Transport {
    let status: Int
    var executor: (any TaskExecutor)? { nil }

    func start(_ request: HTTPRequest, options: ExchangeOptions, observer: any ExchangeObserver) -> any Exchange {
        let response = HTTPResponse(url: request.url, statusCode: status, headers: [:])
        let exchange = EarlyHeadExchange(response: response, observer: observer)
        if options.pausesBody { observer.exchangeDidReceiveHead(response) } else { exchange.receiveBody(with: nil) }
        // Other tasks can continue meanwhile.
        usleep(200)
        return exchange
    }

    func shutDown() async {}
}

private final class EarlyHeadExchange: Exchange {
    private let response: HTTPResponse
    private let observer: any ExchangeObserver

    init(response: HTTPResponse, observer: any ExchangeObserver) {
        self.response = response
        self.observer = observer
    }

    func cancel() {}
    func suspend() {}
    func resume() {}
    func receiveMore() {}

    func receiveBody(with receiver: (any BodyReceiver)?) {
        let body = Data("body".utf8)
        _ = receiver?.receive(body)
        observer.exchangeDidComplete(ExchangeOutcome(response: response, body: receiver == nil ? body : Data()))
    }
}
