import FoundationEssentials
import Testing

@testable import Bluebonnet

/// Creates the input of a serializer.
func serializerInput(
    _ data: Data, method: HTTPMethod = .get, statusCode: Int = 200, contentType: String? = nil
) throws -> SerializerInput {
    let url = try #require(URL(string: "https://example.com/"))
    let headers: HTTPHeaders = contentType.map { ["Content-Type": $0] } ?? [:]
    return SerializerInput(
        request: HTTPRequest(url: url, method: method),
        response: HTTPResponse(url: url, statusCode: statusCode, headers: headers), data: data)
}

func serializerInput(
    _ text: String, method: HTTPMethod = .get, statusCode: Int = 200, contentType: String? = nil
) throws -> SerializerInput {
    try serializerInput(Data(text.utf8), method: method, statusCode: statusCode, contentType: contentType)
}

@Suite struct SerializerTests {
    @Test func `generic code can call a synchronous serializer without await`() {
        func isSynchronous(_ serializer: some ResponseSerializer) -> Bool {
            if case .synchronous = PreparedSerializer(serializer).erased { true } else { false }
        }
        struct Awaiting: ResponseSerializer {
            func serialize(_ input: SerializerInput) async throws -> Int { input.data.count }
        }
        struct NeverAwaiting: SynchronousResponseSerializer {
            func serialize(_ input: SerializerInput) throws -> Int { input.data.count }
        }
        #expect(isSynchronous(DataResponseSerializer()) && isSynchronous(StringResponseSerializer()))
        #expect(isSynchronous(DecodableResponseSerializer<[Int]>()) && isSynchronous(NeverAwaiting()))
        #expect(!isSynchronous(Awaiting()))
    }

    struct Point: Codable, Hashable, Sendable {
        var x: Int
        var y: Int
    }

    struct Failure: Error, Hashable {}

    // MARK: Values

    @Test func `the data serializer returns the body`() throws {
        #expect(try DataResponseSerializer().serialize(serializerInput("abc")) == Data("abc".utf8))
    }

    @Test func `JSON is parsed`() throws {
        #expect(try JSONResponseSerializer().serialize(serializerInput(#"{"a":[1]}"#)) == ["a": [1]])
    }

    @Test func `a decodable type is decoded`() throws {
        let serializer = DecodableResponseSerializer<Point>()
        #expect(try serializer.serialize(serializerInput(#"{"x":1,"y":2}"#)) == Point(x: 1, y: 2))
    }

    @Test(arguments: [PropertyListDecoder.PropertyListFormat.xml, .binary])
    func `a property list is decoded`(_ format: PropertyListDecoder.PropertyListFormat) throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format
        let data = try encoder.encode(Point(x: 1, y: 2))
        func decode(with serializer: some SynchronousResponseSerializer<Point>) throws -> Point {
            try serializer.serialize(serializerInput(data))
        }
        #expect(try decode(with: .propertyList(of: Point.self)) == Point(x: 1, y: 2))
    }

    @Test(.timeLimit(.minutes(10))) func `every serializer has a shorthand`() async throws {
        func value<Value>(_ serializer: some ResponseSerializer<Value>, _ text: String) async throws -> Value {
            try await serializer.serialize(serializerInput(text))
        }
        #expect(try await value(.data, "1") == Data("1".utf8))
        #expect(try await value(.data(dataPreprocessor: .googleXSSI), ")]}',\n1") == Data("1".utf8))
        #expect(try await value(.string, "1") == "1")
        #expect(try await value(.string(encoding: .utf8), "é") == "é")
        #expect(try await value(.json, "1") == JSONValue.integer(1))
        #expect(try await value(.json(dataPreprocessor: .googleXSSI), ")]}',\n1") == JSONValue.integer(1))
        #expect(try await value(.decodable(of: Int.self), "1") == 1)
        #expect(try await value(ClosureResponseSerializer { $0.data.count }, "123") == 3)
    }

    // MARK: Errors

    @Test func `a body that is not JSON is an error with the position`() throws {
        let error = try thrown(by: JSONResponseSerializer(), serializerInput("{"))
        #expect(error.kind == .serialization(.jsonSerializationFailed))
        #expect((error.underlying as? JSONParsingError)?.reason == .unexpectedEnd)
    }

    @Test func `a body that cannot be decoded is an error with the decoder's error`() throws {
        let error = try thrown(by: DecodableResponseSerializer<Point>(), serializerInput(#"{"x":1}"#))
        #expect(error.kind == .serialization(.decodingFailed))
        #expect(error.underlying is DecodingError)
    }

    @Test func `an error of a custom decoder is kept unless it is a RequestError`() throws {
        struct Decoder: DataDecoder {
            let error: any Error
            func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value { throw error }
        }
        let wrapped = try thrown(
            by: DecodableResponseSerializer<Int>(decoder: Decoder(error: Failure())), serializerInput("1"))
        #expect(wrapped.kind == .serialization(.decodingFailed) && wrapped.underlying is Failure)
        let own = RequestError(.sessionShutDown)
        let kept = try thrown(by: DecodableResponseSerializer<Int>(decoder: Decoder(error: own)), serializerInput("1"))
        #expect(kept.kind == .sessionShutDown)
    }

    @Test func `the error of a serializer contains the response`() throws {
        let error = try thrown(by: JSONResponseSerializer(), serializerInput("oops", statusCode: 201))
        #expect(error.response?.statusCode == 201)
        #expect(error.body == Data("oops".utf8))
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            (Failure() as any Error, RequestError.Kind.serialization(.customSerializationFailed)),
            (CancellationError(), .cancelled),
            (RequestError(.sessionShutDown), .sessionShutDown),
        ] as [(any Error, RequestError.Kind)])
    func `an error of a custom serializer is wrapped once`(_ error: any Error, kind: RequestError.Kind) async throws {
        let serializer = PreparedSerializer(ClosureResponseSerializer<Int> { _ in throw error })
        let input = try serializerInput("1")
        let thrown = await #expect(throws: RequestError.self) { try await serializer(input) }
        #expect(thrown?.kind == kind)
        #expect((thrown?.underlying is RequestError) == false)
    }

    @Test func `an error of a preprocessor is wrapped like a serializer's error`() throws {
        struct Preprocessor: DataPreprocessor {
            func preprocess(_ data: Data) throws -> Data { throw Failure() }
        }
        let error = try thrown(by: DataResponseSerializer(dataPreprocessor: Preprocessor()), serializerInput("1"))
        #expect(error.kind == .serialization(.customSerializationFailed))
        #expect(error.underlying is Failure)
    }

    // MARK: Suspending or not

    @Test func `built-in serializers can run without suspending`() {
        #expect(isSynchronous(PreparedSerializer(.data)))
        #expect(isSynchronous(PreparedSerializer(.string)))
        #expect(isSynchronous(PreparedSerializer(.json)))
        #expect(isSynchronous(PreparedSerializer(.decodable(of: Int.self))))
        #expect(!isSynchronous(PreparedSerializer(ClosureResponseSerializer { _ in 1 })))
    }

    @Test(.timeLimit(.minutes(10))) func `a synchronous serializer satisfies the asynchronous requirement`()
        async throws
    {
        struct Count: SynchronousResponseSerializer {
            func serialize(_ input: SerializerInput) throws -> Int { input.data.count }
        }
        let serializer: any ResponseSerializer<Int> = Count()
        #expect(try await serializer.serialize(serializerInput("12345")) == 5)
        #expect(isSynchronous(PreparedSerializer(Count())))
    }

    // MARK: Preprocessors

    @Test(arguments: [
        (")]}',\n[1]", "[1]"), ("[1]", "[1]"), (")]}',[1]", ")]}',[1]"), (" )]}',\n1", " )]}',\n1"), (")]}'", ")]}'"),
    ])
    func `Google's prefix is removed if it is complete`(_ body: String, expected: String) {
        #expect(GoogleXSSIPreprocessor().preprocess(Data(body.utf8)) == Data(expected.utf8))
    }

    @Test func `a preprocessed body begins at index 0`() {
        #expect(GoogleXSSIPreprocessor().preprocess(Data(")]}',\n1".utf8)).startIndex == 0)
    }

    @Test func `a body that a preprocessor empties is an empty body`() throws {
        let serializer = DataResponseSerializer(dataPreprocessor: .googleXSSI)
        let error = try thrown(by: serializer, serializerInput(")]}',\n"))
        #expect(error.kind == .serialization(.inputDataNilOrZeroLength))
        #expect(try serializer.serialize(serializerInput(")]}',\n", statusCode: 204)).isEmpty)
    }

    // MARK: Helpers

    private func thrown<Value>(
        by serializer: some SynchronousResponseSerializer<Value>, _ input: SerializerInput
    ) throws -> RequestError {
        guard case .synchronous(let serialize) = PreparedSerializer(serializer).erased else {
            throw RequestError(.internal, detail: "prepared as one that suspends")
        }
        return try #require(throws: RequestError.self) { try serialize(input) }
    }

    private func isSynchronous<Value>(_ serializer: PreparedSerializer<Value>) -> Bool {
        if case .synchronous = serializer.erased { true } else { false }
    }
}

extension PreparedSerializer {
    /// Runs the serializer as the attempt loop does.
    fileprivate func callAsFunction(_ input: SerializerInput) async throws(RequestError) -> Value {
        let box =
            switch erased {
            case .synchronous(let serialize): try serialize(input)
            case .asynchronous(let serialize): try await serialize(input)
            }
        guard let value = (box as? ValueBox<Value>)?.value else { throw RequestError(.internal) }
        return value
    }
}
