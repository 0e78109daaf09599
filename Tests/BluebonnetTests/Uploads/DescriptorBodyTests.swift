import BluebonnetTesting
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import Bluebonnet

/// Bodies from descriptors that the program has opened.
@Suite(.timeLimit(.minutes(10))) struct DescriptorBodyTests {
    /// Echoes what it receives, and whether it was chunked.
    private static func server() async throws -> LocalServer {
        try await LocalServer { router in
            router.post("/") {
                .text("\($0.headers["Transfer-Encoding"] ?? "-") \(String(decoding: $0.body, as: UTF8.self))")
            }
        }
    }

    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        try #require(unsafe Glibc.pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    private static func write(_ text: String, to descriptor: Int32) {
        #expect(unsafe Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count)
    }

    @Test(arguments: [false, true]) func `a pipe is sent as it is written`(isNonBlocking: Bool) async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let (reading, writing) = try Self.pipe()
        if isNonBlocking { _ = fcntl(reading, F_SETFL, O_NONBLOCK) }
        async let answer = session.upload(.fileDescriptor(reading), to: server.url("/")).serializingString().response
        for piece in ["a", "b", "c"] {
            try await Task.sleep(for: .milliseconds(20))
            Self.write(piece, to: writing)
        }
        close(writing)
        #expect(await answer.value == "chunked abc")
        close(reading)
        try await TestHarness.end(session, server)
    }

    @Test func `a file is sent from its position`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let directory = try TestDirectory()
        try directory.write("0123456789", to: "a.txt")
        let file = unsafe open(directory.path("a.txt"), O_RDONLY | O_CLOEXEC)
        lseek(file, 4, SEEK_SET)
        let upload = session.upload(.fileDescriptor(file, length: 6), to: server.url("/"))
        #expect(try await upload.serializingString().value == "- 456789")
        close(file)
        try await TestHarness.end(session, server)
    }

    /// Otherwise, a program that writes to the other end would go on waiting.
    @Test func `the body's copy is closed when its request has ended`() async throws {
        let server = try await LocalServer { router in
            router.post("/", .text("done"))
            router.streaming("/refused", method: .post) { _, body in
                // A body without a reader could still be sent, and keeps its copy.
                for try await _ in body { break }
                return .status(413)
            }
        }
        let session = TestHarness.session()
        for path in ["/", "/refused"] {
            let (reading, writing) = try Self.pipe()
            Self.write("a", to: writing)
            let request = session.upload(.fileDescriptor(reading, length: path == "/" ? 1 : nil), to: server.url(path))
            close(reading)
            let response = await request.serializingNothing().response
            #expect(response.response?.statusCode == (path == "/" ? 200 : 413))
            var state = pollfd(fd: writing, events: Int16(POLLOUT), revents: 0)
            while unsafe poll(&state, 1, 0) == 1, Int32(state.revents) & POLLERR == 0, !Task.isCancelled {
                await Task.yield()
            }
            #expect(Int32(state.revents) & POLLERR != 0, "\(path)")
            #expect(response.request?.body != nil)
            close(writing)
        }
        try await TestHarness.end(session, server)
    }

    @Test func `16 MiB of a socket arrive`() async throws {
        let server = try await LocalServer { router in
            router.streaming("/", method: .post) { _, body in
                var count = 0
                for try await piece in body { count += piece.count }
                return .text("\(count)")
            }
        }
        let session = TestHarness.session()
        var ends: [Int32] = [0, 0]
        try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        let writer = Task.detached {
            let bytes = [UInt8](repeating: 7, count: 1 << 20)
            for _ in 0..<16 {
                var sent = 0
                while sent < bytes.count {
                    let count = unsafe bytes[sent...].withUnsafeBytes {
                        unsafe Glibc.write(writing, $0.baseAddress, $0.count)
                    }
                    guard count > 0 else { break }
                    sent += count
                }
            }
            close(writing)
        }
        let upload = session.upload(.fileDescriptor(reading), to: server.url("/"))
        #expect(try await upload.serializingString().value == "\(16 << 20)")
        await writer.value
        close(reading)
        try await TestHarness.end(session, server)
    }

    @Test func `a descriptor that ends early is an error with both lengths`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let (reading, writing) = try Self.pipe()
        Self.write("abc", to: writing)
        close(writing)
        try await TestHarness.expect(
            session.upload(.fileDescriptor(reading, length: 10), to: server.url("/")).serializingData(), in: session,
            failsWith: .requestBody(.lengthMismatch(expected: 10, actual: 3)))
        close(reading)
        try await TestHarness.end(session, server)
    }

    /// A kept-open pipe never reaches its end.
    @Test func `no more than the length is read`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let (reading, writing) = try Self.pipe()
        Self.write("abcdef", to: writing)
        let upload = session.upload(.fileDescriptor(reading, length: 4), to: server.url("/"))
        #expect(try await upload.serializingString().value == "- abcd")
        var rest = [UInt8](repeating: 0, count: 8)
        #expect(unsafe Glibc.read(reading, &rest, 8) == 2)
        close(reading)
        close(writing)
        try await TestHarness.end(session, server)
    }

    @Test func `the program may close its descriptor at once`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let (reading, writing) = try Self.pipe()
        let body = RequestBody.fileDescriptor(reading)
        close(reading)
        // Most likely with the same number.
        let other = unsafe open("/dev/zero", O_RDONLY | O_CLOEXEC)
        async let answer = session.upload(body, to: server.url("/")).serializingString().response
        try await Task.sleep(for: .milliseconds(20))
        Self.write("abc", to: writing)
        close(writing)
        #expect(await answer.value == "chunked abc")
        close(other)
        try await TestHarness.end(session, server)
    }

    @Test(arguments: [-1, 1_000_000] as [Int32])
    func `a number that is no descriptor is named`(_ descriptor: Int32) async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        let error = try await TestHarness.expect(
            session.upload(.fileDescriptor(descriptor), to: server.url("/")).serializingData(), in: session,
            failsWith: .requestBody(.fileUnreadable(path: "/dev/fd/\(descriptor)")))
        #expect(error.description.contains("Bad file descriptor"), "\(error)")
        try await TestHarness.end(session, server)
    }

    @Test func `a descriptor that cannot be read is named`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        // A directory can be opened, but not read.
        let descriptor = unsafe open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let error = try await TestHarness.expect(
            session.upload(.fileDescriptor(descriptor), to: server.url("/")).serializingData(), in: session,
            failsWith: .requestBody(.fileUnreadable(path: "/dev/fd/\(descriptor)")))
        #expect(error.description.contains("Is a directory"), "\(error)")
        close(descriptor)
        try await TestHarness.end(session, server)
    }

    @Test func `cancelling does not wait for a silent pipe`() async throws {
        let server = try await Self.server()
        let session = TestHarness.session()
        for _ in 1...50 {
            let (reading, writing) = try Self.pipe()
            let upload = session.upload(.fileDescriptor(reading), to: server.url("/"))
            async let answer = upload.serializingData().response
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...5)))
            upload.cancel()
            #expect(await answer.error?.isCancellation == true)
            close(reading)
            close(writing)
        }
        try await TestHarness.end(session, server)
    }

    @Test func `a body is sent once only`() async throws {
        let server = try await LocalServer { $0.post("/", .redirect(to: "/", status: 307)) }
        let session = TestHarness.session()
        let (reading, writing) = try Self.pipe()
        Self.write("abc", to: writing)
        close(writing)
        try await TestHarness.expect(
            session.upload(.fileDescriptor(reading), to: server.url("/")).serializingData(), in: session,
            failsWith: .redirect(.bodyNotReplayable))
        close(reading)
        try await TestHarness.end(session, server)
    }
}
