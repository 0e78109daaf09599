import Bluebonnet
import FoundationEssentials

/// Bodies that a route reads piece by piece, while it may be answering already.
extension Connection {
    /// Is told what a read came to.
    typealias Reader = CheckedContinuation<IncomingBody.Answer, Never>

    /// Has a route answer a request of which the head has been read.
    func beginStreaming(
        _ head: RequestHead, _ route: LocalServer.Router.StreamingRoute, _ request: LocalServer.Request
    ) {
        guard let core = context.core else { return close() }
        let expects = head.expectsContinue && head.framing != .none && parser.bufferedCount == 0
        let counts = IncomingBody.Counts()
        continuePolicy = route.continues
        incoming = IncomingBody(of: request, awaitsContinue: expects, options: context.options, counts: counts)
        if route.continues == .immediately { sendContinue() }
        let length: Int? =
            switch head.framing {
            case .none: 0
            case .length(let length): length
            case .chunked: nil
            }
        let reader = LocalServer.BodyReader(length: length, core: core, exchange: exchange, counts: counts)
        startTask(request) { try await route.handler($0, reader) }
    }

    /// Has a reader told what comes next of the body.
    func readBody(_ reader: Reader) {
        guard incoming != nil else { return reader.resume(returning: .failure(.connectionClosed)) }
        readers.append(reader)
        if continuePolicy == .whenRead, case .routing = phase { sendContinue() }
        answerReaders()
        proceed()
    }

    /// Takes in what there is of the body, as far as there is room.
    func receiveBody() {
        guard incoming != nil else { return }
        if case .sending = phase { incoming?.answered() }
        while incoming?.hasRoom == true {
            switch parser.next() {
            case .body(let piece):
                incoming?.pieceReceived(piece)
                answerReaders()
            case .end:
                incoming?.completed()
                recordIncoming()
            case .failed(let failure):
                incoming?.failed(.malformedBody(status: failure.status, reason: failure.reason))
                recordIncoming()
            case .needsBytes where peerHasEnded:
                incoming?.failed(.connectionClosed)
                recordIncoming()
            case .needsBytes, .head:
                return answerReaders()
            }
        }
        answerReaders()
    }

    /// Gives up what has not come yet of the body.
    func abandonBody() {
        guard incoming != nil else { return }
        incoming?.failed(.connectionClosed)
        incoming?.answered()
        recordIncoming()
        answerReaders()
        incoming = nil
    }

    private func sendContinue() {
        guard incoming?.awaitsContinue == true else { return }
        outgoing.append(ResponseEncoder.continue)
        incoming?.continueSent()
    }

    private func answerReaders() {
        while !readers.isEmpty, let answer = incoming?.read() {
            readers.removeFirst().resume(returning: answer)
        }
    }

    private func recordIncoming() {
        if let request = incoming?.takeRecord() { _ = context.record.requestReceived(request) }
    }
}
