import BluebonnetCompatibility
import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

/// Code for Alamofire that compiles unchanged does the same as with Alamofire.
@Suite(.timeLimit(.minutes(10))) struct MigratedCodeTests {
    private let queue = DispatchQueue(label: "migrated")

    /// A monitor with Alamofire's signatures.
    private final class Monitor: EventMonitor {
        let queue: DispatchQueue
        let log: CallLog<String>

        init(_ queue: DispatchQueue, _ log: CallLog<String>) { (self.queue, self.log) = (queue, log) }

        func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
            log.note("initial \(urlRequest.headers.count)")
        }

        func request(_ request: Request, didFailToCreateURLRequestWithError error: AFError) {
            log.note("not created \(error.isInvalidURLError)")
        }

        func request(
            _ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest
        ) {
            log.note("adapted \(adaptedRequest.value(forHTTPHeaderField: "X-Adapted") ?? "-")")
        }

        func request(
            _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: AFError
        ) {
            log.note("not adapted \(error.isRequestAdaptationError)")
        }

        func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
            log.note("created \(urlRequest.url?.path ?? "-")")
        }

        func request(
            _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
            withResult result: Request.ValidationResult
        ) {
            log.note("data \(response.statusCode)")
        }

        func request(
            _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
            withResult result: Request.ValidationResult
        ) {
            log.note("stream \(response.statusCode)")
        }

        func request(
            _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
            fileURL: URL?, withResult result: Request.ValidationResult
        ) {
            log.note("download \(response.statusCode)")
        }

        func requestDidFinish(_ request: Request) { log.note("finished") }
    }

    private struct Refusal: Error {}

    private func events(_ perform: (Session) async -> Void) async -> [String] {
        let log = CallLog<String>()
        let session = Session(
            eventMonitors: [Monitor(queue, log)], transport: StubTransport { _ in .text("text") })
        await perform(session)
        await session.base.shutdown()
        return log.entries
    }

    @Test func `a monitor with methods for URLRequest is called`() async {
        let url = "http://stub.test/a"
        let adapter = Adapter { request, _, completion in
            var request = request
            request.headers["X-Adapted"] = "yes"
            completion(.success(request))
        }
        let data = await events {
            _ = await $0.request(url, interceptor: adapter).validate().serializingData().response
        }
        #expect(data == ["initial 0", "adapted yes", "created /a", "data 200", "finished"])
        let stream = await events { session in
            for await _ in session.streamRequest(url).validate().streamTask().streamingData() {}
        }
        #expect(stream == ["initial 0", "created /a", "stream 200", "finished"])
        let download = await events { _ = await $0.download(url).validate().serializingData().response }
        #expect(download == ["initial 0", "created /a", "download 200", "finished"])
        let invalid = await events { _ = await $0.request("").serializingData().response }
        #expect(invalid == ["not created true", "finished"])
        let refusing = Adapter { _, _, completion in completion(.failure(Refusal())) }
        let refused = await events { _ = await $0.request(url, interceptor: refusing).serializingData().response }
        #expect(refused == ["initial 0", "not adapted true", "finished"])
    }

    /// The adapter makes a `URLRequest` of its own, without the body.
    @Test(arguments: [false, true]) func `an upload keeps its body`(isMultipart: Bool) async throws {
        let server = try await LocalServer { router in
            router.post("/") { .text("\($0.body.count) \($0.headers["Authorization"] ?? "-")") }
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("bluebonnet-\(UUID().uuidString)")
        try Data(count: 1000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let adapter = Adapter { (request: URLRequest, _: Session, completion) in
            var own = URLRequest(url: request.url ?? file)
            own.httpMethod = request.httpMethod
            own.setValue("Bearer t", forHTTPHeaderField: "Authorization")
            if let type = request.value(forHTTPHeaderField: "Content-Type") {
                own.setValue(type, forHTTPHeaderField: "Content-Type")
            }
            completion(.success(own))
        }
        let session = Session()
        let upload =
            isMultipart
            ? session.upload(
                multipartFormData: { $0.append(file, withName: "a") }, to: server.url, interceptor: adapter)
            : session.upload(file, to: server.url, interceptor: adapter)
        let text = try await upload.serializingString().value
        #expect(text.hasSuffix(" Bearer t") && (Int(text.prefix { $0 != " " }) ?? 0) >= 1000)
        await session.base.shutdown()
        await server.stop()
    }

    @Test func `elements of arrays keep their order`() throws {
        let url = try #require(URL(string: "http://stub.test/"))
        let request = try URLEncoding.default.encode(URLRequest(url: url), with: ["ids": [3, 1, 2], "a": "b"])
        #expect(request.url?.query == "a=b&ids%5B%5D=3&ids%5B%5D=1&ids%5B%5D=2")
    }
}

extension DataRequest {
    /// As in code that relies on Alamofire's session to retain its requests.
    fileprivate func validateBody() -> Self {
        validate { [unowned self] _, _, data in
            data == nil || self.data != data ? .failure(URLError(.zeroByteResource)) : .success(())
        }
    }
}

/// Requests live as long as they run, as with Alamofire.
@Suite(.timeLimit(.minutes(10))) struct RequestLifetimeTests {
    @Test func `a closure may refer to its request without retaining it`() async {
        let session = Session(transport: StubTransport { _ in .delayed(.milliseconds(20), .text("text")) })
        let response = await Examples.answer { done in
            session.request("http://stub.test/").validateBody().responseString { done($0) }
        }
        #expect(response.value == "text")
        let value = try? await session.request("http://stub.test/").validateBody().serializingString().value
        #expect(value == "text")
    }

    @Test func `an upload is an UploadRequest for retriers, too`() async {
        let kinds = CallLog<String>()
        let session = Session(
            interceptor: Retrier { request, _, _, completion in
                kinds.note("\(request is UploadRequest)")
                completion(.doNotRetry)
            }, transport: StubTransport { _ in .status(500) })
        _ = await session.upload(Data("a".utf8), to: "http://stub.test/").validate().serializingData().response
        _ = await session.request("http://stub.test/").validate().serializingData().response
        #expect(kinds.entries == ["true", "false"])
    }

    @Test func `errors of awaited values are AFError`() async {
        let session = Session(transport: StubTransport { _ in .status(401) })
        do {
            _ = try await session.request("http://stub.test/").validate().serializingData().value
            Issue.record("no error")
        } catch AFError.responseValidationFailed(.unacceptableStatusCode(401)) {
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test func `a field replaces the field of the same name`() {
        var headers: HTTPHeaders = [.authorization("Basic a"), .authorization(bearerToken: "T")]
        #expect(headers.count == 1 && headers["authorization"] == "Bearer T")
        headers.add(name: "AUTHORIZATION", value: "x")
        #expect(headers.dictionary.count == 1 && HTTPHeaders(["A": "1"]).first?.value == "1")
    }

    @Test func `stubs of URLProtocol are refused`() async {
        final class Stub: URLProtocol {}
        let configuration = URLSessionConfiguration.af.default
        configuration.protocolClasses = [Stub.self]
        let response = await Session(configuration: configuration).request("http://stub.test/").serializingData()
            .response
        #expect(response.error?.isRequestAdaptationError == true)
        #expect(response.error.map { "\($0)".contains("StubTransport") } == true)
    }

    @Test func `an adapter cannot add a body to a GET`() async {
        let session = Session(
            interceptor: Adapter { request, _, completion in
                var request = request
                request.httpBody = Data("a".utf8)
                completion(.success(request))
            }, transport: StubTransport { _ in .text("text") })
        let response = await session.request("http://stub.test/").serializingData().response
        #expect(response.error?.isRequestAdaptationError == true && response.data == nil)
    }

    @Test func `a serializer gets the error of a failed request`() async {
        struct Lenient: ResponseSerializer {
            func serialize(
                request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
            ) throws -> String { "\(response?.statusCode ?? 0) \(error?.asAFError?.responseCode ?? 0)" }
        }
        let session = Session(transport: StubTransport { _ in .status(404) })
        let response = await session.request("http://stub.test/").validate()
            .serializingResponse(using: Lenient()).response
        #expect(response.value == "404 404")
    }

    @Test func `a credential that is set is used by the next request`() async throws {
        struct Key: AuthenticationCredential {
            let token: String
            var requiresRefresh: Bool { false }
        }
        final class Keeper: Authenticator {
            func apply(_ credential: Key, to urlRequest: inout URLRequest) {
                urlRequest.headers.add(.authorization(bearerToken: credential.token))
            }
            func refresh(
                _ credential: Key, for session: Session,
                completion: @escaping @Sendable (Result<Key, any Error>) -> Void
            ) { completion(.success(credential)) }
            func didRequest(
                _ urlRequest: URLRequest, with response: HTTPURLResponse,
                failDueToAuthenticationError error: any Error
            ) -> Bool { false }
            func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Key) -> Bool { true }
        }
        let session = Session(transport: StubTransport { .text($0.headers["Authorization"] ?? "-") })
        let interceptor = AuthenticationInterceptor(authenticator: Keeper(), credential: Key(token: "a"))
        let url = "http://stub.test/"
        #expect(try await session.request(url, interceptor: interceptor).serializingString().value == "Bearer a")
        interceptor.credential = Key(token: "b")
        #expect(interceptor.credential?.token == "b")
        #expect(try await session.request(url, interceptor: interceptor).serializingString().value == "Bearer b")
    }

    /// More callers wait than the pool has threads, so that it must not be theirs that encodes.
    @Test func `a form is encoded while the caller waits`() async throws {
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<16 {
                group.addTask {
                    let form = MultipartFormData(boundary: "b")
                    form.append(Data("\(number)".utf8), withName: "n")
                    return String(decoding: try form.encode(), as: UTF8.self)
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(texts.count == 16 && texts.allSatisfy { $0.hasPrefix("--b\r\n") && $0.hasSuffix("--b--\r\n") })
        #expect(throws: AFError.self) {
            let form = MultipartFormData()
            form.append(URL(fileURLWithPath: "/nonexistent/file"), withName: "f")
            _ = try form.encode()
        }
    }

    @Test func `sessions that end while others look for them`() async {
        let base = Bluebonnet.Session(transport: StubTransport { _ in .text("text") })
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<500 {
                        let session = Session(base)
                        _ = session.interceptor
                    }
                }
            }
        }
        await base.shutdown()
    }
}
