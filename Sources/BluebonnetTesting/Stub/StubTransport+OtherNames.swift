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
