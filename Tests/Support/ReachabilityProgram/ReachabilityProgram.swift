import Bluebonnet
import BluebonnetReachability
import FoundationEssentials
import Glibc

/// Watches how hosts can be reached, for tests that change the network of a namespace under it.
///
///     ReachabilityProgram watch [HOST...]
///     ReachabilityProgram get SECONDS URL
///     ReachabilityProgram holdings TIMES
///
/// `watch` prints a line for each status of a host, or of the Internet for a host called `internet`, until it is
/// killed. `get` prints `failed` whenever a retrier is asked, and then what a request that waits for the network came
/// to. `holdings` listens and stops that often, and prints how many descriptors and threads there are before, during
/// the listening, and afterwards.
@main
enum ReachabilityProgram {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "watch": await watch(Array(arguments.dropFirst()))
        case "get": await get(arguments.last ?? "", waiting: Int(arguments.dropFirst().first ?? "") ?? 0)
        default: await holdings(Int(arguments.last ?? "") ?? 0)
        }
    }

    /// Prints a line at once: into a pipe, `print` collects.
    private static func say(_ words: any CustomStringConvertible...) {
        let line = Array((words.map(\.description).joined(separator: " ") + "\n").utf8)
        _ = unsafe write(1, line, line.count)
    }

    private static func watch(_ hosts: [String]) async {
        let hosts = hosts.isEmpty ? ["internet"] : hosts
        await withTaskGroup(of: Void.self) { group in
            for host in hosts {
                group.addTask {
                    let manager = host == "internet" ? .default : NetworkReachabilityManager(host: host)
                    guard let manager else { return say(host, "is no host") }
                    for await status in manager.statuses {
                        // The manager must report the same status at this time, unless the network changes again.
                        say(host, name(of: status), manager.isReachable)
                    }
                }
            }
        }
    }

    private static func name(of status: NetworkReachabilityManager.Status) -> String {
        switch status {
        case .unknown: "unknown"
        case .notReachable: "notReachable"
        case .reachable(.ethernetOrWiFi): "ethernetOrWiFi"
        case .reachable(.cellular): "cellular"
        }
    }

    private static func get(_ url: String, waiting seconds: Int) async {
        let teller = Retrier { _, _, _ in
            say("failed")
            return .doNotRetry
        }
        let retrier = OfflineRetrier(maximumWait: .seconds(seconds))
        let session = Session(interceptor: Interceptor(retriers: [teller, retrier]))
        let response = await session.request(url).serializingString().response
        switch response.error?.kind {
        case nil: say("got", response.response?.statusCode ?? 0)
        case .connection(.refused): say("refused")
        default: say("error")
        }
        await session.shutdown()
    }

    private static func holdings(_ times: Int) async {
        guard let manager = NetworkReachabilityManager(), let host = NetworkReachabilityManager(host: "localhost")
        else { return }
        // What Swift's runtime opens at its first use, of tasks that sleep, too, is not of interest.
        for await _ in manager.statuses { break }
        try? await Task.sleep(for: .milliseconds(10))
        rest(withAtMost: .max)
        let before = report("before")
        for await _ in manager.statuses {
            report("listening")
            break
        }
        for _ in 0..<times {
            for await _ in manager.statuses { break }
            host.startListening { _ in }
            _ = host.isReachable
            host.stopListening()
        }
        rest(withAtMost: before)
        report("after")
    }

    /// The thread ends a moment after the last listener, and its descriptors with the last reference to it, so this
    /// waits for both, with a limit.
    private static func rest(withAtMost limit: Int) {
        for _ in 0..<500 where threads() > 0 || descriptors() > limit { usleep(10_000) }
    }

    /// Prints how many there are; returns the number of descriptors.
    @discardableResult
    private static func report(_ when: String) -> Int {
        let descriptors = descriptors()
        say(when, descriptors, threads())
        return descriptors
    }

    private static func descriptors() -> Int { entries(of: "/proc/self/fd").count }

    /// The number of threads of the reachability module.
    private static func threads() -> Int {
        entries(of: "/proc/self/task").count { thread in
            let name = FileManager.default.contents(atPath: "/proc/self/task/\(thread)/comm")
            return String(decoding: name ?? Data(), as: UTF8.self).hasPrefix("bb-")
        }
    }

    private static func entries(of directory: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    }
}
