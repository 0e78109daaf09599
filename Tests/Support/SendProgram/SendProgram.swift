import Bluebonnet
import FoundationEssentials
import Glibc

/// Sends numbered requests to `order_server.py`, and prints which of them failed: `SendProgram NAME=VALUE …`.
///
/// The values are `url`, `ca` (the file of the authority), `path` (`order` or `cut`), `first` and `count` (the numbers), `workers` (the number of
/// requests at once), `cycle` (the methods in turn, as `POST*22,GET*8`), `bytes` (the size of a body), `body` (`data`,
/// `file`, `stream` or `none`), `version` (`http1`, `http2` or `http3`), `loops`, `events` (`yes` for event sources), and
/// `reads` (`yes` if another thread waits for a line at standard input). If standard input is a file, it starts at byte
/// 1,000, and the program prints the position at the end. It also prints the milliseconds of the slowest request.
@main
enum SendProgram {
    private struct Failure: Error {
        let number: Int
        let text: String
    }

    static func main() async throws {
        let plan = try Plan(CommandLine.arguments.dropFirst())
        if plan.flag("reads") { Task.detached { _ = readLine() } }
        var status = stat()
        let isFile = unsafe fstat(0, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        if isFile { lseek(0, 1000, SEEK_SET) }
        let session = Session(configuration: plan.configuration)
        let numbers = Numbers(plan.first..<plan.first + plan.count)
        let failures = await withTaskGroup(of: [Failure].self) { group in
            for _ in 1...plan.workers {
                group.addTask {
                    var failures: [Failure] = []
                    while let number = await numbers.next() {
                        let start = ContinuousClock.now
                        do {
                            try await send(number, plan, session)
                        } catch {
                            failures.append(Failure(number: number, text: "\(error)"))
                        }
                        await numbers.took(ContinuousClock.now - start)
                    }
                    return failures
                }
            }
            var all: [Failure] = []
            for await failures in group { all += failures }
            return all
        }
        await session.shutdown()
        print("slowest \(await numbers.slowest)")
        for failure in failures { print("failed \(failure.number) \(failure.text)") }
        if isFile { print("position \(lseek(0, 0, SEEK_CUR))") }
        print("done \(plan.count - failures.count)")
        // A thread that waits for a line would keep the process.
        fflush(nil)
        _exit(0)
    }

    private static func send(_ number: Int, _ plan: Plan, _ session: Session) async throws {
        let method = plan.method(of: number)
        let isEvents = plan.flag("events")
        let url = "\(plan.url)/\(isEvents ? "events" : plan.path)/\(number)"
        guard !isEvents else {
            let source = session.eventSource(url, method: method) { $0.body = plan.body(of: number) }
            for try await event in source where event.data == "\(number)" { return }
            throw RequestError(.cancelled)
        }
        let body = method == .get ? nil : plan.body(of: number)
        let answer = try await session.request(url, method: method) { $0.body = body ?? $0.body }
            .validate().serializingString().value
        guard answer == "\(number)" else { throw RequestError(.internal, detail: "the response is complete") }
    }
}

/// The numbers that are not sent yet.
private actor Numbers {
    private var rest: Range<Int>
    /// The milliseconds of the slowest request.
    private(set) var slowest = 0

    init(_ numbers: Range<Int>) { rest = numbers }

    func next() -> Int? { rest.popFirst() }

    func took(_ duration: Duration) { slowest = max(slowest, Int(duration / .milliseconds(1))) }
}

/// The arguments of the program.
private struct Plan: Sendable {
    let url: String
    let first: Int
    let count: Int
    let workers: Int
    let path: String
    private let values: [String: String]
    private let methods: [HTTPMethod]
    private let file: String

    init(_ arguments: some Sequence<String>) throws {
        var values: [String: String] = [:]
        for argument in arguments {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            values[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
        }
        self.values = values
        url = values["url"] ?? ""
        path = values["path"] ?? "order"
        first = values["first"].flatMap { Int($0) } ?? 1
        count = values["count"].flatMap { Int($0) } ?? 1
        workers = values["workers"].flatMap { Int($0) } ?? 1
        methods = (values["cycle"] ?? "POST").split(separator: ",").flatMap { part in
            let words = part.split(separator: "*")
            return [HTTPMethod](
                repeating: HTTPMethod(rawValue: String(words[0])), count: words.count > 1 ? Int(words[1]) ?? 1 : 1)
        }
        file = "/tmp/bluebonnet-send.\(getpid())"
        if values["body"] == "file" { try bytes(of: 0).write(to: URL(filePath: file)) }
    }

    func flag(_ name: String) -> Bool { values[name] == "yes" }

    func method(of number: Int) -> HTTPMethod { methods[(number - first) % methods.count] }

    /// The bytes that `order_server.py` expects: the number again and again; a file has the number 0.
    private func bytes(of number: Int) -> Data {
        let size = values["bytes"].flatMap { Int($0) } ?? 5
        let word = Array("\(number),".utf8)
        var bytes = Data(capacity: size + word.count)
        while bytes.count < size { bytes.append(contentsOf: word) }
        return bytes.prefix(size)
    }

    func body(of number: Int) -> RequestBody? {
        switch values["body"] {
        case "none": return nil
        case "file": return .file(URL(filePath: file))
        case "stream":
            let bytes = bytes(of: number)
            return .stream(
                AsyncStream {
                    $0.yield(bytes); $0.finish()
                }, length: Int64(bytes.count))
        default: return .data(bytes(of: number))
        }
    }

    var configuration: Session.Configuration {
        var configuration = Session.Configuration()
        configuration.proxy = .none
        configuration.tls.caFile = values["ca"]
        if let loops = values["loops"].flatMap({ Int($0) }) {
            configuration.eventLoops = Session.Configuration.EventLoopCount(loops)
        }
        switch values["version"] {
        case "http1": configuration.httpVersion = .http1_1
        case "http3": configuration.httpVersion = .http3Only
        default: break
        }
        return configuration
    }
}
