/// What a transport asks of its engine, from any thread.
enum EngineCommand: Sendable {
    case start(TransferID, HTTPRequest, UploadBody, ExchangeOptions, any ExchangeObserver)
    /// Has a manager say who judges which server.
    case judge(ServerTrustManager)
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

    var isStart: Bool { if case .start = self { true } else { false } }
}
