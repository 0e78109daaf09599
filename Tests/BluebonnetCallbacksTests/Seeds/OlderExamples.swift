import BluebonnetCompatibility
import BluebonnetTesting
import Foundation
import FoundationNetworking
import Testing

/// The replacements of the calls of versions 3 and 4: the right-hand sides of the article about them.
@Suite(.timeLimit(.minutes(10))) struct OlderExamples {
    private let queue = DispatchQueue(label: "older")

    @Test func `Requests and parameters`() async throws {
        let (get, post) = (try Examples.url("/get"), try Examples.url("/post"))
        let parameters: [String: any Sendable] = ["bed": "phlox", "count": 3]
        let first = await Examples.answer { done in
            AF.request(get, parameters: ["bed": "phlox"], headers: ["Accept": "application/json"])
                .responseDecodable(of: Examples.Echo.self) { done($0) }
        }
        #expect(first.value?.args == ["bed": "phlox"])
        let requests = [
            AF.request(post, method: .post, parameters: parameters, encoding: URLEncoding.default),
            AF.request(post, method: .post, parameters: parameters, encoding: JSONEncoding.default),
            AF.request(post, method: .post, parameters: parameters, encoding: PropertyListEncoding.default),
            AF.request(get, parameters: parameters, encoding: URLEncoding(destination: .methodDependent)),
        ]
        for request in requests {
            let response = await Examples.answer { done in
                request.validate(statusCode: 200..<300).validate(contentType: ["application/json"])
                    .responseJSON(queue: queue) { done($0.map { $0 is [String: Any] }) }
            }
            #expect(response.error == nil && response.value == true && response.metrics != nil)
        }
    }

    @Test func `Authentication`() async throws {
        let url = try Examples.url("/basic-auth/flora/petals")
        let header = HTTPHeader.authorization(username: "flora", password: "petals")
        let credential = URLCredential(user: "flora", password: "petals", persistence: .forSession)
        let requests = [
            AF.request(url, headers: [header]), AF.request(url).authenticate(username: "flora", password: "petals"),
            AF.request(url).authenticate(using: credential),
        ]
        for request in requests {
            let response = await Examples.answer { done in request.responseString(queue: queue) { done($0) } }
            #expect(response.response?.statusCode == 200)
        }
    }

    @Test func `Uploads`() async throws {
        let url = try Examples.url("/post")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data("seeds".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let data = await Examples.answer { done in
            AF.upload(Data("seeds".utf8), to: url).responseDecodable(of: Examples.Echo.self) { done($0) }
        }
        let fromFile = await Examples.answer { done in
            AF.upload(file, to: url).responseDecodable(of: Examples.Echo.self) { done($0) }
        }
        #expect(data.value?.data == "seeds" && fromFile.value?.data == "seeds")
        let form = await Examples.answer { done in
            AF.upload(
                multipartFormData: { form in
                    form.append(Data("phlox".utf8), withName: "bed")
                    form.append(Data("x".utf8), withName: "file", fileName: "x.txt", mimeType: "text/plain")
                }, to: url
            )
            .responseDecodable(of: Examples.Echo.self) { done($0) }
        }
        #expect(form.value?.form == ["bed": "phlox"])
    }

    @Test func `Downloads`() async throws {
        let session = Session(transport: StubTransport { _ in .text("seeds") })
        let url = "http://stub.test/seeds.txt"
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("seeds.txt")
        let destinations: [DownloadRequest.Destination] = [
            { _, _ in (file, [.createIntermediateDirectories]) },
            { _, _ in (file, [.removePreviousFile, .createIntermediateDirectories]) },
        ]
        for destination in destinations {
            let response = await Examples.answer { done in
                session.download(url, to: destination).downloadProgress(queue: queue) { _ in }
                    .responseData(queue: queue) { done($0) }
            }
            #expect(response.fileURL == file && response.value == Data("seeds".utf8))
        }
        _ = DownloadRequest.suggestedDownloadDestination(for: .documentDirectory)
        let resumed = await Examples.answer { done in
            session.download(resumingWith: Data()).response(queue: queue) { done($0) }
        }
        #expect(resumed.error != nil)
    }

    @Test func `Sessions`() async throws {
        let adapter = Adapter { urlRequest, _, completion in completion(.success(urlRequest)) }
        let retrier = Retrier { _, _, _, completion in completion(.retryWithDelay(0.0)) }
        _ = Session.default
        _ = Session(configuration: URLSessionConfiguration.ephemeral)
        _ = Session(interceptor: Interceptor(adapter: adapter, retrier: retrier))
        _ = Session(startRequestsImmediately: false)
        let evaluators: [String: any ServerTrustEvaluating] = [
            "pinned.test": PinnedCertificatesTrustEvaluator(), "keys.test": PublicKeysTrustEvaluator(),
            "open.test": DisabledTrustEvaluator(),
        ]
        _ = Session(
            serverTrustManager: ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: evaluators))
        #expect(HTTPHeaders.default["User-Agent"] != nil)
        let redirected = try await AF.request(Examples.url("/redirect/1"))
            .redirect(using: Redirector(behavior: .modify { _, request, _ in request })).serializingData().response
        #expect(redirected.response?.statusCode == 200)
    }

    private struct Bloom: URLConvertible {
        let name: String
        func asURL() throws(RequestError) -> URL { try "http://stub.test/blooms/\(name)".asURL() }
    }

    @Test func `Serializers, transforms and types that are URLs`() async {
        let session = Session(transport: StubTransport { .text($0.url.path) })
        let response = await Examples.answer { done in
            session.request(Bloom(name: "phlox"))
                .response(
                    queue: queue,
                    responseSerializer: StringResponseSerializer()
                ) { done($0) }
        }
        #expect(response.map(\.count).value == 13 && response.tryMap { $0 }.value == "/blooms/phlox")
        let list = await Examples.answer { done in
            session.request(Bloom(name: "aster")).responsePropertyList(queue: queue) { done($0.map { $0 is String }) }
        }
        #expect(list.error?.isResponseSerializationError == true || list.value == true)
        let request = session.request(Bloom(name: "aster"))
        #expect(request.debugDescription.hasPrefix("curl"))
    }
}
