import BluebonnetFoundation
import Foundation
import Testing

/// Requests in Foundation's terms and in ours.
struct URLRequestTests {
    // MARK: From Foundation

    @Test func `method, URL, fields, body and cookie handling are converted`() throws {
        var request = URLRequest(url: try FoundationFixture.url("http://example.com/a?b=c#d"))
        request.httpMethod = "PUT"
        request.setValue("1", forHTTPHeaderField: "X-One")
        request.addValue("2", forHTTPHeaderField: "X-One")
        request.httpBody = Data("body".utf8)
        request.httpShouldHandleCookies = false
        let converted = try request.asHTTPRequest()
        #expect(converted.method == .put)
        #expect(converted.url == request.url)
        #expect(converted.headers.dictionary == ["X-One": "1,2"])
        #expect(converted.body?.data == Data("body".utf8))
        #expect(!converted.handlesCookies)
    }

    @Test func `a plain request leaves all settings to the session`() throws {
        let converted = try HTTPRequest(URLRequest(url: FoundationFixture.url()))
        #expect(converted.method == .get)
        #expect(converted.headers.isEmpty)
        #expect(converted.body == nil)
        #expect(converted.timeouts == .default)
        #expect(converted.handlesCookies)
    }

    @Test(arguments: ["GET", "get", "POST", "QUERY", "M-SEARCH"])
    func `methods keep their case`(method: String) throws {
        var request = URLRequest(url: try FoundationFixture.url())
        request.httpMethod = method
        #expect(try request.asHTTPRequest().method.rawValue == request.httpMethod)
        #expect(try URLRequest(HTTPRequest(request)).httpMethod == request.httpMethod)
    }

    @Test func `a URLRequest without a URL cannot be converted`() throws {
        var request = URLRequest(url: try FoundationFixture.url())
        request.url = nil
        let error = #expect(throws: RequestError.self) { try request.asHTTPRequest() }
        #expect(error?.kind == .invalidURL)
        #expect((error?.underlying as? URLError)?.code == .badURL)
    }

    static let timeouts: [(TimeInterval, Timeouts)] = [
        (60, .default), (5, Timeouts(connect: .seconds(5), idle: .seconds(5))),
        (0.25, Timeouts(connect: .milliseconds(250), idle: .milliseconds(250))),
        (600, Timeouts(connect: .seconds(600), idle: .seconds(600))), (0, Timeouts(connect: nil, idle: nil)),
        (-1, Timeouts(connect: nil, idle: nil)), (.infinity, Timeouts(connect: nil, idle: nil)),
        (.nan, Timeouts(connect: nil, idle: nil)), (1e300, Timeouts(connect: nil, idle: nil)),
    ]

    @Test(arguments: timeouts)
    func `a timeout limits connecting and idle time`(interval: TimeInterval, timeouts: Timeouts) throws {
        var request = URLRequest(url: try FoundationFixture.url())
        request.timeoutInterval = interval
        #expect(try request.asHTTPRequest().timeouts == timeouts)
        let back = try URLRequest(HTTPRequest(request)).timeoutInterval
        #expect(back == (timeouts.idle == nil ? 315_360_000 : interval))
    }

    // MARK: Caches

    static let policies: [(URLRequest.CachePolicy, HTTPRequest.CachePolicy?, [String: String])] = [
        (.useProtocolCachePolicy, nil, [:]), (.reloadIgnoringLocalCacheData, .reloadIgnoringCache, [:]),
        (
            .reloadIgnoringLocalAndRemoteCacheData, .reloadIgnoringCache,
            ["Cache-Control": "no-cache", "Pragma": "no-cache"]
        ),
        (.returnCacheDataElseLoad, .returnCacheElseLoad, [:]),
        (.returnCacheDataDontLoad, .returnCacheDontLoad, [:]),
        (.reloadRevalidatingCacheData, .reloadRevalidating, [:]),
    ]

    @Test(arguments: policies)
    func `a cache policy converts to a Bluebonnet policy and back`(
        policy: URLRequest.CachePolicy, native: HTTPRequest.CachePolicy?, fields: [String: String]
    ) throws {
        var request = URLRequest(url: try FoundationFixture.url())
        request.cachePolicy = policy
        let converted = try request.asHTTPRequest()
        #expect(converted.cachePolicy == native)
        #expect(converted.headers.dictionary == fields)
        #expect(URLRequest(converted).cachePolicy == policy)
    }

    @Test func `a field of the request takes precedence over its cache policy`() throws {
        var request = URLRequest(url: try FoundationFixture.url())
        request.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        request.setValue("no-store", forHTTPHeaderField: "cache-control")
        #expect(try request.asHTTPRequest().headers["Cache-Control"] == "no-store")
    }

    @Test func `a request that must use the cache is not sent`() async throws {
        var request = URLRequest(url: try FoundationFixture.url())
        request.cachePolicy = .returnCacheDataDontLoad
        let session = FoundationFixture.session()
        let error = try #require(await session.request(request).serializingData().response.error)
        #expect(error.kind == .cache(.notStored))
        #expect(error.urlError?.code == .resourceUnavailable)
        await session.shutdown()
    }

    // MARK: To Foundation

    @Test func `a request converts to a URLRequest and back`() throws {
        var request = HTTPRequest(
            url: try FoundationFixture.url("https://example.com/x"), method: .patch,
            headers: ["X-A": "1", "X-B": "2"], body: .data(Data([1, 2, 3])))
        request.timeouts = Timeouts(connect: .seconds(7), idle: .seconds(7))
        request.handlesCookies = false
        let foundation = request.urlRequest
        #expect(foundation.httpMethod == "PATCH")
        #expect(foundation.allHTTPHeaderFields == ["X-A": "1", "X-B": "2"])
        #expect(foundation.httpBody == Data([1, 2, 3]))
        #expect(foundation.timeoutInterval == 7)
        let back = try HTTPRequest(foundation)
        #expect(back.url == request.url && back.method == request.method)
        #expect(back.headers.dictionary == request.headers.dictionary)
        #expect(back.body?.data == request.body?.data)
        #expect(back.timeouts == request.timeouts)
        #expect(!back.handlesCookies)
    }

    @Test func `a body that is not in memory converts to a stream`() async throws {
        let pieces = [FoundationFixture.bytes(70_000), Data(), FoundationFixture.bytes(10)]
        let (sequence, continuation) = AsyncStream.makeStream(of: Data.self)
        pieces.forEach { continuation.yield($0) }
        continuation.finish()
        let request = HTTPRequest(url: try FoundationFixture.url(), method: .post, body: .stream(sequence))
        let foundation = URLRequest(request)
        #expect(foundation.httpBody == nil)
        let received = await FoundationFixture.onThread {
            foundation.httpBodyStream.map { StreamReadResult.all(of: $0) }
        }
        #expect(received?.data == Data(pieces.joined()))
        #expect(received?.error == nil)
    }

    @Test func `the pieces of a body can be read as often as it can be sent`() async throws {
        let bodies: [RequestBody] = [.data(Data("abc".utf8)), .inputStream(InputStream(data: Data("abc".utf8)))]
        for body in bodies {
            for attempt in 1...2 {
                var data = Data()
                do {
                    for try await piece in body.pieces { data.append(piece) }
                    #expect(data == Data("abc".utf8) && (body.isReplayable || attempt == 1))
                } catch let error as RequestError {
                    #expect(error.kind == .requestBody(.notReplayable) && !body.isReplayable && attempt == 2)
                }
            }
        }
        for try await _ in RequestBody.data(Data()).pieces { Issue.record("there is nothing to read") }
    }

    @Test func `a missing file is reported as the stream's error`() async throws {
        let body = RequestBody.file(URL(fileURLWithPath: "/nonexistent/file"))
        let foundation = URLRequest(HTTPRequest(url: try FoundationFixture.url(), method: .post, body: body))
        let received = await FoundationFixture.onThread {
            foundation.httpBodyStream.map { StreamReadResult.all(of: $0) }
        }
        #expect(received?.data == Data())
        guard case .requestBody(.fileUnreadable) = (received?.error as? RequestError)?.kind else {
            Issue.record("\(String(describing: received))")
            return
        }
    }

    // MARK: Conveniences

    @Test func `a URLRequest has a typed method and typed headers`() throws {
        var request = try URLRequest(url: "http://example.com/a", method: .post, headers: ["A": "1"])
        #expect(request.httpMethod == "POST")
        #expect(request.allHTTPHeaderFields == ["A": "1"])
        request.method = .delete
        request.headers.append(.contentType("text/plain"))
        #expect(request.httpMethod == "DELETE")
        #expect(request.value(forHTTPHeaderField: "content-type") == "text/plain")
        request.headers = ["B": "2"]
        #expect(request.allHTTPHeaderFields == ["B": "2"])
        #expect(request.headers.dictionary == ["B": "2"])
        let error = #expect(throws: RequestError.self) { try URLRequest(url: "http://exa mple/%", method: .get) }
        #expect(error?.kind == .invalidURL)
    }

    @Test func `code that was written for URLRequest reads and changes an HTTPRequest`() throws {
        var request = HTTPRequest(url: try FoundationFixture.url())
        request.httpMethod = "POST"
        request.timeoutInterval = 3
        request.setValue("a", forHTTPHeaderField: "X-A")
        request.addValue("b", forHTTPHeaderField: "x-a")
        request.httpBody = Data("x".utf8)
        request.httpShouldHandleCookies = false
        #expect(request.method == .post && request.httpMethod == "POST")
        #expect(request.timeouts == Timeouts(connect: .seconds(3), idle: .seconds(3)))
        #expect(request.value(forHTTPHeaderField: "X-a") == "a, b")
        #expect(request.allHTTPHeaderFields == ["X-A": "a, b"])
        #expect(request.body?.data == Data("x".utf8) && !request.handlesCookies)
        request.setValue(nil, forHTTPHeaderField: "X-A")
        request.timeoutInterval = 60
        #expect(request.headers.isEmpty && request.timeouts == .default && request.timeoutInterval == 60)
    }

    @Test func `a changed cache policy is kept, and an unchanged policy leaves that of the request`() throws {
        var request = HTTPRequest(url: try FoundationFixture.url())
        request.cachePolicy = .reloadRevalidating
        let original = URLRequest(request)
        var changed = original
        #expect(try request.changed(from: original, to: changed).cachePolicy == .reloadRevalidating)
        changed.cachePolicy = .returnCacheDataDontLoad
        #expect(try request.changed(from: original, to: changed).cachePolicy == .returnCacheDontLoad)
        changed.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        let reloaded = try request.changed(from: original, to: changed)
        #expect(reloaded.cachePolicy == .reloadIgnoringCache && reloaded.headers["Cache-Control"] == "no-cache")
    }

    @Test func `a changed interval leaves the limits that URLRequest does not have`() throws {
        var request = HTTPRequest(url: try FoundationFixture.url())
        request.timeouts = Timeouts(pool: .seconds(1), total: nil)
        let limits = Timeouts(pool: .seconds(1), connect: .seconds(3), idle: .seconds(3), total: nil)
        let original = URLRequest(request)
        var changed = original
        changed.timeoutInterval = 3
        #expect(try request.changed(from: original, to: changed).timeouts == limits)
        request.timeoutInterval = 3
        #expect(request.timeouts == limits)
    }

    @Test(arguments: [(HTTPMethod.get, true, false), (.get, false, true), (.post, true, true)])
    func `a GET has no body`(method: HTTPMethod, hasBody: Bool, isValid: Bool) throws {
        var request = try URLRequest(url: "http://example.com/a", method: method)
        if hasBody { request.httpBody = Data("a".utf8) }
        #expect((try? request.validate()) != nil || !isValid)
        #expect((try? request.validate()) == nil || isValid)
    }

    @Test func `parameters are encoded into an HTTPRequest like into a URLRequest`() throws {
        let request = HTTPRequest(url: try FoundationFixture.url())
        let encoded = try URLEncoding.default.encode(request, with: ["a": 1])
        #expect(encoded.url?.absoluteString == "http://example.com/a?a=1")
    }

    // MARK: ParameterEncoder

    @Test func `encoding parameters into a URLRequest keeps its other properties`() throws {
        var request = try URLRequest(url: "http://example.com/a?x=1", method: .get, headers: ["A": "1"])
        request.timeoutInterval = 9
        request.networkServiceType = .background
        let queried = try URLEncodedFormParameterEncoder.default.encode(["b": "c d"], into: request)
        #expect(queried.url?.absoluteString == "http://example.com/a?x=1&b=c%20d")
        #expect(queried.timeoutInterval == 9 && queried.networkServiceType == .background)
        request.method = .post
        let posted = try JSONParameterEncoder.default.encode(["b": 1], into: request)
        #expect(posted.httpBody == Data(#"{"b":1}"#.utf8))
        #expect(posted.allHTTPHeaderFields == ["A": "1", "Content-Type": "application/json"])
        #expect(posted.timeoutInterval == 9 && posted.httpMethod == "POST")
        let untouched = try JSONParameterEncoder.default.encode(nil as [String: Int]?, into: request)
        #expect(untouched == request)
    }
}
