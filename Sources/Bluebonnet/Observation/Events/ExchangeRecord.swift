/// What is known of one exchange with a server: one for each attempt of a request, and for each redirect.
///
/// Monitors get it, see ``EventMonitor``.
public struct ExchangeRecord: Sendable, Identifiable {
    /// Counts the exchanges of a request, from 1.
    public var id: Int
    /// Counts the attempts of the request, from 1.
    public var attempt: Int
    /// Whether a redirect led here.
    public var isRedirect: Bool
    /// What is sent, without the fields that the session adds.
    public var request: HTTPRequest
    /// The head of the response, once there is one.
    public var response: HTTPResponse?
    /// What was measured, once the exchange is over.
    public var metrics: TransferMetrics?

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - id: Which exchange of its request it is, from 1.
    ///   - attempt: Which attempt it belongs to, from 1.
    ///   - isRedirect: Whether a redirect led to it.
    ///   - request: What is sent.
    ///   - response: The head of the response.
    ///   - metrics: What was measured.
    public init(
        id: Int = 1, attempt: Int = 1, isRedirect: Bool = false, request: HTTPRequest, response: HTTPResponse? = nil,
        metrics: TransferMetrics? = nil
    ) {
        self.id = id
        self.attempt = attempt
        self.isRedirect = isRedirect
        self.request = request
        self.response = response
        self.metrics = metrics
    }
}
