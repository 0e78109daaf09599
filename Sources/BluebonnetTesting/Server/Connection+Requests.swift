import Bluebonnet
import FoundationEssentials

/// Reading requests, and finding who answers them.
extension Connection {
    /// Reads on in a request; says whether more may be possible.
    func readRequest() -> Bool {
        switch parser.next() {
        case .needsBytes:
            if peerHasEnded { close() }
            return false
        case .head(let head):
            begin(head)
        case .body(let piece):
            body.append(contentsOf: piece)
        case .end(let trailers):
            complete(trailers)
        case .failed(let failure):
            let context = ResponseEncoder.Context(method: .get, version: .http1_1, keepsAlive: false)
            send(.text("\(failure.reason)\n", status: failure.status), to: context)
        }
        return true
    }

    private func begin(_ head: RequestHead) {
        self.head = head
        target = RequestTarget(head.target)
        match = context.router.match(head.method, target.path)
        body = Data()
        if case .endpoint(.streaming(let route), let parameters) = match {
            var request = LocalServer.Request(head, target: target, body: body, trailers: [:], connection: id)
            request.parameters = parameters
            exchange = exchange.next
            return beginStreaming(head, route, request)
        }
        if case .length(let length) = head.framing { body.reserveCapacity(min(length, 1024 * 1024)) }
        guard head.expectsContinue, head.framing != .none, parser.bufferedCount == 0 else { return }
        if case .endpoint = match { return outgoing.append(ResponseEncoder.continue) }
        // The final answer comes instead of the 100; since the body may come nevertheless, nothing can follow.
        self.head?.keepsAlive = false
        complete([:])
    }

    private func complete(_ trailers: HTTPHeaders) {
        guard let head else { return }
        // A script that stood for the answer has left the end of the body to be read.
        if case .endpoint(.streaming, _) = match { return }
        var request = LocalServer.Request(head, target: target, body: body, trailers: trailers, connection: id)
        body = Data()
        request.sequence = context.record.requestReceived(request)
        exchange = exchange.next
        switch match {
        case .endpoint(.fixed(let response), _) where !response.needsTask(for: head.method):
            answer(response)
        case .endpoint(.fixed(let response), let parameters):
            request.parameters = parameters
            startTask(request) { _ in response }
        case .endpoint(.handler(let handler), let parameters):
            request.parameters = parameters
            startTask(request, handler)
        case .endpoint(.streaming, _):
            break
        case .methodNotAllowed(let allowed):
            let list = allowed.map(\.rawValue).joined(separator: ", ")
            let allow = HTTPHeaders([HTTPHeader(name: "Allow", value: list)])
            answer(.text("\(target.path) allows \(list)\n", status: 405, headers: allow))
        case .notFound:
            answer(.text("there is no route for \(target.path)\n", status: 404))
        }
    }

    func startTask(_ request: LocalServer.Request, _ handler: @escaping LocalServer.Router.Handler) {
        guard let core = context.core else { return close() }
        phase = .routing
        let exchange = exchange
        task = Task { await RouteRun(core: core, exchange: exchange, request: request).run(handler) }
    }
}
