import COpenSSL
import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Bluebonnet

/// OpenSSL's memory, in which one allocation fails.
private enum ScarceMemory {
    /// The number of allocations before the failing one; below zero when none fails.
    static let left = Atomic(-1)

    /// Makes OpenSSL use these allocation functions; possible only before its first allocation.
    static func install() -> Bool {
        let isInstalled = unsafe CRYPTO_set_mem_functions(
            { size, _, _ in ScarceMemory.isThere() ? unsafe malloc(size) : nil },
            { pointer, size, _, _ in ScarceMemory.isThere() ? unsafe realloc(pointer, size) : nil },
            { pointer, _, _ in unsafe free(pointer) })
        return isInstalled == 1
    }

    private static func isThere() -> Bool { left.subtract(1, ordering: .relaxed).oldValue != 0 }
}

/// The result of a store that could not be made completely.
@Suite(.timeLimit(.minutes(10))) struct TrustStoreTests {
    @Test func `a store has all revocation lists, whichever allocation fails`() async {
        await #expect(processExitsWith: .success) {
            try #require(ScarceMemory.install())
            let files = try RevocationFiles()
            let issuer = try Certificate(pem: String(contentsOf: files.url("int.pem"), encoding: .utf8)).x509
            let leaf = try Certificate(pem: String(contentsOf: files.url("good.pem"), encoding: .utf8)).x509
            let lists = try CertificateRevocationList.all(inFile: files.url("crls/int.pem")).map(\.list)
            // OpenSSL has made its permanent allocations.
            #expect(TrustStore(anchors: [issuer], lists: lists)?.code(of: leaf) == X509_V_OK)
            var (refused, count) = (0, 0)
            while true {
                ScarceMemory.left.store(count, ordering: .relaxed)
                let store = TrustStore(anchors: [issuer], lists: lists)
                guard ScarceMemory.left.exchange(-1, ordering: .relaxed) < 0 else { break }
                count += 1
                let code = store?.code(of: leaf)
                #expect(code != X509_V_ERR_UNABLE_TO_GET_CRL, "a list is left out where piece \(count) is not there")
                if store == nil { refused += 1 }
            }
            // The store, what it keeps the certificate in, and what it keeps the list in, at least.
            #expect(count >= 3 && refused >= 2, "\(refused) of \(count)")
        }
    }
}
