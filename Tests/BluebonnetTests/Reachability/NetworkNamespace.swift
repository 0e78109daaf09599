import Foundation
import Synchronization
import TestSupport
import Testing

/// A network namespace in which a program runs, and whose links and routes a test changes; needs root and `ip`.
final class NetworkNamespace: Sendable {
    private static let count = Atomic(0)

    let name: String
    private let programs = Mutex<[LineOutputProgram]>([])

    /// Creates a namespace while a closure runs.
    static func with(_ body: (NetworkNamespace) async throws -> Void) async throws {
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        let namespace = NetworkNamespace(name: "bluebonnet-\(getpid())-\(number)")
        try await Self.ip(["netns", "add", namespace.name])
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(namespace))
        } catch {
            result = .failure(error)
        }
        await namespace.end()
        try result.get()
    }

    private init(name: String) {
        self.name = name
    }

    private func end() async {
        for program in programs.withLock({ $0 }) {
            program.send(SIGCONT)
            program.send(SIGKILL)
            for await _ in program.lines {}
        }
        try? await Self.ip(["netns", "del", name])
        try? FileManager.default.removeItem(atPath: "/etc/netns/\(name)")
    }

    /// Changes the network: `link set eth0 up`.
    func ip(_ words: String) async throws {
        try await Self.ip(["-n", name] + words.split(separator: " ").map(String.init))
    }

    private static func ip(_ arguments: [String]) async throws {
        let outcome = try await Subprocess.run("/usr/bin/env", ["ip"] + arguments)
        try #require(outcome.code == 0, "ip \(arguments.joined(separator: " "))")
    }

    /// Creates a connected link with an IPv4 address in a /24 network; the name of its other end begins with `peer-`.
    func connect(_ link: String, address: String) async throws {
        try await ip("link add \(link) type veth peer name p-\(link)")
        try await ip("addr add \(address)/24 dev \(link)")
        try await ip("link set p-\(link) up")
        try await ip("link set \(link) up")
    }

    /// Sets the addresses of names, in the place of `/etc/hosts`; the first time before the program is started.
    func setHosts(_ text: String) throws {
        let folder = "/etc/netns/\(name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // The file that is there is written to, not another put in its place: the program sees that very file.
        let descriptor = unsafe open("\(folder)/hosts", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        try #require(unsafe write(descriptor, bytes, bytes.count) == bytes.count)
    }

    /// Starts a program of this package, whose lines are read.
    func start(_ program: String, _ arguments: [String]) throws -> LineOutputProgram {
        kept(try LineOutputProgram(program, arguments, namespace: name))
    }

    /// Starts the program that prints statuses.
    func start(_ arguments: String...) throws -> LineOutputProgram { try start("ReachabilityProgram", arguments) }

    /// Starts a server; by default, on all current and later IPv4 addresses of the namespace.
    func serve(port: Int, on address: String = "0.0.0.0") async throws {
        let words = "python3 -u -m http.server \(port) --bind \(address) --directory /usr/share/doc"
        let server = kept(
            try LineOutputProgram(command: words.split(separator: " ").map(String.init), namespace: name))
        // The server prints its port when it listens.
        for await line in server.lines where line.contains("\(port)") { return }
        throw POSIXError(.ECHILD)
    }

    private func kept(_ program: LineOutputProgram) -> LineOutputProgram {
        programs.withLock { $0.append(program) }
        return program
    }

    /// Starts the program, and reads the statuses of one host.
    func watch(_ host: String = "internet") throws -> Statuses {
        Statuses(host: host, program: try start("watch", host))
    }

    /// The statuses that the program prints.
    struct Statuses {
        let program: LineOutputProgram
        private let host: String
        private var lines: AsyncStream<String>.Iterator

        fileprivate init(host: String, program: LineOutputProgram) {
            (self.host, self.program) = (host, program)
            lines = program.lines.makeAsyncIterator()
        }

        /// The next status, such as `notReachable`.
        mutating func next() async -> String? {
            guard let line = await lines.next(isolation: #isolation) else { return nil }
            let words = line.split(separator: " ").map(String.init)
            #expect(words.first == host)
            return words.dropFirst().first
        }

        /// Reads lines until a status is printed, and ignores other statuses before it.
        mutating func reaches(_ status: String) async -> Bool {
            while let next = await next() {
                if next == status { return true }
            }
            return false
        }
    }
}
