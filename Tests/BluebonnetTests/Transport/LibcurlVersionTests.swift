import Glibc
import Testing

@testable import Bluebonnet

/// Which libcurl the tests use: `Tests/run --libcurl` names another than the system's.
struct LibcurlVersionTests {
    @Test func `the tests use the requested libcurl`() {
        guard let name = unsafe getenv("BLUEBONNET_LIBCURL") else { return }
        let asked = unsafe String(cString: name)
        let version = Libcurl.version
        #expect("\(version >> 16).\(version >> 8 & 0xff).\(version & 0xff)" == asked)
    }
}
