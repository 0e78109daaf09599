import BluebonnetCompatibility
import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

/// What code for Alamofire relies on without saying so, on the wire.
@Suite(.timeLimit(.minutes(10))) struct SilentDifferencesTests {
    /// Runs a test with a server and a session, and stops both.
    private func with(
        _ routes: (inout LocalServer.Router) -> Void, _ body: (LocalServer, Session) async throws -> Void
    ) async throws {
        let server = try await LocalServer(routes)
        let session = Session()
        try await body(server, session)
        await session.base.shutdown()
        await server.stop()
    }

    @Test(arguments: ["multipart/form-data", "application/json"])
    func `a form replaces the caller's content type`(type: String) async throws {
        try await with {
            $0.post("/") { .text($0.headers["Content-Type"] ?? "-") }
        } _: { (server, session) async throws in
            let form = MultipartFormData(boundary: "b")
            form.append(Data("v".utf8), withName: "n")
            let upload = session.upload(multipartFormData: form, to: server.url, headers: ["Content-Type": type])
            #expect(try await upload.serializingString().value == "multipart/form-data; boundary=b")
        }
    }

    @Test func `the body of a URLRequest is a form unless it says otherwise`() async throws {
        try await with {
            $0.post("/") { .text($0.headers["Content-Type"] ?? "-") }
        } _: { (server, session) async throws in
            var request = URLRequest(url: server.url)
            request.httpMethod = "POST"
            request.httpBody = Data("a=1".utf8)
            let type = try await session.request(request).serializingString().value
            #expect(type == "application/x-www-form-urlencoded")
            request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
            #expect(try await session.request(request).serializingString().value == "text/plain")
            #expect(try await session.upload(Data("a".utf8), to: server.url).serializingString().value == "-")
        }
    }

    @Test func `a validation fails with the AFError that it returns`() async throws {
        try await with {
            $0.get("/", .status(204))
        } _: { (server, session) async throws in
            let response = await session.request(server.url).validate { _, response, data in
                #expect(data == nil)
                return .failure(AFError.responseValidationFailed(reason: .unacceptableStatusCode(code: 401)))
            }.serializingData().response
            #expect(response.error?.responseCode == 401)
        }
    }

    @Test func `requests are those before redirects, and before and after adapters`() async throws {
        try await with {
            $0.post("/old") { _ in .redirect(to: "/new", status: 303) }
            $0.get("/new", .text("new"))
        } _: { (server, session) async throws in
            let adapter = Adapter { request, _, completion in
                var request = request
                request.headers.add(name: "X-Adapted", value: "1")
                completion(.success(request))
            }
            let request = session.request(server.url("/old"), method: .post, interceptor: adapter)
            let response = await request.serializingString().response
            #expect(response.value == "new" && response.response?.url?.path == "/new")
            #expect(response.request?.url?.path == "/old" && response.request?.httpMethod == "POST")
            #expect(request.requests.map { $0.headers["X-Adapted"] } == [nil, "1"])
            #expect(request.firstRequest?.headers["X-Adapted"] == nil && request.performedRequests.count == 1)
            #expect(request.tasks.count == 1)
        }
    }

    @Test func `the request is there after a failed adapter`() async throws {
        try await with {
            $0.get("/", .ok)
        } _: { (server, session) async throws in
            let adapter = Adapter { _, _, completion in completion(.failure(URLError(.userAuthenticationRequired))) }
            let request = session.request(server.url, interceptor: adapter)
            let response = await request.serializingData().response
            #expect(response.request?.url == server.url && request.requests.count == 1)
            #expect(request.performedRequests.isEmpty && request.tasks.isEmpty)
        }
    }

    /// A POST that was redirected is not a GET that may be repeated.
    @Test func `a redirected POST is not retried`() async throws {
        try await with {
            $0.post("/old") { _ in .redirect(to: "/new", status: 303) }
            $0.get("/new", .status(503))
        } _: { (server, session) async throws in
            let policy = RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0.001)
            let request = session.request(server.url("/old"), method: .post, interceptor: policy).validate()
            #expect(await request.serializingData().response.error?.responseCode == 503)
            #expect(request.retryCount == 0 && server.requests.count == 2)
        }
    }

    @Test func `doNotFollow accepts a place with another scheme`() async throws {
        try await with {
            $0.get("/", .redirect(to: "myapp://callback?code=1"))
        } _: { (server, session) async throws in
            let response = await session.request(server.url).redirect(using: .doNotFollow).serializingString(
                emptyResponseCodes: [302]
            ).response
            #expect(response.response?.statusCode == 302 && response.error == nil)
            #expect(response.response?.value(forHTTPHeaderField: "Location") == "myapp://callback?code=1")
        }
    }

    @Test func `a handler continues a suspended request`() async throws {
        try await with {
            $0.get("/", .text("text"))
        } _: { (server, session) async throws in
            let log = CallLog<String?>()
            session.request(server.url).suspend().responseString(queue: .global()) { log.note($0.value) }
            #expect(await log.wait(for: 1) == ["text"])
            #expect(try await session.request(server.url).suspend().serializingString().value == "text")
        }
    }

    @Test func `a serializer fails with AFError`() {
        let (serializer, data) = (DecodableResponseSerializer<[Int]>(), Data("{".utf8))
        #expect {
            try serializer.serialize(request: nil, response: nil, data: data, error: nil)
        } throws: { error in
            (error as? AFError)?.isResponseSerializationError == true
        }
        #expect(throws: AFError.self) {
            try DataResponseSerializer().serialize(request: nil, response: nil, data: nil, error: nil)
        }
        #expect(throws: URLError.self) {
            try StringResponseSerializer().serialize(
                request: nil, response: nil, data: nil, error: URLError(.timedOut))
        }
    }

    @Test func `monitors get the values that serializers have made`() async throws {
        struct Length: ResponseSerializer {
            func serialize(
                request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
            ) throws -> Int { data?.count ?? 0 }
        }
        final class Monitor: EventMonitor {
            let queue = DispatchQueue(label: "monitor")
            let log = CallLog<String>()
            func request<Value: Sendable>(
                _ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>
            ) { log.note("\(response.value.map { "\(type(of: $0)) \($0)" } ?? "-")") }
            func request(
                _ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, AFError>
            ) { log.note("file \(response.value?.map(\.isFileURL) ?? false)") }
        }
        let monitor = Monitor()
        try await with {
            $0.get("/", .text("[1]"))
        } _: { (server, _) async throws in
            let session = Session(eventMonitors: [monitor])
            _ = await session.request(server.url).serializingResponse(using: Length()).response
            let log = CallLog<Bool>()
            session.request(server.url).responseJSON(queue: .global()) { log.note($0.value is [Int]) }
            session.download(server.url).response(queue: .global()) { log.note($0.fileURL != nil) }
            #expect(await log.wait(for: 2) == [true, true])
            await session.base.shutdown()
        }
        let seen = monitor.log.entries
        #expect(seen.contains("Int 3") && seen.contains("file true"), "\(seen)")
        #expect(seen.count == 3 && !seen.contains { $0.contains("Handed") }, "\(seen)")
    }

    @Test func `a session begins with the cookies of its storage`() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        let cookie = HTTPCookie(properties: [.name: "a", .value: "b", .path: "/", .domain: "127.0.0.1"])
        configuration.httpCookieStorage?.setCookie(try #require(cookie))
        try await with {
            $0.get("/") { .text($0.headers["Cookie"] ?? "-") }
        } _: { (server, _) async throws in
            let session = Session(configuration: configuration)
            #expect(try await session.request(server.url).serializingString().value == "a=b")
            await session.base.shutdown()
        }
    }

    @Test func `the length of a form is that of its contents`() throws {
        let form = MultipartFormData()
        form.append(Data(count: 20), withName: "a")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("bluebonnet-\(UUID().uuidString)")
        try Data(count: 30).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        form.append(file, withName: "b")
        #expect(form.contentLength == 50)
    }

    @Test func `a retrier's own error has the original one beside it`() async throws {
        struct Refused: Error {}
        try await with {
            $0.get("/", .text("x"))
        } _: { (server, session) async throws in
            let retrier = Retrier { _, _, _, completion in completion(.doNotRetryWithError(Refused())) }
            let response = await session.request(server.url, interceptor: retrier).validate { _, _, _ in
                .failure(AFError.responseValidationFailed(reason: .unacceptableStatusCode(code: 418)))
            }.serializingData().response
            guard case .requestRetryFailed(let retryError, let original) = response.error else {
                return #expect(response.error?.isRequestRetryError == true)
            }
            #expect(retryError is Refused && original.asAFError?.responseCode == 418)
        }
    }

    @Test func `an occupied place has Foundation's error`() async throws {
        try await with {
            $0.get("/", .text("x"))
        } _: { (server, session) async throws in
            let taken = FileManager.default.temporaryDirectory.appendingPathComponent("bluebonnet-\(UUID().uuidString)")
            try Data().write(to: taken)
            defer { try? FileManager.default.removeItem(at: taken) }
            for (place, code) in [
                (taken, CocoaError.Code.fileWriteFileExists),
                (taken.appendingPathComponent("a"), CocoaError.Code.fileNoSuchFile),
            ] {
                let download = session.download(server.url, to: { _, _ in (place, []) })
                let error = await download.serializingURL().response.error
                #expect((error?.underlyingError as? CocoaError)?.code == code, "\(place): \(String(describing: error))")
                #expect(error?.requestError != nil && error?.isDownloadedFileMoveError == true)
            }
        }
    }

    private static func read(_ stream: InputStream) -> String? {
        let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 64)
        defer { unsafe buffer.deallocate() }
        guard let start = buffer.baseAddress else { return nil }
        let count = unsafe stream.read(start, maxLength: 64)
        return count < 0 ? nil : unsafe String(decoding: buffer.prefix(count), as: UTF8.self)
    }

    @Test func `an input stream starts its request, and has all of the body`() async throws {
        try await with {
            $0.get("/", .text("the whole body"))
        } _: { (server, session) async throws in
            let stream = try #require(session.streamRequest(server.url).asInputStream())
            _ = try await server.request(1)
            // Opened later than the body arrives.
            try await Task.sleep(for: .milliseconds(50))
            stream.open()
            defer { stream.close() }
            var text = ""
            while let piece = Self.read(stream), !piece.isEmpty { text += piece }
            #expect(text == "the whole body")
        }
    }
}
