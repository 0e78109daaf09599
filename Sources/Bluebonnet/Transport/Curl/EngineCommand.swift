/// What a transport asks of its engine, from any thread.
enum EngineCommand: Sendable {
    case start(TransferID, HTTPRequest, UploadBody, ExchangeOptions, any ExchangeObserver)
    /// Answers a request whose body cannot be had.
    case refuse(RequestError, any ExchangeObserver)
    case cancel(TransferID)
    case suspend(TransferID)
    case resume(TransferID)
    /// Says who takes the body that was held back; it is collected if nobody does.
    case receiveBody(TransferID, (any BodyReceiver)?)
    /// There is room again where the body goes.
    case receiveMore(TransferID)
    /// There are bytes of the request's body that libcurl had asked for.
    case sendMore(TransferID)
}

/// Hands commands to an engine, in order.
///
/// The loop hears of the first only: it takes all that there are by then, so that many requests at once cost it one piece
/// of work.
final class EngineCommands: Sendable {
    private let waiting = Locked<[EngineCommand]>([])

    /// Adds a command; returns whether the loop has to hear of it.
    func add(_ command: EngineCommand) -> Bool {
        waiting.withLock { commands in
            commands.append(command)
            return commands.count == 1
        }
    }

    /// Takes all that there are; `batch` has to be empty.
    func take(into batch: inout [EngineCommand]) {
        waiting.withLock { swap(&$0, &batch) }
    }
}
