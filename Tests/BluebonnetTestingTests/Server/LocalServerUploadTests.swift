import Bluebonnet
import FoundationEssentials
import Testing

@testable import BluebonnetTesting

@Suite(.timeLimit(.minutes(10))) struct LocalServerUploadTests {
    private static let head = "POST / HTTP/1.1\r\nHost: h\r\n"

    /// More bytes than the buffers of two sockets can contain.
    private static let large = 48 * 1024 * 1024

    @Test func `A route starts after the head and reads the body as it arrives`() async throws {
        let hasHead = Gate()
        let server = try await LocalServer { router in
            router.streaming("/:name", method: .post) { request, body in
                #expect(request.parameters["name"] == "x")
                #expect(request.body.isEmpty)
                #expect(body.length == 6)
                hasHead.open()
                var text = ""
                for try await piece in body { text += String(decoding: piece, as: UTF8.self) }
                #expect(body.bytesRead == 6)
                return .text(text)
            }
        }
        let client = try await RawClient.sending(
            "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n", to: server)
        await hasHead.wait()
        #expect(server.requestCount == 0)
        await client.send("abc")
        await client.send("def")
        #expect(await client.receive(until: "abcdef").contains("\r\n\r\nabcdef"))
        #expect(server.requestCount == 1)
        await client.close()
    }

    @Test(arguments: [
        ("Content-Length: 5\r\n\r\nhello", false, 5), ("Content-Length: 0\r\n\r\n", false, 0), ("\r\n", false, 0),
        ("Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nT: v\r\n\r\n", true, 5),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", true, 0),
    ])
    func `Every framing is read and recorded, and the connection stays usable`(
        rest: String, isChunked: Bool, length: Int
    ) async throws {
        let server = try await LocalServer { router in
            router.streaming("/") { _, body in
                #expect(body.length == (isChunked ? nil : length))
                return .text("read \(try await body.discard())\n")
            }
        }
        let client = try RawClient(server)
        for number in 1...2 {
            await client.send(Self.head + rest)
            #expect(await client.receive(until: "read \(length)\n").hasPrefix("HTTP/1.1 200 OK\r\n"))
            await client.forget()
            let request = try await server.request(number)
            #expect(request.bodyIsChunked == isChunked)
            #expect(request.bodyIsComplete)
            #expect(request.bodyLength == length)
            #expect(request.text == (length == 0 ? "" : "hello"))
        }
        #expect(server.connectionCount == 1)
        await client.close()
    }

    @Test func `The recorded part of each body is limited by the options`() async throws {
        var options = LocalServer.Options()
        options.recordedBodyBytes = 1
        let server = try await LocalServer(options: options) { $0.post("/", .ok) }
        let client = try await RawClient.sending(Self.head + "Content-Length: 3\r\n\r\nabc", to: server)
        let request = try await server.nextRequest()
        #expect(request.body.count == 1 && request.bodyLength == 3)
        #expect(!request.bodyIsChunked)
        await client.close()
    }

    // MARK: Back-pressure

    @Test func `A route that does not read slows down the client`() async throws {
        let mayRead = Gate()
        let readers = ObservedState<[LocalServer.BodyReader]>([])
        var options = LocalServer.Options()
        options.bodyWindowBytes = 100_000
        options.receiveBufferBytes = 64 * 1024
        let server = try await LocalServer(options: options) { router in
            router.streaming("/") { _, body in
                readers.change { $0.append(body) }
                await mayRead.wait()
                return .text("read \(try await body.discard())\n")
            }
        }
        let client = try await RawClient.sending(Self.head + "Content-Length: \(Self.large)\r\n\r\n", to: server)
        async let sent: Void = client.send([UInt8](repeating: 65, count: Self.large))
        let body = try await readers.wait { $0.first.map { .success($0) } }
        try await server.waitForBytesReceived(atLeast: 100_000 + 64)
        try await server.waitForQuiet()
        #expect(body.bytesReceived >= 100_000)
        #expect(server.traffic.bytesReceived <= 100_000 + 2 * 64 * 1024)
        #expect(body.bytesRead == 0)
        mayRead.open()
        #expect(await client.receive(until: "read \(Self.large)\n").hasSuffix("read \(Self.large)\n"))
        await sent
        #expect(body.bytesRead == Self.large)
        #expect(try await server.nextRequest().body.count == 1024 * 1024)
        await client.close()
    }

    @Test func `Each piece goes to one of several concurrent readers`() async throws {
        let server = try await LocalServer { router in
            router.streaming("/") { _, body in
                let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 { group.addTask { try await body.discard() } }
                    return try await group.reduce(into: 0) { $0 += $1 }
                }
                return .text("read \(counts)\n")
            }
        }
        let client = try await RawClient.sending(Self.head + "Content-Length: 1000000\r\n\r\n", to: server)
        async let sent: Void = client.send([UInt8](repeating: 65, count: 1_000_000))
        #expect(await client.receive(until: "read ").hasSuffix("read 1000000\n"))
        await sent
        await client.close()
    }

    // MARK: Answers before the end of the body

    @Test func `An early response with a close reaches a client that is still sending`() async throws {
        let server = try await LocalServer { router in
            router.streaming("/") { _, body in
                _ = try await body.read()
                return .text("too much\n", status: 413, headers: ["Connection": "close"])
            }
        }
        let client = try await RawClient.sending(
            Self.head + "Content-Length: 1000000\r\n\r\n\(String(repeating: "x", count: 1000))", to: server)
        let (text, end) = await client.receiveAll()
        #expect(text.hasPrefix("HTTP/1.1 413 Content Too Large\r\n"))
        #expect(text.hasSuffix("Connection: close\r\n\r\ntoo much\n"))
        #expect(end == .closed)
        let request = try await server.nextRequest()
        #expect(!request.bodyIsComplete)
        #expect(request.bodyLength < 1_000_000)
        await client.close()
    }

    @Test func `After an early response, the rest is dropped and the connection stays usable`() async throws {
        let server = try await LocalServer { router in
            router.streaming("/") { _, _ in .text("early") }
            router.get("/next", .text("next"))
        }
        let client = try await RawClient.sending(Self.head + "Content-Length: \(Self.large)\r\n\r\n", to: server)
        #expect(await client.receive(until: "early").hasSuffix("early"))
        await client.send([UInt8](repeating: 65, count: Self.large))
        await client.send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(await client.receive(until: "next").hasSuffix("next"))
        #expect(server.connectionCount == 1)
        #expect(server.requests.map(\.bodyLength) == [Self.large, 0])
        await client.close()
    }

    @Test func `A route can continue to read after its response is sent`() async throws {
        let count = ObservedState(0)
        let server = try await LocalServer { router in
            router.streaming("/") { _, body in
                .stream(length: 5) { writer in
                    try await writer.write("early")
                    let read = try await body.discard()
                    count.change { $0 = read }
                }
            }
        }
        let client = try await RawClient.sending(Self.head + "Content-Length: 1000\r\n\r\n", to: server)
        #expect(await client.receive(until: "early").hasSuffix("early"))
        await client.send([UInt8](repeating: 65, count: 1000))
        #expect(try await count.wait { $0 > 0 ? .success($0) : nil } == 1000)
        await client.close()
    }

    @Test(arguments: ["Content-Length: 3\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"])
    func `A body is echoed while it arrives`(framing: String) async throws {
        let server = try await LocalServer { router in
            router.streaming("/") { _, body in
                .stream { writer in
                    for try await piece in body { try await writer.write(piece) }
                }
            }
        }
        let isChunked = framing.contains("chunked")
        let client = try await RawClient.sending(Self.head + framing, to: server)
        #expect(await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 OK\r\n"))
        for letter in ["a", "b", "c"] {
            await client.send(isChunked ? "1\r\n\(letter)\r\n" : letter)
            #expect(await client.receive(until: "1\r\n\(letter)\r\n").contains("1\r\n\(letter)\r\n"))
        }
        if isChunked { await client.send("0\r\n\r\n") }
        #expect(await client.receive(until: "0\r\n\r\n").hasSuffix("0\r\n\r\n"))
        await client.close()
    }

    @Test func `Large bodies are echoed completely to the curl command`() async throws {
        let server = try await LocalServer { router in
            router.streaming("/") { _, body in
                .stream { writer in
                    for try await piece in body { try await writer.write(piece) }
                }
            }
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
        try Data(repeating: 66, count: 8 * 1024 * 1024).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let curl = try await Curl.run(["--data-binary", "@\(file.path)"], server.url.absoluteString)
        #expect(curl.code == 0)
        #expect(curl.output.utf8.count == 8 * 1024 * 1024)
    }

    @Test func `Reading after the end of the response fails`() async throws {
        let kept = ObservedState<LocalServer.BodyReader?>(nil)
        let server = try await LocalServer { router in
            router.streaming("/") { _, body in
                kept.change { $0 = body }
                return .text("early")
            }
        }
        let client = try await RawClient.sending(Self.head + "Content-Length: 3\r\n\r\nabc", to: server)
        _ = await client.receive(until: "early")
        let body = kept.read { $0 }
        await #expect(throws: LocalServer.Failure.connectionClosed) { try await body?.read() }
        await client.close()
    }

    @Test func `A script can be the response`() async throws {
        let server = try await LocalServer { router in
            router.streaming("/") { _, body in
                _ = try await body.read()
                return .script(.text("odd\n"), .reset)
            }
        }
        let client = try await RawClient.sending(Self.head + "Content-Length: 100\r\n\r\na", to: server)
        let (text, end) = await client.receiveAll()
        #expect(text == "odd\n")
        #expect(end == .reset)
        #expect(try await server.nextRequest().bodyIsComplete == false)
        await client.close()
    }
}
