import Bluebonnet
import FoundationEssentials
import TestSupport
import Testing

@testable import BluebonnetTesting

@Suite struct IncomingBodyTests {
    private static func makeBody(
        awaitsContinue: Bool = false, options: LocalServer.Options = LocalServer.Options()
    ) -> IncomingBody {
        let head = RequestHead(
            method: .put, target: "/", version: .http1_1, headers: [:], framing: .chunked, keepsAlive: true)
        let request = LocalServer.Request(
            head, target: RequestTarget("/"), body: Data(), trailers: [:], connection: 1)
        return IncomingBody(of: request, awaitsContinue: awaitsContinue, options: options)
    }

    private static func piece(_ text: String) -> ArraySlice<UInt8> { Array(text.utf8)[...] }

    @Test func `All received bytes are read at once, and then no bytes are available`() {
        var body = Self.makeBody()
        #expect(body.read() == nil)
        body.pieceReceived(Self.piece("ab"))
        body.pieceReceived(Self.piece("c"))
        #expect(body.read() == .success(Data("abc".utf8)))
        #expect(body.read() == nil)
    }

    @Test func `The end follows the bytes and stays`() {
        var body = Self.makeBody()
        body.pieceReceived(Self.piece("a"))
        body.completed()
        #expect(!body.isOpen)
        #expect(body.read() == .success(Data("a".utf8)))
        #expect(body.read() == .success(nil))
        body.failed(.connectionClosed)
        #expect(body.read() == .success(nil))
    }

    @Test func `A failure follows the bytes and ends the connection`() {
        var body = Self.makeBody()
        body.pieceReceived(Self.piece("a"))
        #expect(!body.isLast)
        body.failed(.malformedBody(status: 400, reason: "odd"))
        body.failed(.connectionClosed)
        #expect(body.isLast)
        #expect(body.read() == .success(Data("a".utf8)))
        #expect(body.read() == .failure(.malformedBody(status: 400, reason: "odd")))
    }

    @Test(arguments: [(0, 1), (1, 1), (3, 3), (4, 4)])
    func `There is room until the window is full, and again after a read`(window: Int, bytes: Int) {
        var options = LocalServer.Options()
        options.bodyWindowBytes = window
        var body = Self.makeBody(options: options)
        for _ in 0..<bytes {
            #expect(body.hasRoom)
            body.pieceReceived(Self.piece("x"))
        }
        #expect(!body.hasRoom)
        _ = body.read()
        #expect(body.hasRoom)
        body.completed()
        #expect(!body.hasRoom)
    }

    @Test func `When the response is complete, all bytes are dropped and reading fails`() {
        var options = LocalServer.Options()
        options.bodyWindowBytes = 1
        var body = Self.makeBody(options: options)
        body.pieceReceived(Self.piece("a"))
        body.answered()
        #expect(body.read() == .failure(.connectionClosed))
        body.pieceReceived(Self.piece("bc"))
        #expect(body.hasRoom)
        body.completed()
        #expect(body.read() == .failure(.connectionClosed))
        #expect(body.takeRecord()?.bodyLength == 3)
    }

    @Test func `A body is recorded once, with its length and its beginning`() throws {
        var options = LocalServer.Options()
        options.recordedBodyBytes = 2
        var body = Self.makeBody(options: options)
        body.pieceReceived(Self.piece("a"))
        body.pieceReceived(Self.piece("bc"))
        body.completed()
        let taken = body.takeRecord()
        let request = try #require(taken)
        #expect(request.text == "ab")
        #expect(request.bodyLength == 3)
        #expect(request.bodyIsChunked)
        #expect(request.bodyIsComplete)
        #expect(body.takeRecord() == nil)
    }

    @Test func `An incomplete body is recorded as incomplete`() throws {
        var body = Self.makeBody()
        body.pieceReceived(Self.piece("a"))
        body.failed(.connectionClosed)
        let taken = body.takeRecord()
        let request = try #require(taken)
        #expect(!request.bodyIsComplete)
        #expect(request.bodyLength == 1)
    }

    @Test func `A connection whose client waits for a 100 cannot be reused`() {
        var sent = Self.makeBody(awaitsContinue: true)
        #expect(sent.isLast)
        sent.continueSent()
        #expect(!sent.isLast)
        var received = Self.makeBody(awaitsContinue: true)
        received.pieceReceived(Self.piece("a"))
        #expect(!received.isLast)
    }

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func `Digests match the examples of the standard`(text: String, digest: String) {
        #expect(BodyDigest.digest(of: Data(text.utf8)) == digest)
    }
}
