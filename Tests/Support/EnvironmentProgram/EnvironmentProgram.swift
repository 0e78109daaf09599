import Bluebonnet
import FoundationEssentials
import Glibc

/// Sends requests, one after the other, with the proxies and the Kerberos tickets of the environment.
///
///     EnvironmentProgram [negotiate|basic|download|descriptors|clock] [proxy=URL] [negotiate-proxy=URL] [ca=FILE] [doh=URL] [hsts=FILE] [set=NAME=VALUE|URL]...
///
/// A program of its own since the environment is the process's. The first word is the credential for servers'
/// challenges. The proxies take the place of the environment's, which the program changes where an argument among the
/// URLs requires it. Prints a line for each URL: the status and the body's first line, or `error`. With `download`, each line
/// is the path of a temporary file. With `descriptors`, the last line is the number of descriptors that a child process
/// would inherit because of the session. With `clock`, it is the number of hours by which the system's clock has advanced.
@main
enum EnvironmentProgram {
    static func main() async {
        var configuration = Session.Configuration()
        var credential: Credential?
        var urls: [String] = []
        var (isDownload, countsDescriptors, readsClock) = (false, false, false)
        let start = Date()
        for argument in CommandLine.arguments.dropFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            switch parts[0] {
            case "negotiate": credential = .negotiate
            case "basic": credential = Credential(username: "user", password: "secret")
            case "download": isDownload = true
            case "descriptors": countsDescriptors = true
            case "clock": readsClock = true
            case "proxy": configuration.proxy = .url(parts[1])
            case "negotiate-proxy": configuration.proxy = .url(parts[1], credential: .negotiate)
            case "ca": configuration.tls.caFile = parts[1]
            case "doh": configuration.dns.httpsServer = URL(string: parts[1])
            case "hsts": configuration.hsts = .file(parts[1])
            default: urls.append(argument)
            }
        }
        let before = inheritedDescriptors()
        let session = Session(configuration: configuration)
        for url in urls {
            if url.hasPrefix("set=") {
                let parts = url.dropFirst(4).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                _ = unsafe setenv(String(parts[0]), String(parts[1]), 1)
                continue
            }
            guard !isDownload else {
                let response = await session.download(url, to: .temporary).serializingURL().response
                print(response.value?.path(percentEncoded: false) ?? "error \(String(describing: response.error))")
                continue
            }
            let request = session.request(url)
            if let credential { request.authenticate(using: credential) }
            let response = await request.serializingString(emptyResponseCodes: Set(200...599)).response
            if let error = response.error {
                print("error \(error)")
            } else {
                let line = response.value?.split(whereSeparator: \.isNewline).first ?? ""
                print(response.response?.statusCode ?? 0, line)
            }
        }
        if countsDescriptors {
            // The program itself may have inherited some.
            print(inheritedDescriptors().subtracting(before).count)
        }
        if readsClock { print(Int((Date().timeIntervalSince(start) / 3600).rounded())) }
        await session.shutdown()
    }

    /// The descriptors that a child process would inherit, without the standard ones.
    private static func inheritedDescriptors() -> Set<Int32> {
        Set(
            (3..<256).filter { descriptor in
                let flags = fcntl(descriptor, F_GETFD)
                return flags >= 0 && flags & FD_CLOEXEC == 0
            })
    }
}
