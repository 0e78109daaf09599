/// Decides where a request goes on, from one redirect to the next, as a value.
struct RedirectChain: Sendable {
    /// What a response leads to.
    enum Action: Sendable {
        /// It is the answer: no redirect, or none that says where to.
        case deliver
        /// This would be sent next, if nobody decides otherwise.
        case follow(HTTPRequest)
        /// It must not be followed.
        case refuse(RequestError.RedirectReason)
    }

    private let limits: Session.Configuration.RedirectLimits
    private var current: HTTPRequest

    init(request: HTTPRequest, limits: Session.Configuration.RedirectLimits) {
        current = request
        self.limits = limits
    }

    /// A response came to the latest request.
    mutating func received(_ response: HTTPResponse) -> Action { .deliver }

    /// A request was chosen to go on with; throws if it cannot be sent.
    mutating func followed(with request: HTTPRequest) throws(RequestError) -> HTTPRequest {
        current = request
        return request
    }
}
