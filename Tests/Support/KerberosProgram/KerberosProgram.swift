import Bluebonnet
import FoundationEssentials

/// Requests a URL with the Kerberos tickets that the environment names: `KerberosProgram negotiate|basic|none URL`.
///
/// A program of its own since the environment is the process's. Prints the status and the body.
@main
enum KerberosProgram {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2 else { throw RequestError(.invalidURL) }
        var configuration = Session.Configuration()
        configuration.proxy = .none
        let session = Session(configuration: configuration)
        for url in arguments[2...] {
            let request = session.request(url)
            switch arguments[1] {
            case "negotiate": request.authenticate(using: .negotiate)
            case "basic": request.authenticate(username: "user", password: "secret")
            default: break
            }
            let response = await request.serializingString(emptyResponseCodes: Set(200...599)).response
            if let error = response.error { print(error) }
            let reused = response.metrics?.isReusedConnection == true ? "again" : "new"
            print(response.response?.statusCode ?? 0, reused, response.value?.prefix(200) ?? "")
        }
        await session.shutdown()
    }
}
