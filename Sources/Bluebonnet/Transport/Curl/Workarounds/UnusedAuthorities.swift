import CCurl
import FoundationEssentials

/// Keeps libcurl from reading the system's authorities for each lookup with DNS over HTTPS.
///
/// Libcurl has its own handles for these lookups. Before 8.23.0 (seen with 7.88.1 and 8.14.1), each of them reads the
/// file of the system's authorities, which takes 30 to 100 ms of the loop's time, and then uses those of the session;
/// see ``Transfer/prepare(_:of:)``. If a handle has a certificate in memory, libcurl reads that instead. The
/// certificate below is never trusted, because the session's authorities replace it. Its private key was never stored.
enum UnusedAuthorities {
    static func replace(on easy: EasyHandle) {
        easy.set(CURLOPT_CAINFO_BLOB, bytes: certificate)
    }

    private static let certificate = Data(
        """
        -----BEGIN CERTIFICATE-----
        MIIBcjCCARmgAwIBAgIUG65TkWCvYPP6lxsm5gYXmLufCkIwCgYIKoZIzj0EAwIw
        DzENMAsGA1UEAwwEbm9uZTAeFw0yNjExMzAwMzQwMzFaFw0yNjEyMDEwMzQwMzFa
        MA8xDTALBgNVBAMMBG5vbmUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQ3/s6y
        0ya7ao2eKDfK33d9ggDWyf/cydFJX69jbF+J344rel+SDk2Mb50YBpKQ2X/c4CAK
        J+jkGZEMsPimgISro1MwUTAdBgNVHQ4EFgQUcydrjFZ/EtBKEvCi4cE3hVVd1KUw
        HwYDVR0jBBgwFoAUcydrjFZ/EtBKEvCi4cE3hVVd1KUwDwYDVR0TAQH/BAUwAwEB
        /zAKBggqhkjOPQQDAgNHADBEAiAWf5ihiOae9DebUcc0uM/chJJXx28caYTIFql5
        GTbQBAIgLsZaZ/LJLRIDO+xlIhPv3l51Dj6RdNh+sdXeoBDufSk=
        -----END CERTIFICATE-----

        """.utf8)
}
