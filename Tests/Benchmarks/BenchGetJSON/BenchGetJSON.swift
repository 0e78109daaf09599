import Bluebonnet
import Glibc

/// Gets JSON from a URL and prints it, like a small program that links no other module of this package.
///
/// The snippet `GetJSON` does the same, but SwiftPM links every library of the package into snippets.
@main
enum BenchGetJSON {
    static func main() async {
        do {
            let url = CommandLine.arguments.dropFirst().first ?? ""
            print(try await Session.default.request(url).validate().serializingJSON().value)
        } catch {
            print("error: \(error)")
            exit(1)
        }
    }
}
