import Bluebonnet
import FoundationEssentials
import Testing

/// A response without a body, and whether that is right by default.
struct EmptyBody: Sendable {
    let method: HTTPMethod
    let statusCode: Int
    let isAllowed: Bool
}

@Suite struct EmptyResponseTests {
    struct Point: Codable, Hashable, Sendable {
        var x: Int
    }

    static let bodies = [
        EmptyBody(method: .get, statusCode: 200, isAllowed: false),
        EmptyBody(method: .get, statusCode: 204, isAllowed: true),
        EmptyBody(method: .post, statusCode: 205, isAllowed: true),
        EmptyBody(method: .head, statusCode: 200, isAllowed: true),
        EmptyBody(method: .head, statusCode: 404, isAllowed: true),
        EmptyBody(method: .get, statusCode: 304, isAllowed: false),
        EmptyBody(method: .delete, statusCode: 202, isAllowed: false),
        EmptyBody(method: HTTPMethod(rawValue: "head"), statusCode: 200, isAllowed: false),
    ]

    @Test(arguments: bodies)
    func `an empty body is valid for HEAD, 204 and 205`(_ body: EmptyBody) throws {
        let input = try serializerInput("", method: body.method, statusCode: body.statusCode)
        guard body.isAllowed else {
            for error in [
                try thrown { try DataResponseSerializer().serialize(input) },
                try thrown { try StringResponseSerializer().serialize(input) },
                try thrown { try JSONResponseSerializer().serialize(input) },
                try thrown { try DecodableResponseSerializer<Empty>().serialize(input) },
            ] {
                #expect(error.kind == .serialization(.inputDataNilOrZeroLength))
            }
            return
        }
        #expect(try DataResponseSerializer().serialize(input) == Data())
        #expect(try StringResponseSerializer().serialize(input) == "")
        #expect(try JSONResponseSerializer().serialize(input) == .null)
        #expect(try DecodableResponseSerializer<Empty>().serialize(input) == .value)
        #expect(try DecodableResponseSerializer<Point?>().serialize(input) == nil)
    }

    @Test func `a type without an empty value is an error with the type's name`() throws {
        let input = try serializerInput("", statusCode: 204)
        let error = try thrown { try DecodableResponseSerializer<Point>().serialize(input) }
        #expect(error.kind == .serialization(.invalidEmptyResponse(type: "Point")))
    }

    @Test func `methods and status codes can be selected`() throws {
        let serializer = DecodableResponseSerializer<Empty>(emptyResponseCodes: [200], emptyRequestMethods: [.delete])
        #expect(try serializer.serialize(serializerInput("", statusCode: 200)) == .value)
        #expect(try serializer.serialize(serializerInput("", method: .delete, statusCode: 500)) == .value)
        let input = try serializerInput("", statusCode: 204)
        #expect(try thrown { try serializer.serialize(input) }.kind == .serialization(.inputDataNilOrZeroLength))
    }

    @Test func `an empty body without a request and a response is an error`() throws {
        let input = SerializerInput(request: nil, response: nil, data: Data())
        #expect(
            try thrown { try DataResponseSerializer().serialize(input) }.kind
                == .serialization(.inputDataNilOrZeroLength))
    }

    @Test func `a body is used with any status code`() throws {
        #expect(try StringResponseSerializer().serialize(serializerInput("x", statusCode: 204)) == "x")
        #expect(try DecodableResponseSerializer<Empty>().serialize(serializerInput("{}")) == .value)
    }

    private func thrown(_ body: () throws -> some Sendable) throws -> RequestError {
        try #require(throws: RequestError.self) { _ = try body() }
    }
}
