import BluebonnetCompatibility
import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

/// Advanced usage: requests; with data of our own.
@Suite(.timeLimit(.minutes(10))) struct RequestExamples {
    @Test func `Progress`() async throws {
        let progress = CallLog<Double>()
        let url = try Examples.url("/post")
        let response = await Examples.answer { done in
            AF.upload(Data(count: 100_000), to: url)
                .uploadProgress { progress.note($0.fractionCompleted) }
                .downloadProgress { progress.note($0.fractionCompleted) }
                .responseDecodable(of: Examples.Echo.self) { done($0) }
        }
        #expect(response.value?.url?.hasSuffix("/post") == true && !progress.entries.isEmpty)
    }

    @Test func `Redirects`() async throws {
        let redirector = Redirector(behavior: .doNotFollow)
        let url = try Examples.url("/redirect/1")
        let response = await Examples.answer { done in
            AF.request(url).redirect(using: redirector).responseString { done($0) }
        }
        #expect(response.response?.statusCode == 302)
        let modified = await Examples.answer { done in
            AF.request(url)
                .redirect(
                    using: Redirector(
                        behavior: .modify { _, request, _ in
                            var request = request
                            request.headers.add(name: "X-Bed", value: "roses")
                            return request
                        })
                )
                .responseDecodable(of: Examples.Echo.self) { done($0) }
        }
        #expect(modified.value?.headers?["X-Bed"] == "roses")
    }

    @Test func `Credentials`() async throws {
        let url = try Examples.url("/basic-auth/flora/petals")
        let first = await Examples.answer { done in
            AF.request(url).authenticate(username: "flora", password: "petals").responseString { done($0) }
        }
        let credential = URLCredential(user: "flora", password: "petals", persistence: .forSession)
        let second = await Examples.answer { done in
            AF.request(url).authenticate(using: credential).responseString { done($0) }
        }
        let without = await Examples.answer { done in AF.request(url).responseString { done($0) } }
        #expect(first.response?.statusCode == 200 && second.response?.statusCode == 200)
        #expect(without.response?.statusCode == 401)
    }

    @Test func `The created requests`() async throws {
        let url = try Examples.url("/get")
        let log = CallLog<URLRequest>()
        let response = await Examples.answer { done in
            AF.request(url)
                .onURLRequestCreation { request in log.note(request) }
                .responseDecodable(of: Examples.Echo.self) { done($0) }
        }
        #expect(log.entries.map(\.url?.absoluteString) == [url] && response.error == nil)
    }

    @Test func `Response heads, with handlers, async closures and as a sequence`() async throws {
        let url = try Examples.url("/status/418")
        let log = CallLog<Int>()
        _ = await Examples.answer { done in
            AF.request(url).onHTTPResponse { response in log.note(response.statusCode) }.response { done($0) }
        }
        _ = await Examples.answer { done in
            AF.request(url)
                .onHTTPResponse { response, completionHandler in
                    log.note(response.statusCode)
                    completionHandler(.allow)
                }
                .response { done($0) }
        }
        let cancelled = await Examples.answer { done in
            AF.request(url)
                .onHTTPResponse { response, completionHandler in
                    log.note(response.statusCode)
                    completionHandler(.cancel)
                }
                .response { done($0) }
        }
        let allowed = await Examples.answer { done in
            AF.request(url)
                .onHTTPResponse { response in
                    await Task.yield()
                    log.note(response.statusCode)
                    return .allow
                }
                .response { done($0) }
        }
        #expect(log.entries == [418, 418, 418, 418])
        #expect(cancelled.error?.isExplicitlyCancelledError == true && allowed.error == nil)

        let request = AF.request(url)
        let responses = request.httpResponses()
        request.response { _ in }
        var codes: [Int] = []
        for await response in responses { codes.append(response.statusCode) }
        #expect(codes == [418])
    }

    @Test func `Metrics`() async throws {
        let url = try Examples.url("/get")
        let response = await Examples.answer { done in
            AF.request(url).responseDecodable(of: Examples.Echo.self) { done($0) }
        }
        #expect(response.metrics?.taskInterval.duration ?? 0 > 0)
    }

    @Test func `Validation by closures, of each kind of request`() async throws {
        struct Wilted: Error {}
        let url = try Examples.url("/get")
        let data = await Examples.answer { done in
            AF.request(url)
                .validate { request, response, data in
                    request?.url?.path == "/get" && response.statusCode == 200 && data?.isEmpty == false
                        ? .failure(Wilted()) : .success(())
                }
                .response { done($0) }
        }
        #expect(data.error?.isResponseValidationError == true && data.error?.underlyingError is Wilted)
        let stream = await Examples.answer { done in
            AF.streamRequest(url)
                .validate { _, response in response.statusCode == 200 ? .failure(Wilted()) : .success(()) }
                .responseStream { stream in if let completion = stream.completion { done(completion) } }
        }
        #expect(stream.error?.underlyingError is Wilted)
        let file = await Examples.answer { done in
            AF.download(url)
                .validate { _, _, fileURL in fileURL == nil ? .success(()) : .failure(Wilted()) }
                .response { done($0) }
        }
        #expect(file.error?.underlyingError is Wilted)
    }

    @Test func `Cancelling a download`() async throws {
        let request = Session(transport: StubTransport { _ in .never }).download("http://stub.test/seeds.zip")
        request.response { _ in }
        let data = await Examples.answer { done in
            request.cancel { resumeData in
                done(resumeData)
            }
        }
        #expect(data == nil && request.isCancelled)
    }
}
