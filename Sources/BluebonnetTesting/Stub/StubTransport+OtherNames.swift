public import Bluebonnet
public import BluebonnetOtherNames
public import FoundationEssentials

// What people call on the stubs of other libraries. None is available; the messages name the right call.

extension StubTransport {
    /// Not available; see ``stub(_:_:_:)-(_,_,StubTransport.Response...)``.
    @available(
        *, unavailable, message: "use stub(.get, \"/path\", .json(value)), or a closure: StubTransport { request in … }"
    )
    public func register(_ method: HTTPMethod, _ url: String, response: Response) async { unavailable() }

    /// Not available; see ``stub(_:_:_:)-(_,_,StubTransport.Response...)``.
    @available(
        *, unavailable, message: "use stub(.get, \"/path\", .json(value)), or a closure: StubTransport { request in … }"
    )
    public func onGet(_ path: String) -> _OtherName { unavailable() }

    /// Not available; see ``stub(_:_:_:)-(_,_,StubTransport.Response...)``.
    @available(
        *, unavailable, message: "use stub(.get, \"/path\", .json(value)), or a closure: StubTransport { request in … }"
    )
    public func onPost(_ path: String) -> _OtherName { unavailable() }

    /// Not available; see ``stub(_:_:_:)-(_,_,StubTransport.Response...)``.
    @available(*, unavailable, message: "use stub(.get, \"/path\", .json(value))")
    public func stub(
        _ method: HTTPMethod?, _ path: String, statusCode: Int, headers: HTTPHeaders = [:], data: Data = Data()
    ) { unavailable() }

    /// Not available; see ``stub(_:_:_:)-(_,_,StubTransport.Response...)``.
    @available(*, unavailable, message: "use stub(.get, \"/path\", .json(value))")
    public func on(_ method: HTTPMethod, _ url: String, respond: Response) { unavailable() }

    /// Not available; see ``stub(_:_:_:)-(_,_,StubTransport.Response...)``.
    @available(*, unavailable, message: "use stub(.get, \"/path\", .json(value))")
    public func stub(_ method: HTTPMethod, _ url: String, with response: Response) { unavailable() }

    /// Not available; see ``init(_:)``.
    @available(*, unavailable, message: "the closure returns a StubTransport.Response, such as .json(value)")
    public convenience init(_ answer: (HTTPRequest) async throws -> BluebonnetOtherNames.Response) { self.init() }

    /// Not available; see ``stub(_:_:_:)-(_,_,StubTransport.Response...)``.
    @available(*, unavailable, message: "use stub(.get, \"/path\", .json(value))")
    public func on(_ method: HTTPMethod, _ url: String, respond: Any) { unavailable() }

    /// Not available; see ``stub(_:_:_:)-(_,_,StubTransport.Response...)``.
    @available(*, unavailable, message: "use stub(.get, \"/path\", .json(value))")
    public func register(_ url: String, response: Response) { unavailable() }

    /// Not available; see ``stub(_:_:_:)-(_,_,StubTransport.Response...)``.
    @available(*, unavailable, message: "use stub(.get, \"/path\", .json(value))")
    public func stub(url: URL, statusCode: Int, headerFields: [String: String] = [:], data: Data = Data()) {
        unavailable()
    }
}

extension StubTransport.Response {
    /// Not available; see ``json(_:status:headers:)``.
    @available(*, unavailable, renamed: "json(_:status:)")
    public static func json(_ value: some Any, statusCode: Int) -> Self { unavailable() }

    /// Not available; see ``text(_:status:headers:)``.
    @available(*, unavailable, message: "use .json(value), .text(text), .data(bytes) or .status(204)")
    public init(status: _OtherStatus, headers: [String: String] = [:], body: _OtherBody) { unavailable() }
}
